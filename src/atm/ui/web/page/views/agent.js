// Is it all right? Four questions, then what it says, has changed, got, knows.

import { useOffers, useRead, world } from "../live.js";
import { path } from "../route.js";
import { memberWord, syncShape, vendorName, vendorOf } from "../signs.js";
import { clock, cost, short, span } from "../spans.js";
import { html, useEffect, useRef, useState } from "../view.js";
import { AskBox, Deeds } from "../parts/deeds.js";
import { Diff, isUnseen, Unseen } from "../parts/diff.js";
import { Some, Unread } from "../parts/lists.js";
import { Age, isFresh, LastHeard, Mark, memberCalled, State, Tag, TaskRows, TaskState, taskOf, Vendor } from "../parts/marks.js";
import { Line, Name, Path, Said, Same } from "../parts/said.js";
import { Mini, Rail } from "../parts/rail.js";
import { pieces } from "../hidden.js";

export function Agent({ id, whole }) {
  const member = memberCalled(id), offers = useOffers("member", id);
  if (!member) return html`<div class="page"><section class="panel pad"><h1>Nobody is called <${Name} text=${id} /> here</h1><p><a class="link" href=${path(world.team, "agents")}>Who is in the team</a></p></section></div>`;
  const tag = vendorOf(member), write = offers.find((offer) => offer.word === "write"), others = offers.filter((offer) => offer !== write);
  return html`<div class="page"><div class="head"><h1><${Name} text=${member.name} /></h1><${Vendor} tag=${tag} /><span class="dim">${tag ? vendorName(tag) : member.type ? html`<${Name} text=${member.type} />` : "an agent of an unknown kind"}${member.is_lead ? ", leads" : ""}</span><${State} of=${memberWord(member, whole.rows)} /><span class="push"></span><div class="deeds"><${Deeds} kind="member" id=${member.name} offers=${others} showsSame=${false} /></div></div>
    <${Four} member=${member} whole=${whole} /><div class="two"><div class="col"><${Parts} member=${member} write=${write} /></div><div class="col"><${Held} member=${member} /><${Letters} name=${member.name} /><${Session} member=${member} /></div></div></div>`;
}

/** Mail, presence, sync and stall are four signals, and never one. */
function Four({ member, whole }) {
  const stall = (whole.snapshot.stalled ?? []).find((one) => one.member === member.name), mail = member.mail ?? {}, sync = member.sync;
  const isPerson = member.kind === "human", there = isPerson ? ["idle", "rest", "a person"] : thereOf(member);
  const box = (question, [shape, meaning, answer], why, source) => html`<li><span class="q">${question}</span><span class=${`st st-${meaning}`}><${Mark} g=${shape} /><${Line} text=${answer} most=${60} /></span><small>${why}</small><span class="age">${source}</span></li>`;
  return html`<ul class="panel four">
    ${box("Has it got its mail?", mail.unread === 0 ? ["done", "proven", "yes"] : mail.unread ? ["open", "rest", `${mail.unread} unread`] : ["unknown", "rest", "unknown"], mail.problem ? html`<${Line} text=${mail.problem} />` : mail.total ? `${mail.total} in its inbox` : "no mail yet", "inbox")}
    ${box("Is anybody there?", there, isPerson ? "atm watches agents, not people" : html`<${Line} text=${member.liveness_warning || member.liveness_source} most=${100} />`, isPerson ? "" : html`<${LastHeard} at=${member.heard_at} />`)}
    ${box("Does it know its work?", isPerson ? ["idle", "rest", "not asked"] : [syncShape(sync?.label), "rest", sync?.label ?? "unknown"], html`<${Line} text=${isPerson ? "people are not reminded of tasks" : sync?.why ?? "nobody asked"} most=${140} />`, "work-sync")}
    ${box("Does the work get on?", stall ? ["problem", "broken", `not on #${stall.task}`] : member.tasks?.length ? ["done", "proven", "as far as atm knows"] : ["idle", "rest", "it holds no task"], stall ? html`no progress since ${clock(stall.since, { today: whole.now })}; ${stall.told === "lead" ? "its lead was told" : "it was told"}` : member.tasks?.length ? "no stall was found" : "nothing to get on with", "task history")}</ul>`;
}

/** A sign of life that is old is no proof: then the tick is missing. */
function thereOf(member) {
  if (member.liveness === "online") return isFresh(member) ? ["done", "proven", "online"] : ["open", "rest", "online when last heard of"];
  return { offline: ["failed", "rest", "offline"], dead: ["failed", "broken", "gone"] }[member.liveness] ?? ["unknown", "rest", String(member.liveness ?? "unknown")];
}

const TABS = [["output", "Output"], ["diff", "Diff"], ["mail", "Mail"], ["receipts", "Receipts"], ["sync", "Work-sync"]];

function Parts({ member, write }) {
  const [open, set] = useState("output"), list = useRef(null);
  const onKeyDown = (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    const at = (TABS.findIndex(([id]) => id === open) + by + TABS.length) % TABS.length;
    set(TABS[at][0]);
    list.current.children[at].focus();
  };
  const Part = { output: Outputs, diff: Changes, mail: Thread, receipts: Receipts, sync: Knows }[open];
  return html`<section class="panel"><div class="tabs" role="tablist" ref=${list} onKeyDown=${onKeyDown} aria-label="About this member">${TABS.map(([id, title]) => html`<button key=${id} role="tab" type="button" id=${`tab-${id}`} aria-selected=${String(open === id)} aria-controls="part" tabindex=${open === id ? 0 : -1} onClick=${() => set(id)}>${title}</button>`)}</div>
    <div id="part" role="tabpanel" aria-labelledby=${`tab-${open}`}><${Part} member=${member} /></div>${write && html`<div class="pad line-top"><${AskBox} kind="member" id=${member.name} offer=${write} rows=${2} /></div>`}</section>`;
}

function Outputs({ member }) {
  const read = useRead("output", member.name, { every: 2000 });
  return read.value ? html`<${Output} name=${member.name} read=${read} />` : html`<${Unread} of=${read} what="its output" />`;
}

const MOST_LINE = 500;

/** The last lines, as they came; what would move a cursor is a tag. It follows the end unless somebody scrolled up. */
export function Output({ name, read, most = 400 }) {
  const box = useRef(null), lines = (read.value?.lines ?? []).slice(-most), stays = useRef(true);
  useEffect(() => { if (stays.current && box.current) box.current.scrollTop = box.current.scrollHeight; });
  const onScroll = () => { stays.current = box.current.scrollHeight - box.current.scrollTop - box.current.clientHeight < 24; };
  return html`<pre class="term live" tabindex="0" ref=${box} onScroll=${onScroll} aria-label="Output" dir="ltr"><span class="d">${"read-only · as of "}${clock(read.at)}${"\n"}</span>${lines.length ? lines.map((line) => html`${pieces(String(line).slice(0, MOST_LINE)).map((one) => one.tag ? html`<span class="ctl">${one.tag}</span>` : one)}${"\n"}`) : html`<span class="d">${read.value?.why ? html`<${Line} text=${read.value.why} />` : html`<${Name} text=${name} /> has said nothing yet.`}</span>`}</pre>`;
}

function Changes({ member }) {
  const read = useRead("diff", member.name, { isOn: Boolean(member.agent) });
  if (isUnseen(member, read)) return html`<${Unseen} name=${member.name} />`;
  return read.value ? html`<${Diff} text=${read.value.diff} /><p class="pad"><${Same} command=${read.command} /></p>` : html`<${Unread} of=${read} what="what it changed" />`;
}

const mailOf = (threads, name) => (threads ?? []).flatMap((thread) => thread.messages.map((message) => ({ thread, message }))).filter(({ message }) => message.sender === name || Object.hasOwn(message.journeys ?? {}, name)).sort((a, b) => (a.message.at < b.message.at ? 1 : -1));

function Thread({ member }) {
  const read = useRead("threads"), found = mailOf(read.value, member.name);
  if (!read.value) return html`<${Unread} of=${read} what="its mail" />`;
  if (!found.length) return html`<p class="pad dim">It got no mail, and sent none.</p>`;
  return html`<ul class="rows"><${Some} of=${found} first=${20} what="earlier" draw=${({ message }) => html`<li key=${message.id} class="row pad"><p class="said"><b><${Name} text=${message.sender} /></b> to ${Object.keys(message.journeys ?? {}).slice(0, 5).map((who, at) => html`${at ? ", " : ""}<${Name} text=${who} />`)} <span class="age">${clock(message.at, { today: world.whole?.now })}</span></p><p class="prose"><${Said} text=${message.text} most=${800} /></p></li>`} /></ul>`;
}

function Receipts({ member }) {
  const read = useRead("threads"), found = mailOf(read.value, member.name).filter(({ message }) => message.sender !== member.name);
  if (!read.value) return html`<${Unread} of=${read} what="receipts" />`;
  if (!found.length) return html`<p class="pad dim">No mail went to it yet.</p>`;
  return html`<ul class="rows"><${Some} of=${found} first=${8} what="earlier" draw=${({ message }) => html`<li key=${message.id} class="row pad"><p class="cut"><b><${Name} text=${message.sender} /></b> <${Line} text=${message.summary || message.text} /></p><${Rail} message=${only(message, member.name)} /></li>`} /></ul>`;
}

/** The receipts of one of those to whom it went. */
function only(message, name) {
  const journey = message.journeys?.[name] ?? {};
  return { ...message, journeys: { [name]: journey } };
}

function Knows({ member }) {
  const read = useRead("diagnose", member.name), said = read.value;
  if (!said) return html`<${Unread} of=${read} what="what it knows" />`;
  return html`<div class="pad"><dl class="kv"><dt>state</dt><dd>${said.label}: <${Line} text=${said.why} /></dd><dt>source</dt><dd><${Line} text=${said.source ?? "unknown"} /></dd><dt>nudges</dt><dd>${said.nudges?.length ?? 0}</dd><dt>reports that wait</dt><dd>${said.pendingReports?.length ?? 0}</dd><dt>held up by</dt><dd>${said.blockedByDependencies?.length ? said.blockedByDependencies.length : "nothing"}</dd>${said.problems?.length ? html`<dt>problems</dt><dd>${said.problems.map((one) => html`<div><${Line} text=${typeof one === "string" ? one : one.text ?? JSON.stringify(one)} /></div>`)}</dd>` : null}</dl><${Same} command=${read.command} /></div>`;
}

function Held({ member }) {
  const ids = member.tasks ?? [];
  if (!ids.length) return html`<section class="panel pad"><h2>Task</h2><p class="dim">It holds none.</p></section>`;
  return ids.slice(0, 6).map((id) => {
    const task = taskOf(id);
    return html`<section key=${id} class="panel"><header><h2>Task</h2><${Tag} id=${id} /><span class="push">${task && html`<${TaskState} task=${task} small />`}</span></header><div class="pad"><p><${Line} text=${task?.subject ?? ""} /></p>${task && html`<dl class="kv task-kv"><dt>holds up</dt><dd>${task.blocks?.length ? html`<${TaskRows} ids=${task.blocks} />` : "nothing"}</dd>${task.files?.length ? html`<dt>files</dt><dd>${task.files.slice(0, 8).map((file) => html`<div><${Path} text=${file} /></div>`)}</dd>` : null}</dl>`}</div></section>`;
  });
}

function Letters({ name }) {
  const read = useRead("threads"), found = mailOf(read.value, name).slice(0, 5);
  return html`<section class="panel"><header><h2>Mail</h2><span class="push m">${found.length ? "the newest" : ""}</span></header>${found.length ? html`<ul class="rows">${found.map(({ thread, message }) => html`<li key=${message.id} class="row"><a class="agent-row mailrow" href=${path(world.team, "mail", thread.key)}><span class="who"><b><${Name} text=${message.sender} /></b></span><span class="cut"><${Line} text=${message.summary || message.text} /></span><${Mini} message=${message} /><${Age} at=${message.at} /></a></li>`)}</ul>` : html`<p class="pad dim">None.</p>`}</section>`;
}

function Session({ member }) {
  const agent = member.agent;
  if (!agent) return html`<section class="panel pad"><h2>Session</h2><p class="dim">atm did not start it, so it knows no process of it.</p></section>`;
  return html`<section class="panel"><header><h2>Session</h2></header><div class="pad"><dl class="kv"><dt>state</dt><dd><${Line} text=${agent.state || "unknown"} /></dd>${agent.state === "waiting" && agent.asks && html`<dt>asks</dt><dd><${Said} text=${agent.asks} most=${200} /> <code>atm attach <${Name} text=${member.name} /></code></dd>`}${agent.error && html`<dt>error</dt><dd><${Said} text=${agent.error} most=${400} /></dd>`}<dt>branch</dt><dd>${agent.branch ? html`<${Path} text=${agent.branch} />` : "none"}</dd><dt>folder</dt><dd>${agent.worktree ? html`<${Path} text=${agent.worktree} />` : "none of its own"}</dd>
    <dt>tokens</dt><dd>${short(agent.tokens)}</dd><dt>cost</dt><dd>${cost(agent)}</dd><dt>turns</dt><dd>${agent.turns ?? "unknown"}</dd>${agent.pane && html`<dt>window</dt><dd><code>atm attach <${Name} text=${member.name} /></code></dd>`}</dl></div></section>`;
}

