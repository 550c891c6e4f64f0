// What is in, what is next, what do two want at once?

import { useOffers, useRead } from "../live.js";
import { path } from "../route.js";
import { many } from "../spans.js";
import { html } from "../view.js";
import { Deeds } from "../parts/deeds.js";
import { Diff } from "../parts/diff.js";
import { Some, Unread } from "../parts/lists.js";
import { Age, State, Tag, taskOf, TaskState, Who, WhoLink } from "../parts/marks.js";
import { Command, Line, Name, Path, Said, Same } from "../parts/said.js";

const NONE = {};
const ORDER = ["merging", "conflict_detected", "conflict", "failed", "resolved", "queued", "pending", "merged", "skipped"];
const placeOf = (item) => { const at = ORDER.indexOf(item.status); return at < 0 ? 6.5 : at; };

export function Merge({ team, id, whole }) {
  const read = useRead("merges"), items = [...(read.value?.items ?? [])].sort((a, b) => placeOf(a) - placeOf(b) || (b.done_at ?? 0) - (a.done_at ?? 0)), target = read.value?.target;
  const troubled = items.find((item) => ["conflict", "conflict_detected", "failed"].includes(item.status)), chosen = id || troubled?.task || "";
  return html`<div class="page"><div class="head"><h1>Merge queue</h1>${target && html`<span class="dim">into <code><${Name} text=${target.branch} /></code>, one at a time, in the order of dependencies</span>`}<span class="push"></span><span class="not-phone"><${Same} command=${read.command} /></span></div>
    ${!read.value ? html`<section class="panel"><${Unread} of=${read} what="the queue" /></section>` : !items.length ? html`<section class="panel pad"><h2>Nothing to merge</h2><p class="mid">When agents finish tasks on branches of their own, atm merges them here, one at a time, and runs the checks of all that is merged.</p></section>` : html`<section class="panel"><${Table} items=${items} team=${team} chosen=${chosen} /></section>`}
    ${chosen && html`<${One} key=${chosen} id=${chosen} />`}<${Radar} collisions=${whole.snapshot.merges?.collisions ?? []} /></div>`;
}

function Table({ items, team, chosen }) {
  let place = 0;
  const isNext = (item) => item.status !== "merged" && !item.skipped, hasPlaces = items.some(isNext);
  return html`<table class="table"><thead><tr>${hasPlaces && html`<th class="opt">next</th>`}<th>state</th><th>task</th><th class="opt">by</th><th class="opt branch">branch</th><th class="opt">checks</th><th class="num opt">files</th><th class="num">done</th></tr></thead><tbody><${Some} of=${items} first=${60} inside="tr" draw=${(item) => html`<${Row} key=${item.task} item=${item} place=${!hasPlaces ? null : isNext(item) ? ++place : ""} team=${team} isOpen=${item.task === chosen} />`} /></tbody></table>`;
}

function Row({ item, place, team, isOpen }) {
  return html`<tr class=${isOpen ? "chosen" : ""}>${place !== null && html`<td class="m dim opt">${place}</td>`}<td><${TaskState} task=${item} cells=${NONE} /></td><td><a data-row href=${path(team, "merge", item.task)} data-same aria-current=${isOpen ? "true" : undefined}><span class="tag">#<${Name} text=${item.task} /></span> <${Line} text=${item.subject ?? taskOf(item.task)?.subject} most=${90} /></a></td><td class="opt"><${Who} name=${item.agent} /></td><td class="opt branch"><span class="dim"><${Path} text=${item.branch} /></span></td><td class="opt"><${Checks} checks=${item.checks ?? []} /></td><td class="opt m num">${item.files?.length ?? 0}</td><td class="num"><${Age} at=${item.done_at} /></td></tr>`;
}

function Checks({ checks }) {
  if (!checks.length) return html`<${State} of="ready" small>not run</${State}>`;
  const failed = checks.filter((one) => !one.ok).length;
  return failed ? html`<${State} of="failed" small>${failed} of ${checks.length} fail</${State}>` : html`<${State} of="done" small>${checks.length} passed</${State}>`;
}

function One({ id }) {
  const read = useRead("merge", id), offers = useOffers("merge", id), item = read.value?.item;
  if (!item) return html`<section class="panel"><${Unread} of=${read} what=${`#${id}`} /></section>`;
  const conflict = item.conflict, isOpen = !["merged"].includes(item.status) && !item.skipped, diff = read.value.diff ?? item.diff;
  return html`<section class="panel"><header><${TaskState} task=${item} cells=${NONE} /><h2><${Tag} id=${item.task} /> <${Line} text=${item.subject} most=${120} /></h2><span class="push m dim not-phone"><${Path} text=${item.branch} /></span></header>
    <div class="pad conflict-steps"><${Steps} item=${item} /></div>${item.reason && html`<p class="pad"><${Said} text=${item.reason} most=${1000} /></p>`}
    ${conflict && html`<div class="sides line-top"><div><h3><${WhoLink} name=${item.agent} /> wants, in <${Tag} id=${item.task} /></h3><p class="mid"><${Line} text=${item.subject} /></p></div>${(conflict.with ?? []).slice(0, 3).map((other) => html`<div><h3>${other.agent ? html`<${WhoLink} name=${other.agent} />` : "the target"} wanted${other.task && html`, in <${Tag} id=${other.task} />`} <span class="dim">merged first</span></h3><p class="mid"><${Line} text=${other.subject ?? ""} /></p></div>`)}</div><div class="pad line-top"><h3>${many(conflict.files?.length ?? 0, "file")} in conflict</h3>${(conflict.files ?? []).slice(0, 30).map((file) => html`<div><${Path} text=${file} /></div>`)}</div>`}
    ${diff && html`<div class="line-top"><${Diff} text=${diff} /></div>`}${item.checks?.length > 0 && html`<div class="pad line-top"><h3>Checks</h3><ul class="checks">${item.checks.map((one, at) => html`<li key=${at}><${State} of=${one.ok ? "done" : "failed"} small>${one.ok ? "passed" : `failed, code ${one.code}`}</${State}><${Command} text=${one.command} />${one.output && html`<details><summary class="m dim">output</summary><pre class="term" tabindex="0"><${Said} text=${one.output} /></pre></details>`}</li>`)}</ul></div>`}
    ${isOpen && html`<div class="pad line-top deeds"><${Deeds} kind="merge" id=${item.task} offers=${offers} /></div>`}${!isOpen && item.commit && html`<p class="pad line-top m dim">commit <code><${Name} text=${item.commit} /></code>${item.salvage && html`; what was replaced is kept as <code><${Name} text=${item.salvage} /></code>`}</p>`}</section>`;
}

/** How a merge gets on: found, sent back, resolved, checked, merged. */
function Steps({ item }) {
  const isMerged = item.status === "merged", has = Boolean(item.conflict), passed = item.checks?.length > 0 && item.checks.every((one) => one.ok);
  const steps = [["work done", "done", true]];
  if (has) steps.push(["conflict found by a dry run", "done", true], [item.resolution || isMerged ? "resolved" : `settled by its author${item.sent_back ? `, sent back ${item.sent_back} ×` : ""}`, item.resolution || isMerged ? "done" : "working", Boolean(item.resolution) || isMerged]);
  steps.push(["checks", isMerged || passed ? "done" : item.checks?.some((one) => !one.ok) ? "failed" : "ready", isMerged || passed], [item.needs_human ? "you decide" : "merged", isMerged ? "merged" : item.needs_human ? "you" : "ready", isMerged]);
  return html`<ol class="steps">${steps.map(([said, state, isDone]) => html`<li class=${isDone ? "" : "open"}><${State} of=${state} small>${said}</${State}></li>`)}</ol>`;
}

/** Who changes the same files just now, before anything is merged. */
function Radar({ collisions }) {
  return html`<section class="panel"><header><h2>Radar</h2><span class="push age">who changes the same files just now</span></header>${collisions.length ? html`<ul class="rows"><${Some} of=${collisions} first=${20} draw=${(one, at) => html`<li key=${at} class="pad row"><p>${one.conflicts?.length ? html`<${State} of="collides" small>same lines</${State}>` : html`<${State} of="ready" small>same files</${State}>`} ${(one.tasks ?? []).map((id, place) => html`${place ? " × " : ""}${id ? html`<${Tag} id=${id} />` : "the target"}`)} <span class="dim">${(one.agents ?? []).map((name, place) => html`${place ? ", " : ""}<${Name} text=${name} />`)}</span></p>${(one.conflicts?.length ? one.conflicts : one.files ?? []).slice(0, 8).map((file) => html`<div><${Path} text=${file} /></div>`)}</li>`} /></ul>` : html`<p class="pad dim m">Nobody does.</p>`}</section>`;
}
