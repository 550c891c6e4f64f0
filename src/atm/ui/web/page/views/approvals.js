// What exactly happens if I say yes, and what if I say nothing?

import { ANSWERS, givenFor, mayAct, now, useOffers, useRead, useTick, world } from "../live.js";
import { path } from "../route.js";
import { clock, epoch, left } from "../spans.js";
import { html, useEffect, useMemo, useRef, useState } from "../view.js";
import { AskBox, Deed } from "../parts/deeds.js";
import { Diff } from "../parts/diff.js";
import { Unread, useHeld } from "../parts/lists.js";
import { Age, Left, memberCalled, State, TaskLink, TaskRows, taskOf, WhoLink } from "../parts/marks.js";
import { Command, Line, Name, Path, Quote, Said, Same } from "../parts/said.js";

/** In the place of a request: all that were decided about. */
const DECIDED = "decided";

/** Commands, plans and questions in one list; a plan is called `plan:10`. */
function waiting(whole) {
  const isForYou = new Set(whole.rows.filter((row) => row.group === "Needs you").map((row) => `${row.target[0]}:${row.target[1]}`));
  const commands = (whole.snapshot.approvals ?? []).map((one) => ({ key: one.id, kind: "command", asked: one, isYours: isForYou.has(`approval:${one.id}`) }));
  const others = (whole.snapshot.asked ?? []).map((one) => ({ key: `${one.kind}:${one.task}`, kind: one.kind, asked: one, isYours: isForYou.has(`task:${one.task}`) }));
  return [...commands, ...others].sort((a, b) => b.isYours - a.isYours);
}

export function Approvals({ team, id, whole }) {
  const read = useRead("approvals"), waits = useMemo(() => waiting(whole), [whole]), { shown, on } = useHeld(waits, (one) => one.key), open = shown.map(({ row, isGone }) => (isGone ? { ...row, isGone } : row)), past = (read.value?.approvals ?? []).filter((one) => one.state !== "waiting" && one.state !== "pending").sort((a, b) => ((a.decided_at ?? a.expires_at) < (b.decided_at ?? b.expires_at) ? 1 : -1));
  const chosen = open.find((one) => one.key === id) ?? past.find((one) => one.id === id) ?? (id ? null : open[0]);
  const [began] = useState(now()), given = world.given && world.given.at >= began && !id && world.given.id !== (chosen?.asked?.id ?? chosen?.asked?.task) ? world.given : null;
  const yours = open.filter((one) => one.isYours), leads = open.filter((one) => !one.isYours);
  const entry = (one) => html`<${Entry} key=${one.key} one=${one} team=${team} isOpen=${one === chosen} />`;
  return html`<div class="split"><section class=${open.length ? "list" : "list none-open"} aria-label="Requests" ...${on}><h2>Waits for you, ${waits.filter((one) => one.isYours).length}</h2>${yours.map(entry)}${leads.length > 0 && html`<h2>Waits for the lead, ${waits.filter((one) => !one.isYours).length}</h2>${leads.map(entry)}`}
      <div class="past"><h2>Decided</h2>${past.slice(0, 40).map((one) => html`<${Past} key=${one.id} one=${one} team=${team} isOpen=${one === chosen} />`)}${!past.length && html`<p class="pad dim m">Nothing yet.</p>`}</div></section>
    <section class="detail" aria-label="Request"><p class="phone-part to-decided"><a class="link" data-same href=${path(team, "approvals", id === DECIDED ? "" : DECIDED)}>${id === DECIDED ? "What waits" : `Decided, ${past.length}`}</a></p>${given && html`<${Given} given=${given} team=${team} />`}${id === DECIDED ? html`<${AllDecided} past=${past} read=${read} team=${team} />` : !chosen ? html`<${Nothing} key=${id} id=${id} team=${team} />` : chosen.kind === "command" ? html`<${Asked} key=${chosen.key} asked=${chosen.asked} isGone=${chosen.isGone} on=${on} />` : chosen.kind ? html`<${PlanOrQuestion} key=${chosen.key} one=${chosen} isAskedFor=${Boolean(id)} on=${on} />` : html`<${Decided} key=${chosen.id} one=${chosen} />`}</section></div>`;
}

/** What was answered on this page, until the books say it. */
function Given({ given: { kind, id, word, text, at }, team }) {
  return html`<div class="panel pad given" role="status"><p><${State} of="done" small>You ${ANSWERS[word]}</${State}> ${kind === "task" ? html`<${TaskLink} id=${id} />` : html`<a class="link" href=${path(team, "approvals", id)} data-same>request <${Name} text=${id} /></a>`} <span class="age">${clock(at)}</span></p>${text && html`<p>“<${Said} text=${text} most=${800} />”</p>`}</div>`;
}

const ANSWERED = { clarification_answered: "answered", plan_approved: "approved the plan", plan_rejected: "sent the plan back" };

/** A plan or a question that is settled: who answered what, from the task's history. */
function Settled({ kind, task, team }) {
  const read = useRead("task", task), events = read.value?.task?.events ?? [], words = kind === "plan" ? ["plan_approved", "plan_rejected"] : ["clarification_answered"];
  const answer = events.findLast((one) => words.includes(one.type)), question = kind === "question" ? events.findLast((one) => one.type === "clarification_requested") : null, given = givenFor("task", task);
  if (!read.value && !given) return html`<div class="panel"><${Unread} of=${read} what="what became of it" /></div>`;
  if (!answer && given) return html`<${Given} given=${given} team=${team} />`;
  if (!answer) return html`<h1>Nothing is asked there</h1><p><${TaskLink} id=${task} /></p>`;
  const text = answer.note ?? answer.text ?? "", isYou = answer.actor === world.hello?.person;
  return html`<div class="head"><h1>${isYou ? "You" : html`<${Name} text=${answer.actor} />`} ${ANSWERED[answer.type]}</h1><span class="age">${clock(answer.at, { today: world.whole?.now })}</span><span class="push"></span><${TaskLink} id=${task} /></div>
    ${question?.note && html`<p class="mid"><${Quote} text=${question.note} by=${question.actor} most=${1200} /></p>`}${text && html`<div class="panel pad given"><p class="lede">“<${Said} text=${text} most=${2000} />”</p></div>`}`;
}

const AllDecided = ({ past, read, team }) => html`<h1>Decided</h1>${!read.value ? html`<${Unread} of=${read} what="what was decided" />` : past.length ? html`<div class="panel decided">${past.slice(0, 100).map((one) => html`<${Past} key=${one.id} one=${one} team=${team} />`)}</div>` : html`<p class="dim">Nothing yet.</p>`}`;

function Nothing({ id, team }) {
  const [, kind, task] = /^(plan|question):(.+)$/.exec(id) ?? [], given = givenFor("approval", id);
  if (task) return html`<${Settled} kind=${kind} task=${task} team=${team} />`;
  return given ? html`<${Given} given=${given} team=${team} />` : html`<${NoRequest} id=${id} />`;
}

const NoRequest = ({ id }) => html`<h1>${id ? "There is no such request" : "Nobody asks for anything"}</h1><p class="mid">What agents may do without asking is a policy in <code>.atm.toml</code>; what it leaves to people waits here, with the exact command and the time that is left.</p><${Same} command="atm approvals policy" />`;

function Entry({ one: { key, kind, asked }, team, isOpen }) {
  const text = kind === "command" ? whatOf(asked) : kind === "plan" ? taskOf(asked.task)?.subject ?? "a plan" : asked.text;
  return html`<a data-row href=${path(team, "approvals", key)} data-same aria-current=${isOpen ? "true" : undefined}><span class="l1"><${State} of=${kind}>${kind}</${State}><span class="m">${kind === "command" ? html`<${Left} until=${asked.expires_at} word="" />` : html`<${Age} at=${asked.at} />`}</span></span>${kind === "command" ? html`<code class="cut"><${Line} text=${excerpt(text, 100)} most=${200} /></code>` : html`<span class="cut"><${Line} text=${text} most=${120} /></span>`}<span class="dim m l2"><${Name} text=${asked.requester ?? asked.by} />${asked.task && html`, #<${Name} text=${asked.task} />`}</span></a>`;
}

const Past = ({ one, team, isOpen }) => html`<a data-row href=${path(team, "approvals", one.id)} data-same aria-current=${isOpen ? "true" : undefined}><span class="l1"><${State} of=${one.state} small /><span class="m dim">${clock(one.decided_at ?? one.expires_at, { seconds: false, today: world.whole?.now })}</span></span><code class="cut"><${Line} text=${excerpt(whatOf(one), 100)} most=${200} /></code><span class="dim m"><${Name} text=${one.requester} />${one.decided_by && html`; <${Name} text=${one.decided_by} />`}${one.reason && html`, “<${Line} text=${one.reason} most=${80} />”`}</span></a>`;

/** A long command from both ends: what it does may stand at its end. Its own page has all of it. */
function excerpt(text, most) {
  if (text.length <= most) return text;
  const half = Math.floor(most / 2);
  return `${text.slice(0, half)} … (${(text.length - 2 * half).toLocaleString("en")} of ${text.length.toLocaleString("en")} characters left out) … ${text.slice(-half)}`;
}

const whatOf = (asked) => asked.command || (asked.paths ?? []).join(", ") || asked.operation;

/** True once beginning and end of a command have both been in sight: nobody decides about what was not seen. */
function useSeen(ref, isCut) {
  const [isBegun, begin] = useState(false), [isEnded, end] = useState(false);
  useEffect(() => {
    end(false);
    const [first, last] = ref.current.querySelectorAll(".end");
    const watch = new IntersectionObserver((found) => {
      for (const one of found) if (one.isIntersecting) (one.target === first ? begin : end)(true);
    });
    watch.observe(first);
    watch.observe(last);
    return () => watch.disconnect();
  }, [isCut]);
  return isBegun && isEnded;
}

const MOST_AT_ONCE = 20_000;

function Asked({ asked, isGone, on }) {
  const box = useRef(null), [isAll, all] = useState(false), what = whatOf(asked), isCut = what.length > MOST_AT_ONCE && !isAll;
  const isSeen = useSeen(box, isCut), offers = useOffers("approval", asked.id), read = useRead("diff", asked.requester, { isOn: Boolean(memberCalled(asked.requester)?.agent) && asked.operation?.startsWith("git") && !asked.diff });
  const blocked = isCut ? "show the whole command first" : isSeen ? "" : "the whole command must have been in sight: scroll to its end";
  return html`<div class="head"><h1><${Name} text=${asked.requester} /> asks to ${asked.command ? "run a command" : "change files"}</h1><span class="push tag not-phone"><${Name} text=${asked.id} /></span></div>
    <div ref=${box} class="whole"><i class="end" /><${Command} text=${isCut ? what.slice(0, MOST_AT_ONCE) : what} isBig><i class="end" /></${Command}>${isCut && html`<button type="button" class="btn" onClick=${() => all(true)}>Show all ${what.length.toLocaleString("en")} characters of it</button>`}</div>
    <${Decide} asked=${asked} offers=${offers} blocked=${blocked} isGone=${isGone} on=${on} />
    <div class="two even"><div class="panel pad"><dl class="kv"><dt>who</dt><dd><${WhoLink} name=${asked.requester} /></dd>${asked.task && html`<dt>for</dt><dd><${TaskLink} id=${asked.task} /></dd>`}<dt>in folder</dt><dd><${Path} text=${asked.folder || "unknown"} /></dd>${asked.reason && html`<dt>why</dt><dd><${Quote} text=${asked.reason} by=${asked.requester} most=${800} /></dd>`}${asked.paths?.length ? html`<dt>files</dt><dd>${asked.paths.slice(0, 60).map((one) => html`<div><${Path} text=${one} /></div>`)}</dd>` : null}</dl></div>
      <div class="panel pad"><dl class="kv"><dt>rule</dt><dd><${Said} text=${asked.why || "unknown"} most=${600} /></dd><dt>may answer</dt><dd>${asked.tier === "human" ? html`you. Not <${Name} text=${asked.requester} />, who asks.` : "you, or the lead"}</dd><dt>asked via</dt><dd><${Name} text=${asked.tool || "unknown"} /> <span class="age">${clock(asked.asked_at, { today: world.whole?.now })}</span></dd><dt>operation</dt><dd><code><${Name} text=${asked.operation} /></code></dd></dl></div></div>
    ${(asked.diff || read.value?.diff) && html`<section class="panel"><header><h2>${asked.diff ? "What would change" : html`What <${Name} text=${asked.requester} /> has changed`}</h2></header><${Diff} text=${asked.diff || read.value.diff} /></section>`}`;
}

/**
 * Yes and no want two presses each, and yes the whole command in sight. What was settled stays here until the pointer
 * leaves: another request must not come under a finger.
 */
function Decide({ asked, offers, blocked, isGone, on }) {
  const [asking, ask] = useState(null), yes = offers.find((offer) => offer.word === "approve"), no = offers.find((offer) => offer.word === "deny"), because = offers.find((offer) => offer.asks);
  const given = givenFor("approval", asked.id), settled = given ? `You ${ANSWERS[given.word]} it` : isGone ? "It was settled" : "";
  return html`<div class="panel decide" ...${on}>${settled ? html`<${Settling} said=${settled} />` : html`<${Clock} asked=${asked} />`}${!mayAct() ? html`<p class="dim">You look on as an observer: deciding is not offered.</p>` : html`<div class="act">${no && html`<span data-press="x"><${Deed} kind="approval" id=${asked.id} offer=${no} hint="x x" blocked=${settled} /></span>`}${because && html`<span class="because"><${Deed} kind="approval" id=${asked.id} offer=${because} look="quiet" onAsk=${ask} blocked=${settled} /></span>`}${yes && html`<span data-press="a"><${Deed} kind="approval" id=${asked.id} offer=${yes} hint="a a" says="Approve once" blocked=${settled || blocked} /></span>`}</div>`}
    ${blocked && !settled && mayAct() && html`<p class="wide m dim">${blocked}</p>`}${asking && html`<div class="wide"><${AskBox} kind="approval" id=${asked.id} offer=${asking} onDone=${() => ask(null)} /></div>`}${yes && html`<${Same} command=${yes.command} wide />`}</div>`;
}

/** In the place of the clock, and as high. */
const Settling = ({ said }) => html`<div class="clock"><span><span class="big">${said}</span></span><svg viewBox="0 0 200 4" preserveAspectRatio="none" aria-hidden="true"><rect width="200" height="4" class="f-line" /></svg></div>`;

function Clock({ asked }) {
  useTick();
  const from = epoch(asked.asked_at), until = epoch(asked.expires_at);
  if (until === null) return html`<div class="clock"><span class="mid">No time is set: it waits until somebody answers.</span></div>`;
  const rest = Math.max(0, until - now()), share = from !== null && until > from ? Math.min(1, rest / (until - from)) : 0;
  return html`<div class="clock"><span>${world.isLive ? html`<span class="big">${rest > 0 ? left(rest) : "expired"}</span> <span class="dim">${rest > 0 ? "left, then it counts as " : "it counts as "}<b>denied</b><span class="not-phone">, and <${Name} text=${asked.requester} /> is told so</span></span>` : html`<span class="dim">until ${clock(until)}</span>`}</span><svg viewBox="0 0 200 4" preserveAspectRatio="none" aria-hidden="true"><rect width="200" height="4" class="f-line" /><rect width=${200 * share} height="4" class="f-you" /></svg></div>`;
}

function PlanOrQuestion({ one: { kind, asked, isYours, isGone }, isAskedFor, on }) {
  const offers = useOffers("task", asked.task), task = taskOf(asked.task), [asking, ask] = useState(null);
  const yes = offers.find((offer) => offer.word === "approve the plan"), no = offers.find((offer) => offer.word === "reject the plan"), answer = offers.find((offer) => offer.word === "answer");
  const given = givenFor("task", asked.task), settled = given ? `You ${ANSWERS[given.word]}` : isGone ? "It was settled" : "";
  return html`<div class="head"><h1><${Name} text=${asked.by} /> ${kind === "plan" ? "asks to have a plan approved" : "asks a question"}</h1><span class="push"><${TaskLink} id=${asked.task} /></span></div>
    ${kind === "plan" ? html`<section class="panel"><header><h2>The plan</h2><span class="push said">said by <${Name} text=${asked.by} /></span></header><div class="pad prose"><${Said} text=${asked.text} /></div></section>
      <div class="panel decide" ...${on}><div class="clock"><span class="mid">${settled || html`No answer means no: <${Name} text=${asked.by} /> keeps waiting.`}</span></div>${mayAct() ? html`<div class="act">${no && html`<span data-press="x"><${Deed} kind="task" id=${asked.task} offer=${no} hint="x" says="Send back" onAsk=${ask} blocked=${settled} /></span>`}${yes && html`<span data-press="a"><${Deed} kind="task" id=${asked.task} offer=${yes} hint="a a" blocked=${settled} /></span>`}</div>` : html`<p class="dim">You look on as an observer.</p>`}${asking && html`<div class="wide"><${AskBox} kind="task" id=${asked.task} offer=${asking} onDone=${() => ask(null)} /></div>`}${yes && html`<${Same} command=${yes.command} wide />`}</div>`
    : html`<p class="lede"><${Quote} text=${asked.text} /></p>${answer && mayAct() ? html`<div class="panel pad" ...${on}><${AskBox} kind="task" id=${asked.task} offer=${answer} isFirst=${isAskedFor} /></div>` : html`<p class="dim">${mayAct() ? (isYours ? "" : "It is for the lead to answer.") : "You look on as an observer: answering is not offered."}</p>`}`}
    <div class="panel pad"><dl class="kv"><dt>who</dt><dd><${WhoLink} name=${asked.by} /></dd><dt>waits</dt><dd><${Age} at=${asked.at} /></dd><dt>may answer</dt><dd>${asked.whom === "user" ? "you" : "the lead, or you"}</dd><dt>holds up</dt><dd>${task?.blocks?.length ? html`<${TaskRows} ids=${task.blocks} />` : "no other task"}</dd></dl></div>`;
}

const Decided = ({ one }) => html`<div class="head"><h1><${Name} text=${one.requester} /> asked</h1><${State} of=${one.state} /><span class="push tag not-phone"><${Name} text=${one.id} /></span></div><${Command} text=${excerpt(whatOf(one), MOST_AT_ONCE)} isBig />
  <div class="panel pad"><dl class="kv"><dt>decided</dt><dd>${one.decided_at ? clock(one.decided_at, { today: world.whole?.now }) : "nobody answered in time"}${one.decided_by && html` by <${Name} text=${one.decided_by} />`}</dd>${one.reason && html`<dt>said</dt><dd>“<${Said} text=${one.reason} most=${800} />”</dd>`}<dt>rule</dt><dd><${Said} text=${one.why || "unknown"} most=${600} /></dd>${one.used_at && html`<dt>used</dt><dd>${clock(one.used_at, { today: world.whole?.now })}</dd>`}${one.task && html`<dt>for</dt><dd><${TaskLink} id=${one.task} /></dd>`}<dt>in folder</dt><dd><${Path} text=${one.folder || "unknown"} /></dd></dl></div>`;

