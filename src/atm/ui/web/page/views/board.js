// What is held up, and by what? Columns, and below them or instead of them what waits for what.

import { mayAct, useOffers, world } from "../live.js";
import { path } from "../route.js";
import { LANES, laneOf, lookOf, shownOf } from "../signs.js";
import { classes, html, memo, useMemo, useState } from "../view.js";
import { AskBox } from "../parts/deeds.js";
import { Filter, fits, Some } from "../parts/lists.js";
import { Mark, memberCalled, State, TaskState, Vendor, Who } from "../parts/marks.js";
import { Line, Name } from "../parts/said.js";
import { vendorOf } from "../signs.js";
import { Graph } from "./graph.js";

const FIRST = 30;

export function Board({ team, id, whole }) {
  const [filter, set] = useState(""), [isAdding, adding] = useState(false);
  const { tasks } = whole.snapshot, offers = useOffers("team", team), add = offers.find((offer) => offer.deed === "add" || offer.word === "add");
  const shown = useMemo(() => {
    const isIn = fits(filter);
    return filter ? tasks.filter((task) => isIn({ state: `${task.state} ${shownOf(task).word} ${whole.cells[task.id] ?? ""}`, who: task.owner, text: `#${task.id} ${task.subject}` })) : tasks;
  }, [tasks, filter]);
  const isGraph = id === "graph", isList = id === "list";
  const tab = (to, said, is) => html`<a href=${path(team, "board", to)} data-same aria-current=${is ? "true" : undefined}>${said}</a>`;
  return html`<div class="page"><div class="head"><div class="seg" role="group" aria-label="Layout">${tab("", "Columns", !isGraph && !isList)}${tab("graph", "Graph", isGraph)}${tab("list", "List", isList)}</div><${Filter} value=${filter} set=${set} />
      ${filter && html`<span class="m dim">${shown.length} of ${tasks.length}</span>`}<span class="dim push m not-phone">blocked is not ready: it waits for another task</span>${add && mayAct() && html`<button class="btn" type="button" onClick=${() => adding(!isAdding)}>Add a task</button>`}</div>
    ${isAdding && add && html`<div class="panel pad"><${AskBox} kind="team" id=${team} offer=${add} rows=${1} onDone=${() => adding(false)} /></div>`}
    ${!tasks.length ? html`<${NoTasks} />` : isList ? html`<${List} tasks=${shown} cells=${whole.cells} team=${team} />` : isGraph ? html`<${Graph} tasks=${shown} cells=${whole.cells} team=${team} isTall />`
      : html`<${Kanban} tasks=${shown} whole=${whole} team=${team} />${tasks.length <= 200 && html`<${Graph} tasks=${shown} cells=${whole.cells} team=${team} />`}`}</div>`;
}

const NoTasks = () => html`<section class="panel pad"><h2>The board is empty</h2><p class="mid">Tasks wait here until somebody claims them. Add one, or import a plan:</p><code class="cmd">atm tasks add "what is to be done"</code><code class="cmd">atm tasks import plan.md</code></section>`;

function Kanban({ tasks, whole, team }) {
  const lanes = useMemo(() => {
    const found = new Map(LANES.map(([state]) => [state, []]));
    for (const task of tasks) (found.get(laneOf(task)) ?? found.get("not_done")).push(task);
    found.get("done").reverse();
    if (!found.get("not_done").length) found.delete("not_done");
    return found;
  }, [tasks]);
  const stalls = useMemo(() => new Map((whole.snapshot.stalled ?? []).map((one) => [one.task, one])), [whole.snapshot.stalled]);
  const merges = useMemo(() => new Map((whole.snapshot.merges?.open ?? []).map((one) => [one.task, one])), [whole.snapshot.merges]);
  const columns = LANES.filter(([state]) => lanes.has(state)), empty = columns.filter(([state]) => !lanes.get(state).length).map(([, title]) => title);
  return html`<div class=${classes("kanban", columns.length > 6 && "of-seven")}>${empty.length > 0 && html`<p class="phone-part dim m none-in">Nothing in ${empty.join(", ")}</p>`}${columns.map(([state, title, shape, meaning], at) => {
    const list = lanes.get(state);
    return html`<section key=${state} class=${classes(`lane lane-${at + 1}`, !list.length && "is-empty")}><header><h3><span class=${`st st-${meaning}`}><${Mark} g=${shape} />${title}</span></h3><span class="m">${list.length}</span></header>
      <ul><${Some} of=${list} first=${state === "done" ? 5 : FIRST} draw=${(task) => html`<li key=${task.id}><${Card} task=${task} held=${whole.cells[task.id] ?? ""} look=${lookOf(task, whole.cells)} stall=${stalls.get(task.id)} merge=${merges.get(task.id)} owner=${memberCalled(task.owner)} team=${team} /></li>`} />${!list.length && html`<li class="none">${NONE[state]}</li>`}</ul></section>`;
  })}</div>`;
}

const NONE = { blocked: "Nothing waits for another task.", ready: "Nothing is free to claim.", planning: "No plan is being made.", in_progress: "Nobody works on a task.", review: "Nothing is in review.", done: "Nothing is done yet.", not_done: "" };

const Card = memo(({ task, held, look, stall, merge, owner, team }) => {
  const isDone = shownOf(task).column === "done" && look !== "broken";
  const kind = look === "you" ? "you" : look === "broken" ? "broken" : task.state === "blocked" ? "blocked" : "";
  return html`<a class=${classes("card", kind, isDone && "slim")} data-row href=${path(team, "task", task.id)}><span class="line"><span class="tag">#<${Name} text=${task.id} /></span>${isDone && task.owner && html`<span class="cut"><${Name} text=${task.owner} /></span>`}<span class="push"><${TaskState} task=${task} cells=${held ? { [task.id]: held } : {}} small /></span></span>
    <p><${Line} text=${task.subject} most=${160} /></p>${!isDone && html`<span class="line">${task.owner ? html`<span class="who"><b><${Name} text=${task.owner} /></b><${Vendor} tag=${vendorOf(owner)} /></span>` : html`<span class="dim">nobody yet</span>`}${task.priority && task.priority !== "normal" && html`<span class="push">${task.priority}</span>`}</span>`}
    <${Under} task=${task} merge=${merge} stall=${stall} /></a>`;
});

function Under({ task, merge, stall }) {
  const open = task.blocked_by_open ?? [];
  if (task.state === "blocked" && open.length) return html`<span class="line"><span class="cut">waits for ${open.slice(0, 6).map((id) => `#${id}`).join(" ")}${open.length > 6 ? ` and ${open.length - 6} more` : ""}</span></span>`;
  if (merge?.reason) return html`<span class="line"><span class="cut"><${Line} text=${merge.reason} /></span></span>`;
  if (task.review?.reviewer) return html`<span class="line"><span class="cut"><${Name} text=${task.review.reviewer} /> reviews</span></span>`;
  if (stall) return html`<span class="line"><span class="cut">no progress; ${stall.told === "lead" ? "its lead was told" : "it was told"}</span></span>`;
  if (task.failures) return html`<span class="line"><span>failed ${task.failures} of ${task.max_retries + 1} times</span></span>`;
  return null;
}

function List({ tasks, cells, team }) {
  return html`<section class="panel"><ul class="rows"><${Some} of=${tasks} first=${100} draw=${(task) => html`<li key=${task.id}><${ListRow} task=${task} held=${cells[task.id] ?? ""} team=${team} /></li>`} /></ul></section>`;
}

const ListRow = memo(({ task, held, team }) => html`<a class="done-row row" data-row href=${path(team, "task", task.id)}><span><${TaskState} task=${task} cells=${held ? { [task.id]: held } : {}} /></span><span class="cut">#<${Name} text=${task.id} /> <${Line} text=${task.subject} /></span><span class="by">${task.owner && html`<${Who} name=${task.owner} />`}</span><span class="age right cut">${(task.blocked_by_open ?? []).slice(0, 3).map((id) => `#${id}`).join(" ")}</span></a>`);

