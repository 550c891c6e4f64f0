// One task: what it waits for, what proves it, what was said, what happened.

import { useOffers, useRead, world } from "../live.js";
import { path } from "../route.js";
import { clock } from "../spans.js";
import { html } from "../view.js";
import { Deeds } from "../parts/deeds.js";
import { Diff, isUnseen, Unseen } from "../parts/diff.js";
import { Some, Unread } from "../parts/lists.js";
import { Age, memberCalled, State, TaskRows, TaskState, taskOf, WhoLink } from "../parts/marks.js";
import { Command, Line, Name, Path, Quote, Said, Same } from "../parts/said.js";
import { Mini } from "../parts/rail.js";

export function Task({ id, whole }) {
  const brief = taskOf(id), read = useRead("task", id), offers = useOffers("task", id), task = { ...(brief ?? {}), ...(read.value?.task ?? {}) };
  if (!brief && !read.value) return html`<div class="page"><div class="head"><h1>Task #<${Name} text=${id} /></h1></div><section class="panel"><${Unread} of=${read} what="the task" /></section></div>`;
  return html`<div class="page"><div class="head"><h1>#<${Name} text=${id} /> <${Line} text=${task.subject} /></h1><${TaskState} task=${{ ...task, ...(brief ? { shown: brief.shown } : {}), id }} cells=${whole.cells} /><span class="push"></span><span class="not-phone"><${Same} command=${read.command} /></span></div>
    <${Plan} task=${task} whole=${whole} /><div class="deeds"><${Deeds} kind="task" id=${id} offers=${offers} hints=${{ "approve the plan": "a a" }} /></div>
    <div class="two"><div class="col"><${Tries} task=${task} /><${About} task=${task} /><${Checks} task=${task} /><${WorkDiff} task=${task} /></div><div class="col"><${Facts} task=${task} /><${Happened} task=${task} /><${AboutMail} id=${id} owner=${task.owner} /></div></div></div>`;
}

/** A plan or a question that waits, in its own words. */
function Plan({ task, whole }) {
  const asked = (whole.snapshot.asked ?? []).find((one) => one.task === task.id);
  if (!asked) return null;
  return html`<section class="panel ask-panel"><header><${State} of=${asked.kind}>${asked.kind === "plan" ? "The plan" : "The question"}</${State}><span class="push"><${Age} at=${asked.at} before="waits " /></span></header><div class="pad"><p class="lede"><${Quote} text=${asked.text} by=${asked.by} /></p></div></section>`;
}

function About({ task }) {
  const comments = task.comments ?? [];
  if (!task.description && !comments.length && !task.result) return html`<section class="panel pad"><p class="dim">Nothing was written about it but its title.</p></section>`;
  return html`<section class="panel"><header><h2>About it</h2></header><div class="pad col">${task.description && html`<p><${Said} text=${task.description} /></p>`}${task.result && html`<p><b>Result</b> <${Quote} text=${task.result} by=${task.finishedBy ?? task.owner} /></p>`}
    ${comments.map((one, at) => html`<div key=${at} class="remark"><p class="said"><b><${Name} text=${one.by ?? one.author ?? one.actor} /></b> <span class="age">${clock(one.at)}</span></p><p><${Said} text=${one.text} /></p></div>`)}</div></section>`;
}

const reasonOf = (error) => { const [reason, ...rest] = String(error ?? "").trim().split("\n"); return { error: reason.replace(/:$/, ""), output: rest.join("\n") }; };

/** What each attempt failed of, with the end of what was printed; the last one is open. */
function Tries({ task }) {
  const kept = task.tries ?? [], tries = kept.length ? kept : task.error ? [reasonOf(task.error)] : [];
  if (!tries.length) return null;
  const isFinal = task.state === "failed";
  return html`<section class="panel tries"><header><h2>${isFinal ? "Failed for good" : "Attempts that failed"}</h2><span class="push age">${isFinal ? "it comes back when you reopen it" : `${tries.length}`}</span></header><ul class="rows">${[...tries].reverse().map((one, at) => html`<li class="pad row" key=${at}><p class="check"><${State} of="failed" small>${one.attempt ? `attempt ${one.attempt}` : "failed"}</${State}> ${one.by && html`<b><${Name} text=${one.by} /></b> `}<${Line} text=${one.error} most=${500} />${one.at && html` <span class="age">${clock(one.at, { today: world.whole?.now })}</span>`}</p>
    ${one.output && html`<details open=${at === 0}><summary class="m dim">output</summary><pre class="term" tabindex="0"><${Said} text=${one.output} /></pre></details>`}</li>`)}</ul></section>`;
}

const isSame = (one, other) => Boolean(other) && one.kind === other.kind && one.command === other.command;

function Checks({ task }) {
  const failed = task.last_check, wanted = (task.acceptance ?? []).map((one) => isSame(one, failed) ? { ...one, ...failed } : one), proofs = task.evidence ?? [], rows = proofs.length ? proofs : wanted;
  if (!rows.length) return null;
  return html`<section class="panel"><header><h2>Done when</h2><span class="push age">${proofs.length ? "as it was checked" : failed ? "as it was checked last" : "not checked yet"}</span></header><ul class="rows">${rows.map((one, at) => html`<li class="pad row" key=${at}><p class="check"><${State} of=${one.ok === undefined ? "ready" : one.ok ? "done" : "failed"} small>${one.ok === undefined ? "not run" : one.ok ? "passed" : `failed, code ${one.code}`}</${State}> ${one.command ? html`<${Command} text=${one.command} />` : html`<${Said} text=${one.text ?? one.kind ?? ""} />`}</p>
    ${one.output && html`<details><summary class="m dim">output${one.seconds !== undefined && `, ${one.seconds.toFixed(1)} s`}${one.commit && html`, at <code>${String(one.commit).slice(0, 10)}</code>`}</summary><pre class="term" tabindex="0"><${Said} text=${one.output} /></pre></details>`}</li>`)}</ul></section>`;
}

function WorkDiff({ task }) {
  const owner = memberCalled(task.owner), holds = owner?.tasks?.includes(task.id), read = useRead("diff", task.owner ?? "", { isOn: Boolean(holds && owner.agent) });
  if (!holds) return null;
  return html`<section class="panel"><header><h2>What <${Name} text=${task.owner} /> changed</h2><span class="push not-phone"><${Same} command=${read.command} /></span></header>${isUnseen(owner, read) ? html`<${Unseen} name=${task.owner} />` : read.value ? html`<${Diff} text=${read.value.diff} />` : html`<${Unread} of=${read} what="the diff" />`}</section>`;
}

function Facts({ task }) {
  return html`<section class="panel pad"><dl class="kv"><dt>owner</dt><dd>${task.owner ? html`<${WhoLink} name=${task.owner} />` : "nobody yet"}</dd>
    <dt>waits for</dt><dd>${task.blocked_by?.length ? html`<${TaskRows} ids=${task.blocked_by} />` : "nothing"}</dd><dt>holds up</dt><dd>${task.blocks?.length ? html`<${TaskRows} ids=${task.blocks} />` : "nothing"}</dd>
    ${task.review?.reviewer && html`<dt>review</dt><dd><${Name} text=${task.review.reviewer} />, ${task.review.state ?? "asked"}</dd>`}${task.priority && html`<dt>priority</dt><dd>${task.priority}</dd>`}${task.failures ? html`<dt>failed</dt><dd>${task.failures} of at most ${task.max_retries + 1} times</dd>` : null}
    ${task.problem && html`<dt>problem</dt><dd><${Said} text=${task.problem} /></dd>`}${task.files?.length ? html`<dt>files</dt><dd>${task.files.slice(0, 40).map((file) => html`<div><${Path} text=${file} /></div>`)}</dd>` : null}
    ${task.createdAt && html`<dt>added</dt><dd>${clock(task.createdAt, { today: world.whole?.now })} by <${Name} text=${task.createdBy} /></dd>`}${task.finishedAt && html`<dt>finished</dt><dd>${clock(task.finishedAt, { today: world.whole?.now })} by <${Name} text=${task.finishedBy} /></dd>`}</dl></section>`;
}

const TOLD = ["from", "to", "reason", "note", "question", "text", "reviewer", "error"];

function Happened({ task }) {
  const events = [...(task.events ?? [])].reverse();
  if (!events.length) return null;
  return html`<section class="panel"><header><h2>What happened</h2><span class="push age">history of #<${Name} text=${task.id} /></span></header><div class="pad"><ul class="feed wide-time"><${Some} of=${events} first=${20} what="earlier" draw=${(one) => html`<li key=${one.id}><time>${clock(one.at, { today: world.whole?.now })}</time><span><b><${Name} text=${one.actor ?? "atm"} /></b> ${String(one.type ?? "").replaceAll("_", " ")} <span class="dim"><${Line} text=${TOLD.map((key) => one[key]).filter((value) => typeof value === "string").join(", ")} /></span></span></li>`} /></ul></div></section>`;
}

/** Mail that names the task. */
function AboutMail({ id, owner }) {
  const read = useRead("threads"), names = new RegExp(`#${id.replaceAll(/[^\w-]/g, "\\$&")}(?![\\w-])`);
  const found = (read.value ?? []).flatMap((thread) => thread.messages.map((message) => ({ thread, message }))).filter(({ message }) => names.test(`${message.summary} ${message.text}`)).slice(-8).reverse();
  if (!found.length) return html`<section class="panel pad"><p class="dim m">No mail names #<${Name} text=${id} />${owner && html`; <a class="link" href=${path(world.team, "agent", owner)}>what its owner got</a>`}.</p></section>`;
  return html`<section class="panel"><header><h2>Mail about it</h2></header><ul class="rows">${found.map(({ thread, message }) => html`<li key=${message.id} class="row"><a class="agent-row mailrow" href=${path(world.team, "mail", thread.key)}><span class="who"><b><${Name} text=${message.sender} /></b></span><span class="cut"><${Line} text=${message.summary || message.text} /></span><${Mini} message=${message} /><${Age} at=${message.at} /></a></li>`)}</ul></section>`;
}
