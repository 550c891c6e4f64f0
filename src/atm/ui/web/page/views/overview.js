// Who needs me, and what goes wrong without me? Always in the same order: needs you, problems, working, idle, unknown, done.

import { rowKey } from "../change.js";
import { ANSWERS, givenFor, mayAct, useRead, world } from "../live.js";
import { path, targetPath } from "../route.js";
import { clock, many, money, short } from "../spans.js";
import { classes, html, memo, useState } from "../view.js";
import { Bars, Share, Spark } from "../parts/charts.js";
import { AskBox, Deed } from "../parts/deeds.js";
import { countNote, Group, Some, useHeld } from "../parts/lists.js";
import { Age, counted, LastHeard, Left, memberCalled, State, Tag, taskOf, TaskState, Who } from "../parts/marks.js";
import { Command, Line, Quote } from "../parts/said.js";

const TITLES = { "run died": "The run died", "run paused": "The run was interrupted", "run stopped": "The run was stopped", "run held": "The run waits for a person", "run suspended": "The run is suspended", command: "Approve a command", plan_waits: "Approve a plan", question: "Answer a question", merge: "Settle a merge", mail: "Read your mail" };
const LOOK = { "run died": "Open the run", "run paused": "Open the run", "run stopped": "Open the run", "run held": "Open the run", "run suspended": "Open the run", command: "See it whole", plan_waits: "Read the plan", mail: "Open the mail", question: "Open the task", merge: "Open the merge", stalled: "Open the task", gone: "Open the agent", crashed: "Open the agent", conflict: "Open the merge", not_merged: "Open the merge", failed: "Open the task", to_retry: "Open the task" };
/** A longer command is decided about where all of it is in sight. */
export const LONGEST_HERE = 240;

export function Overview({ whole }) {
  const rows = whole.rows, of = (group) => rows.filter((row) => row.group === group);
  return html`<div class="page with-aside"><div class="col">
    <${Asks} title="Needs you" rows=${of("Needs you")} none="Nobody needs you." /><${Asks} title="Problems" id="problems" rows=${of("Problems")} none="Nothing goes wrong that atm knows of." isBroken />
    <${Members} title="Working" rows=${of("Working")} none="Nobody works." /><${Members} title="Idle" rows=${of("Idle")} none="Nobody is idle." />
    ${of("Unknown").length > 0 && html`<${Members} title="Unknown" rows=${of("Unknown")} none="" />`}<${Done} whole=${whole} /></div>
    <aside class="col" aria-label="Figures"><${Figures} whole=${whole} /></aside></div>`;
}

export function Asks({ title, rows, none, isBroken = false, id }) {
  const { shown, waiting, on } = useHeld(rows, rowKey);
  const times = rows.map((row) => row.at).filter((at) => at !== null);
  const note = countNote(waiting) || (isBroken || !times.length ? "" : world.isLive ? html`oldest waits <${Age} at=${Math.min(...times)} />` : `as of ${clock(world.downSince / 1000)}`);
  return html`<${Group} title=${title} id=${id} count=${rows.length} note=${note} none=${none}><ul class="panel rows asks" ...${on}>
    <${Some} of=${shown} what="more" draw=${({ key, row, isGone }) => html`<li key=${key}><${Ask} row=${row} isGone=${isGone} isBroken=${isBroken} isLive=${world.isLive} team=${world.team} mayAct=${mayAct()} /></li>`} /></ul></${Group}>`;
}

const Ask = memo(({ row, isGone, isBroken, team }) => {
  const [asking, ask] = useState(null);
  const to = targetPath(team, row.target), [kind, id] = row.target;
  const subject = isBroken && row.task ? taskOf(row.task)?.subject ?? "" : "";
  return html`<article class=${classes("ask", isBroken && "broken", isGone && "gone")}><div class="top"><${State} of=${row.state} meaning=${row.tone}>${TITLES[row.state] ?? html`<${Line} text=${capital(row.word)} />`}</${State}>
      ${row.who && html`<${Who} name=${row.who} vendor=${row.vendor} />`}<${Tag} id=${row.task} />${subject && html`<span class="say cut"><${Line} text=${subject} /></span>`}<span class="push">${isGone ? html`<span class="age">${settledOf(kind, id)}</span>` : html`<${Waits} row=${row} isBroken=${isBroken} />`}</span></div>
    <div class="what"><${What} row=${row} isBroken=${isBroken} /></div>
    <div class="act"><${Acts} row=${row} kind=${kind} id=${id} to=${to} ask=${ask} blocked=${isGone ? "it is settled" : ""} /></div>
    ${asking && html`<div class="wide"><${AskBox} kind=${kind} id=${id} offer=${asking} onDone=${() => ask(null)} /></div>`}</article>`;
});

/** What was answered here, if it was. The buttons of such a row stay in their places, and do nothing. */
function settledOf(kind, id) {
  const given = givenFor(kind, id);
  return given ? html`You ${ANSWERS[given.word]}${given.text && html`: “<${Line} text=${given.text} most=${60} />”`}` : "settled";
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

function Waits({ row, isBroken }) {
  const asked = row.state === "command" ? (world.whole?.snapshot.approvals ?? []).find((one) => one.id === row.target[1]) : null;
  if (asked?.expires_at) return html`<${Left} until=${asked.expires_at} word="left" /><span class="age not-phone">, then denied</span>`;
  if (row.at !== null) return html`<${Age} at=${row.at} before=${isBroken ? "for " : "waits "} />`;
  return row.right ? html`<span class="age"><${Line} text=${row.right} /></span>` : null;
}

function What({ row, isBroken }) {
  if (row.state === "command") return html`${isShort(row) ? html`<${Command} text=${row.text} />` : html`<p class="say"><code class="cut-cmd"><${Line} text=${row.text} most=${120} /></code></p><p class="meta">A long command, ${row.text.length.toLocaleString("en")} characters: it is decided about where all of it is in sight.</p>`}<${Because} row=${row} />`;
  if (isBroken) return html`<p class="meta"><${Line} text=${row.text} most=${400} /></p>`;
  const isClaim = row.state === "question";
  return html`<p class="say">${isClaim ? html`<${Quote} text=${row.text} most=${600} />` : html`<${Line} text=${row.text} most=${400} />`}</p>${row.next && html`<p class="meta"><${Line} text=${row.next} /></p>`}${row.source && html`<p class="meta"><${Line} text=${row.source} /></p>`}`;
}

const isShort = (row) => row.text.length <= LONGEST_HERE;

function Because({ row }) {
  const asked = (world.whole?.snapshot.approvals ?? []).find((one) => one.id === row.target[1]);
  return asked ? html`<p class="meta">${asked.why && html`<${Line} text=${asked.why} />. `}Asked <${Age} at=${asked.asked_at} after=" ago" />.</p>` : null;
}

/** Which deeds a row offers here; the rest is on the thing's own page. What decides is offered where all of it is in sight. */
const HERE = { "run died": ["resume"], "run paused": ["resume"], "run stopped": ["resume"], "run held": ["resume"], command: ["deny", "approve"], question: ["answer"], stalled: ["write"], late: ["write"], gone: ["write"], crashed: ["write"], failed: ["reopen"], not_merged: ["try again"], conflict: ["try again"], merge: ["try again"] };

function Acts({ row, kind, id, to, ask, blocked }) {
  const words = (HERE[row.state] ?? []).filter((word) => word !== "approve" || isShort(row));
  const shown = words.map((word) => (row.offers ?? []).find((offer) => offer.word === word)).filter(Boolean);
  return html`<a class=${shown.length && row.state === "command" ? "btn quiet" : "btn"} data-row href=${to}>${LOOK[row.state] ?? "Look"}</a>${mayAct() && shown.map((offer) => html`<${Deed} key=${offer.deed} kind=${kind} id=${id} offer=${offer} onAsk=${ask} blocked=${blocked} />`)}`;
}

function Members({ title, rows, none }) {
  const { shown, waiting, on } = useHeld(rows, rowKey);
  return html`<${Group} title=${title} count=${rows.length} note=${countNote(waiting)} none=${none}><ul class="panel rows" ...${on}><${Some} of=${shown} first=${80} draw=${({ key, row }) => html`<li key=${key}><${MemberRow} row=${row} team=${world.team} isLive=${world.isLive} /></li>`} /></ul></${Group}>`;
}

const MemberRow = memo(({ row, team }) => {
  const member = memberCalled(row.who), unread = /unread/.test(row.text) ? 0 : member?.mail?.unread;
  return html`<a class="agent-row row" data-row href=${path(team, "agent", row.who)}><${State} of=${row.state} meaning=${row.tone}>${row.word}</${State}><${Who} name=${row.who} vendor=${row.vendor} />
    <span class="what"><span class="cut">${row.task && html`<span class="tag">#${row.task}</span> `}<${Line} text=${row.text} /></span>${member?.sync?.label && html`<small class="cut">${member.sync.label}${unread ? `, ${unread} unread` : ""}</small>`}</span>
    <span class="right"><${Sign} row=${row} /></span></a>`;
});

const Sign = ({ row }) => row.at === null ? html`<span class="age"><${Line} text=${row.right || "never heard of"} /></span>` : html`<${LastHeard} at=${row.at} source=${row.source?.slice(0, 16)} />`;

function Done({ whole }) {
  const { snapshot, cells } = whole, done = snapshot.tasks.filter((task) => task.state === "completed").reverse(), merges = snapshot.merges;
  const said = merges ? Object.entries(merges.counts ?? {}).filter(([, n]) => n).map(([state, n]) => `${n} ${state.replace("_detected", "")}`).join(", ") : "";
  return html`<${Group} title="Done" count=${done.length} note=${said && html`<a class="link" href=${path(world.team, "merge")}>${said}</a>`} none="Nothing is done yet."><ul class="panel rows"><${Some} of=${done} first=${6} step=${50} draw=${(task) => html`<li key=${task.id}><${DoneRow} task=${task} held=${cells[task.id] ?? ""} team=${world.team} /></li>`} /></ul></${Group}>`;
}

const DoneRow = memo(({ task, held, team }) => html`<a class="done-row row" data-row href=${path(team, "task", task.id)}><span><${TaskState} task=${task} cells=${held ? { [task.id]: held } : {}} /></span><span class="cut">#${task.id} <${Line} text=${task.subject} /></span><span class="by">${task.owner && html`<${Who} name=${task.owner} />`}</span><span class="age right"></span></a>`);

function Figures({ whole }) {
  const activity = useRead("activity"), { snapshot, cells } = whole, agents = snapshot.members.filter((one) => one.agent);
  return html`<${Activity} of=${activity.value} /><${Stand} tasks=${snapshot.tasks} cells=${cells} />
    ${agents.length > 0 && html`<section class="panel"><header><h2>Cost</h2></header><div class="pad"><${Bars} of=${agents.map((one) => [one.name, one.agent.cost])} figure=${money} /></div></section>`}<${Overhead} of=${activity.value} />`;
}

const UNKNOWN = html`<span class="unk dim">unknown</span>`;
const sum = (values) => (values ?? []).reduce((total, value) => total + (value ?? 0), 0);
const hasAny = (values) => (values ?? []).some((value) => value !== null);

function Activity({ of }) {
  if (!of) return html`<section class="panel"><header><h2>Activity</h2></header><p class="pad dim m">Reading…</p></section>`;
  return html`<section class="panel"><header><h2>Activity</h2><span class="push age">since ${clock(of.from, { seconds: false, today: whole() })}</span></header><div class="pad">
    <${Spark} name="messages" values=${of.mail} figure=${short(sum(of.mail))} /><${Spark} name="task events" values=${of.tasks} figure=${short(sum(of.tasks))} /><${Spark} name="approval events" values=${of.approvals} figure=${short(sum(of.approvals))} />
    <${Spark} name="tokens" values=${of.tokens} figure=${hasAny(of.tokens) ? short(sum(of.tokens)) : UNKNOWN} isLine /><p class="axis"><span>${clock(of.from, { seconds: false })}</span><span>now</span></p></div></section>`;
}

const whole = () => world.whole?.now ?? null;

function Stand({ tasks, cells }) {
  const n = counted(tasks, cells);
  if (!tasks.length) return html`<section class="panel"><header><h2>Tasks</h2></header><p class="pad dim m">The board is empty. <code>atm tasks add "…"</code></p></section>`;
  return html`<section class="panel"><header><h2>Where the tasks stand</h2><span class="push age">${many(tasks.length, "task")}</span></header><div class="pad"><${Share} label="Where the tasks stand" of=${[["done", n.done + n.merging, "f-proven"], ["in progress or review", n.moving + n.review, "f-moving"], ["waits for you", n.you, "url(#h-you)"], ["problem", n.broken, "url(#h-broken)"], ["ready", n.ready, "f-idle"], ["blocked", n.blocked, "url(#h-other)"], ["cancelled or left out", n.over, "f-line"]].filter(([name, count]) => count || name !== "cancelled or left out")} /></div></section>`;
}

function Overhead({ of }) {
  const known = (of?.coordination ?? []).filter((value) => value !== null), mean = known.length ? known.reduce((a, b) => a + b, 0) / known.length : null;
  const talk = of?.talk === undefined ? mean : of.talk, said = talk === null ? UNKNOWN : `${(100 * talk).toFixed(1)} %`;
  return html`<section class="panel"><header><h2>Coordination overhead</h2></header><div class="pad"><${Spark} name="share" values=${of?.coordination ?? []} figure=${said} isLine /><p class="m dim">mail and approvals, of all that happened</p></div></section>`;
}
