// Small parts of every view: state marks, members, tags of tasks, ages, the strip of cells.

import { plain } from "../hidden.js";
import { now, useTick, world } from "../live.js";
import { path } from "../route.js";
import { lookOf, shownOf, sign, vendorName, vendorOf, word as wordOf } from "../signs.js";
import { clock, epoch, left, span } from "../spans.js";
import { classes, html, memo } from "../view.js";
import { Line, Name } from "./said.js";

export const Mark = ({ g }) => html`<svg class="g" aria-hidden="true"><use href=${`#g-${g}`} /></svg>`;

/** Shape, word and colour of a state. */
export function State({ of, children, small, g, meaning }) {
  const [shape, means] = sign(of);
  return html`<span class=${classes("st", `st-${meaning ?? means}`, small && "sm")}><${Mark} g=${g ?? shape} />${children ?? html`<${Line} text=${wordOf(of)} most=${40} />`}</span>`;
}

/** The state of a task, as the server shows it, with what holds it up besides the board. */
export function TaskState({ task, cells = world.whole?.cells, small }) {
  const { state, word, tone } = shownOf(task), held = task && cells?.[task.id];
  return html`<${State} of=${state} meaning=${tone} small=${small}><${Line} text=${word} most=${40} /></${State}>${held && html` <${State} of=${held} small>${held}</${State}>`}`;
}

export const Vendor = ({ tag }) => tag ? html`<abbr class="vendor" title=${`${tag}: ${vendorName(tag)}`}>${tag}</abbr>` : null;

export function Who({ name, vendor, children }) {
  const tag = vendor ?? vendorOf(memberCalled(name));
  return html`<span class="who"><b title=${plain(name)}><${Name} text=${name} /></b><${Vendor} tag=${tag} />${children}</span>`;
}

/** The same, as a link to the member. */
export const WhoLink = ({ name, vendor }) => memberCalled(name)
  ? html`<a class="who" href=${path(world.team, "agent", name)}><b><${Name} text=${name} /></b><${Vendor} tag=${vendor ?? vendorOf(memberCalled(name))} /></a>`
  : html`<${Who} name=${name} vendor=${vendor} />`;

const byName = new WeakMap();

/** By its name in any case; looked up in a table that is made once for each list. */
export function memberCalled(name, members = world.whole?.snapshot.members) {
  return looked(byName, members, (one) => String(one.name).toLowerCase(), String(name ?? "").toLowerCase());
}

const byId = new WeakMap();
export const taskOf = (id, tasks = world.whole?.snapshot.tasks) => looked(byId, tasks, (one) => String(one.id), String(id));

function looked(tables, list, keyOf, key) {
  if (!list) return undefined;
  if (!tables.has(list)) tables.set(list, new Map(list.map((one) => [keyOf(one), one])));
  return tables.get(list).get(key);
}

export const Tag = ({ id }) => id ? html`<a class="tag" href=${path(world.team, "task", id)}>#<${Name} text=${id} /></a>` : null;
export const Tags = ({ ids }) => (ids ?? []).map((id, at) => html`${at ? " " : ""}<${Tag} id=${id} />`);
export const TaskLink = ({ id }) => html`<a class="link" href=${path(world.team, "task", id)}>#<${Name} text=${id} /> <${Line} text=${taskOf(id)?.subject ?? ""} /></a>`;

const SINCE = { "waits ": "since ", "for ": "since ", "heard of ": "heard of at ", "last heard of ": "last heard of at " };

/** How long ago, counted on while live; the time of day when nobody answers any more. */
export function Age({ at, before = "", after = "" }) {
  useTick();
  const then = epoch(at);
  if (then === null) return html`<span class="age">unknown</span>`;
  const said = world.isLive ? `${before}${span(Math.max(0, now() - then))}${after}` : `${SINCE[before] ?? before}${clock(then)}`;
  return html`<span class="age">${said}</span>`;
}

/** Older signs of life say nothing about now. */
const FRESH = 120;
export const isFresh = (member) => member.heard_at !== null && member.heard_at !== undefined && now() - member.heard_at < FRESH;

/** When a member was heard of last, and by whom. */
export function LastHeard({ at, source = "" }) {
  useTick();
  const by = source ? ` (${source})` : "", isNow = at !== null && at !== undefined && now() - at < FRESH;
  return at === null || at === undefined ? html`<span class="age">never heard of</span>` : html`<${Age} at=${at} before=${isNow ? "heard of " : "last heard of "} after=${` ago${by}`} />`;
}

/** Seconds without output after which the silence is mentioned. */
const SILENT = 60;

/** `, 12 min of 60 min, no output for 8 min`, counted on while live; nothing for a member whose time is not known. */
export function OnTask({ of }) {
  useTick();
  const since = epoch(of.task_since), silent = epoch(of.output_at);
  if (since === null || !world.isLive) return null;
  const silence = silent !== null && now() - silent >= SILENT ? `, no output for ${span(now() - silent)}` : "";
  return html`<span>, ${span(now() - since)}${of.task_limit ? ` of ${span(of.task_limit)}` : ", no limit"}${silence}</span>`;
}

/** A task among those that another waits for or holds up. */
export function TaskRow({ id, cells = world.whole?.cells ?? {} }) {
  const task = taskOf(id);
  return html`<li><a class="task-row" href=${path(world.team, "task", id)}><span><${TaskState} task=${task} cells=${cells} small /></span><span class="t">#<${Name} text=${id} /> <${Line} text=${task?.subject ?? "is not on the board"} most=${120} /></span><span class="dim">${task?.owner ? html`<${Name} text=${task.owner} />` : "nobody yet"}</span></a></li>`;
}
export const TaskRows = ({ ids }) => html`<ul class="task-rows">${ids.map((id) => html`<${TaskRow} key=${id} id=${id} />`)}</ul>`;

/** Counts down; then it counts as denied. */
export function Left({ until, word = "left" }) {
  useTick();
  const then = epoch(until);
  if (then === null) return html`<span class="age">no time is known</span>`;
  const rest = then - now();
  if (!world.isLive) return html`<span class="age">until ${clock(then)}</span>`;
  return html`<span class="age">${rest > 0 ? html`${left(rest)} ${word}` : "expired: denied"}</span>`;
}

// The strip: one cell for each task, or shares of a bar where there are too many to see.

const MOST_CELLS = 60;
const NAMED = { done: "done", merging: "merging", review: "in review", you: "waits for you", broken: "problem", moving: "in progress", ready: "ready", blocked: "blocked", over: "cancelled or left out" };

const shape = {
  done: (x) => html`<rect x=${x} y="1" width="10" height="10" rx="1.500" class="f-proven" />`,
  merging: (x) => html`<rect x=${x + 0.75} y="1.750" width="8.500" height="8.500" rx="1.500" fill="none" class="s-proven" stroke-width="1.500" /><rect x=${x + 3} y="4" width="4" height="4" class="f-proven" />`,
  review: (x) => html`<rect x=${x + 0.75} y="1.750" width="8.500" height="8.500" rx="1.500" fill="none" class="s-moving" stroke-width="1.500" /><rect x=${x + 3} y="4" width="4" height="4" class="f-moving" />`,
  you: (x) => html`<path d=${`M${x + 5} 0 ${x + 11} 6 ${x + 5} 12 ${x - 1} 6Z`} class="f-you" />`,
  broken: (x) => html`<path d=${`M${x + 5} .5 ${x + 10.8} 11.300 ${x - 0.8} 11.300Z`} class="f-broken" />`,
  moving: (x) => html`<rect x=${x} y="1" width="10" height="10" rx="5" class="f-moving" />`,
  ready: (x) => html`<rect x=${x + 0.75} y="1.750" width="8.500" height="8.500" rx="1.500" fill="none" class="s-rest" stroke-width="1.500" />`,
  blocked: (x) => html`<rect x=${x + 0.75} y="1.750" width="8.500" height="8.500" rx="1.500" fill="none" class="s-rest" stroke-width="1.500" stroke-dasharray="2 2" />`,
  over: (x) => html`<path d=${`M${x + 1} 6H${x + 9}`} class="s-rest" fill="none" stroke-width="1.500" />`,
};
const FILLS = { done: "f-proven", merging: "f-proven", review: "f-moving", you: "f-you", broken: "f-broken", moving: "f-moving", ready: "f-line", blocked: "f-rest", over: "f-line" };

export function counted(tasks, cells) {
  const found = { done: 0, merging: 0, review: 0, moving: 0, you: 0, broken: 0, ready: 0, blocked: 0, over: 0 };
  for (const task of tasks) found[lookOf(task, cells)] += 1;
  return found;
}

export const Cells = memo(({ tasks, cells }) => {
  const numbers = counted(tasks, cells);
  const said = `${tasks.length} tasks: ${Object.entries(numbers).filter(([, n]) => n).map(([look, n]) => `${n} ${NAMED[look]}`).join(", ")}`;
  if (!tasks.length) return null;
  if (tasks.length > MOST_CELLS) return html`<${Shares} numbers=${numbers} total=${tasks.length} said=${said} />`;
  return html`<svg class="cells" viewBox=${`-1 0 ${tasks.length * 14 - 2} 12`} preserveAspectRatio="xMaxYMid meet" role="img" aria-label=${said}>
    ${tasks.map((task, at) => html`<g key=${task.id}><title>#${plain(task.id, 40)} ${plain(cells?.[task.id] ?? shownOf(task).word, 40)}</title>${shape[lookOf(task, cells)](at * 14)}</g>`)}</svg>`;
});

function Shares({ numbers, total, said }) {
  let x = 0;
  const parts = Object.entries(numbers).filter(([, n]) => n).map(([look, n]) => {
    const width = 194 * n / total, from = x;
    x += width;
    return html`<rect key=${look} x=${from} y="1" width=${Math.max(1, width - 1)} height="10" class=${FILLS[look]}><title>${n} ${NAMED[look]}</title></rect>`;
  });
  return html`<svg class="cells" viewBox="0 0 194 12" preserveAspectRatio="none" role="img" aria-label=${said}>${parts}</svg>`;
}
