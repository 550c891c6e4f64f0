// Runs of the team: what was wanted, what came of it, what it cost.

import { useOffers, useRead, world } from "../live.js";
import { path } from "../route.js";
import { clock, cost, short, span } from "../spans.js";
import { html } from "../view.js";
import { Deeds } from "../parts/deeds.js";
import { Some, Unread } from "../parts/lists.js";
import { State, Tags } from "../parts/marks.js";
import { Line, Name, Path, Said, Same } from "../parts/said.js";

export function Runs({ team, id }) {
  const read = useRead("runs"), runs = read.value?.runs ?? [], chosen = id || runs[0]?.run || "";
  return html`<div class="page"><div class="head"><h1>Runs</h1><span class="push not-phone"><${Same} command=${read.command} /></span></div>
    ${!read.value ? html`<section class="panel"><${Unread} of=${read} what="runs" /></section>` : !runs.length ? html`<section class="panel pad"><h2>No run yet</h2><p class="mid">A run takes a goal, makes a plan of it, and works it off with agents, each task on a branch of its own.</p><code class="cmd">atm run "what you want done"</code></section>`
      : html`<section class="panel"><table class="table"><thead><tr><th>state</th><th>goal</th><th class="opt">began</th><th class="num">done</th><th class="num opt">took</th></tr></thead><tbody><${Some} of=${runs} first=${40} inside="tr" draw=${(one) => html`<tr key=${one.run} class=${one.run === chosen ? "chosen" : ""}><td><${State} of=${one.state} /></td><td><a data-row data-same href=${path(team, "runs", one.run)} aria-current=${one.run === chosen ? "true" : undefined}><${Line} text=${one.goal || one.run} most=${120} /></a></td><td class="opt m">${clock(one.started_at, { today: world.whole?.now })}</td><td class="num">${one.done} of ${one.tasks}</td><td class="num opt m">${span(one.seconds)}</td></tr>`} /></tbody></table></section>`}
    ${chosen && html`<${Run} key=${chosen} id=${chosen} />`}</div>`;
}

function Run({ id }) {
  const read = useRead("run", id), offers = useOffers("run", id), run = read.value;
  if (!run) return html`<section class="panel"><${Unread} of=${read} what="the run" /></section>`;
  const tasks = run.tasks ?? {}, kinds = Object.entries(tasks).filter(([, ids]) => ids?.length);
  return html`<section class="panel"><header><${State} of=${run.outcome ?? run.state ?? "running"} /><h2><${Line} text=${run.goal || run.run} /></h2><span class="push not-phone"><${Same} command=${read.command} /></span></header><div class="pad"><dl class="kv">${typeof run.tasks === "number" && html`<dt>done</dt><dd>${run.done} of ${run.tasks}</dd>`}${run.resume && html`<dt>next</dt><dd><code><${Line} text=${run.resume} /></code></dd>`}${run.why && html`<dt>why</dt><dd><${Said} text=${run.why} /></dd>`}${kinds.map(([kind, ids]) => html`<dt>${kind.replaceAll("_", " ")}</dt><dd>${ids.length}: <${Tags} ids=${ids.slice(0, 60)} /></dd>`)}
    <dt>took</dt><dd>${span(run.seconds)}, of that coordination ${run.overhead?.seconds !== undefined ? span(run.overhead.seconds) : "unknown"}</dd><dt>tokens</dt><dd>${short(run.tokens)}${run.tokens !== null && run.tokens_known === false ? " + unknown" : ""}</dd><dt>cost</dt><dd>${cost(run)}</dd><dt>approvals</dt><dd>${run.approvals?.asked ?? 0} asked, ${run.approvals?.approved ?? 0} approved</dd>${run.into && html`<dt>result</dt><dd><code><${Name} text=${run.into.branch} /></code></dd>`}${run.report && html`<dt>report</dt><dd><${Path} text=${run.report} /></dd>`}</dl></div>${offers.length > 0 && html`<div class="pad line-top deeds"><${Deeds} kind="run" id=${id} offers=${offers} /></div>`}
    <table class="table line-top"><thead><tr><th>agent</th><th class="num">turns</th><th class="num">restarts</th><th class="num opt">time</th><th class="num">tokens</th><th class="num opt">cost</th></tr></thead><tbody>${(run.agents ?? []).filter((one) => one.name).slice(0, 60).map((one) => html`<tr key=${one.name}><td><b><${Name} text=${one.name} /></b></td><td class="num">${one.turns}</td><td class="num">${one.restarts}</td><td class="num opt">${span(one.seconds)}</td><td class="num">${short(one.tokens)}</td><td class="num opt">${cost(one)}</td></tr>`)}</tbody></table></section>`;
}
