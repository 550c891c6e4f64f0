// Did it arrive, and how do we know? Threads, the messages of one with their rails, and a line to answer in.

import { mayAct, useOffers, useRead, world } from "../live.js";
import { path, UNREAD } from "../route.js";
import { clock, many } from "../spans.js";
import { classes, html, memo, useEffect, useRef, useState } from "../view.js";
import { AskBox, Deed } from "../parts/deeds.js";
import { Some, Unread } from "../parts/lists.js";
import { Age, Mark, Who } from "../parts/marks.js";
import { Line, Name, Said } from "../parts/said.js";
import { Mini, Rail } from "../parts/rail.js";

/** People with mail that they have not read, as their inboxes say it. */
const waitingPeople = (members) => members.filter((one) => one.kind === "human" && one.mail?.unread).map((one) => one.name);

const READ = ["read", "answered", "archived"];
/** For whom of them a message waits: it went there, and nothing shows that it was read. */
const unreadBy = (message, people) => people.filter((name) => Object.hasOwn(message.journeys ?? {}, name) && !READ.some((stop) => message.journeys[name]?.[stop]));
const unreadIn = (thread, people) => thread.messages.filter((message) => unreadBy(message, people).length).length;

export function Mail({ team, id, whole, go }) {
  const read = useRead("threads"), [filter, set] = useState(""), [isNew, write] = useState(false);
  const threads = read.value ?? [], shown = threads.filter((thread) => !filter || thread.messages.some((one) => `${thread.people.join(" ")} ${one.summary} ${one.text}`.toLowerCase().includes(filter.toLowerCase())));
  const people = waitingPeople(whole.snapshot.members), isUnread = id === UNREAD && !threads.some((thread) => thread.key === id);
  const listed = isUnread ? shown.filter((thread) => unreadIn(thread, people)) : shown, open = threads.find((thread) => thread.key === id) ?? (id ? null : shown[0]);
  return html`<div class=${classes("mail", id && "is-open", isNew && "is-open")}><section class="threads" aria-label="Threads"><div class="tools"><input class="field" type="search" data-filter aria-label="Search mail" placeholder="Search mail" value=${filter} onInput=${(event) => set(event.currentTarget.value)} />${mayAct() && html`<button type="button" class="btn" data-press="m" aria-pressed=${String(isNew)} onClick=${() => write(!isNew)}>Write</button>`}</div><${Which} team=${team} people=${people} members=${whole.snapshot.members} isUnread=${isUnread} />
      ${!read.value ? html`<${Unread} of=${read} what="mail" />` : !threads.length ? html`<p class="pad dim">Nobody has written yet.</p>` : html`<ul><${Some} of=${listed} first=${60} draw=${(thread) => html`<li key=${thread.key}><${Row} thread=${thread} team=${team} unread=${unreadIn(thread, people)} isOpen=${!isNew && thread === open} /></li>`} /></ul>${!listed.length && html`<p class="pad dim">${isUnread ? "Nothing is unread." : "No mail has these words."}</p>`}`}</section>
    <section class="thread" aria-label="Messages">${(id || isNew) && html`<p class="only-phone"><a class="btn quiet" href=${path(team, "mail")} onClick=${() => write(false)}>← All mail</a></p>`}
      ${isNew ? html`<${Compose} members=${whole.snapshot.members} done=${() => write(false)} />` : isUnread ? html`<${Inboxes} people=${people} threads=${threads} team=${team} isRead=${Boolean(read.value)} />` : open ? html`<${Thread} thread=${open} people=${people} team=${team} />` : read.value && html`<p class="dim">${threads.length ? "There is no such thread, or it is older than what is shown." : html`Mail between members shows here, with the way of each message: queued, written, surfaced, read, answered.`}</p>`}</section></div>`;
}

const listOf = (names) => names.slice(0, 4).join(", ") + (names.length > 4 ? ` and ${names.length - 4} more` : "");

/** All mail, or what somebody has not read. */
function Which({ team, people, members, isUnread }) {
  const number = members.filter((one) => people.includes(one.name)).reduce((sum, one) => sum + one.mail.unread, 0);
  if (!number && !isUnread) return null;
  return html`<div class="which seg" role="group" aria-label="Which mail"><a data-same href=${path(team, "mail")} aria-current=${isUnread ? undefined : "true"}>All</a><a data-same href=${path(team, "mail", UNREAD)} aria-current=${isUnread ? "true" : undefined}>Unread, ${number}</a></div>`;
}

/** The unread mail of each person, whole, and one press that says: I have seen it. */
function Inboxes({ people, threads, team, isRead }) {
  if (!people.length) return html`<div class="head"><h1>Nothing is unread</h1></div><p class="dim">Mail for people that waits to be read stands here.</p>`;
  return people.map((name) => html`<${Inbox} key=${name} name=${name} team=${team} isRead=${isRead} found=${threads.flatMap((thread) => thread.messages.map((message) => ({ thread, message }))).filter(({ message }) => unreadBy(message, [name]).length)} />`);
}

function Inbox({ name, found, team, isRead }) {
  const offer = useOffers("inbox", name).find((one) => one.word === "read it");
  return html`<div class="head"><h1>Unread, for <${Name} text=${name} /></h1><span class="push"></span>${offer && mayAct() && html`<${Deed} kind="inbox" id=${name} offer=${offer} look="primary" />`}</div>
    ${found.map(({ thread, message }) => html`<${Message} key=${message.id} message=${message} isUnread more=${html`<a class="link" href=${path(team, "mail", thread.key)}>the thread</a>`} />`)}
    ${isRead && !found.length && html`<p class="dim">It lies in the inbox, and no receipt says which it is. In a terminal: <code>atm read</code></p>`}`;
}

const Row = memo(({ thread, team, unread, isOpen }) => {
  const last = thread.messages.at(-1);
  return html`<a data-row class=${unread ? "new" : undefined} href=${path(team, "mail", thread.key)} data-same aria-current=${isOpen ? "true" : undefined}><span class="l1"><span class="cut"><${Line} text=${listOf(thread.people)} /></span>${unread > 0 && html`<span class="st st-you sm"><${Mark} g="you" />${unread} unread</span>`}<${Age} at=${last.at} /></span><span class="cut mid"><${Line} text=${last.summary || last.words || last.text} /></span>
    <span class="l3"><span class="cut"><${Name} text=${last.sender} />: <${Line} text=${last.words ?? last.text} most=${120} /></span><${Mini} message=${last} /></span></a>`;
});

const MOST_MESSAGES = 30;

function Thread({ thread, people, team }) {
  const [most, more] = useState(MOST_MESSAGES), offers = useOffers("thread", thread.key), reply = offers.find((offer) => offer.asks), last = thread.messages.at(-1);
  const shown = thread.messages.slice(-most), me = world.hello?.person;
  return html`<div class="head"><h1><${Line} text=${last.summary || listOf(thread.people)} /></h1><span class="push said">${many(thread.messages.length, "message")}, <${Line} text=${listOf(thread.people)} /></span>${unreadIn(thread, people) > 0 && html`<a class="btn" data-same href=${path(team, "mail", UNREAD)}>All unread</a>`}</div>
    ${thread.messages.length > most && html`<button type="button" class="btn quiet" onClick=${() => more(most + 100)}>${thread.messages.length - most} earlier</button>`}
    ${shown.map((message) => html`<${Message} key=${message.id} message=${message} isMine=${message.sender === me} isUnread=${unreadBy(message, people).length > 0} />`)}
    ${reply && mayAct() ? html`<div class="panel pad compose"><${AskBox} kind="thread" id=${thread.key} offer=${reply} rows=${2} /></div>` : !mayAct() && html`<p class="dim m">You look on as an observer: writing is not offered.</p>`}`;
}

const Message = memo(({ message, isMine, isUnread, more }) => html`<article class=${classes("msg", isMine && "mine")}><header><${Who} name=${message.sender} /><span class="dim">to ${Object.keys(message.journeys ?? {}).slice(0, 6).map((who, at) => html`${at ? ", " : ""}<${Name} text=${who} />`)}</span><span class="tag"><${Name} text=${String(message.id).slice(0, 8)} /></span>${isUnread && html`<span class="st st-you sm"><${Mark} g="you" />unread</span>`}${more}<span class="age">${clock(message.at, { today: world.whole?.now })}</span></header>
  <div class="body"><${Body} text=${message.text} /></div><div class="rail-box"><${Rail} message=${message} /></div></article>`);

/** Messages of programs are JSON with a type: that, and what else they say, in words. */
function Body({ text }) {
  const said = programSaid(text);
  if (!said) return html`<${Said} text=${text} />`;
  return html`<p class="mid">a program’s message: <code><${Name} text=${said.type} /></code></p><dl class="kv">${Object.entries(said).filter(([key, value]) => key !== "type" && ["string", "number", "boolean"].includes(typeof value)).slice(0, 12).map(([key, value]) => html`<dt><${Name} text=${key} /></dt><dd><${Said} text=${String(value)} most=${600} /></dd>`)}</dl>`;
}

function programSaid(text) {
  if (!text.startsWith("{") || text.length > 20_000) return null;
  try {
    const said = JSON.parse(text);
    return typeof said.type === "string" ? said : null;
  } catch { return null; }
}

/** To somebody new: the member is chosen first, so the command is known. */
function Compose({ members, done }) {
  const others = members.filter((one) => one.name !== world.hello?.person), [to, set] = useState(""), list = useRef(null);
  useEffect(() => { list.current?.focus(); }, []);
  const offers = useOffers("member", to), write = offers.find((offer) => offer.word === "write");
  return html`<div class="head"><h1>Write</h1></div><div class="panel pad compose"><label class="to">To <select class="field" ref=${list} value=${to} onChange=${(event) => set(event.currentTarget.value)}><option value="" disabled>choose who</option>${others.map((one) => html`<option value=${one.name}>${one.name.slice(0, 80)}</option>`)}</select></label>
    ${write ? html`<${AskBox} key=${to} kind="member" id=${to} offer=${write} rows=${5} onDone=${done} />` : html`<p class="dim">${!others.length ? "Nobody to write to." : to ? "Reading…" : "Choose first to whom it goes."} <button type="button" class="btn quiet" onClick=${done}>Cancel</button></p>`}</div>`;
}
