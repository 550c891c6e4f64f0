// What waits for what, in steps from left to right. Moved and zoomed with the pointer and with keys.

import { plain } from "../hidden.js";
import { path } from "../route.js";
import { lookOf, shownOf, sign } from "../signs.js";
import { html, useMemo, useRef, useState } from "../view.js";

const NODE = { wide: 240, high: 32, gap: 8, between: 56 };
const MOST = 300;
/** What stands beside the graph. Where there is more room than it needs it is not drawn larger than it is. */
const BESIDE = 300;
const LOOKS = { done: "done", merging: "done", review: "moving", moving: "moving", you: "you", broken: "broken", blocked: "blocked", ready: "", over: "" };
const MEANINGS = { done: "proven", merging: "proven", review: "moving", moving: "moving", you: "you", broken: "broken", blocked: "rest", ready: "rest", over: "rest" };

/** Each task one step behind the last of those it waits for. Circles end where they began. */
export function layout(tasks) {
  const byId = new Map(tasks.map((task) => [task.id, task])), step = new Map();
  const depth = (id, above) => {
    if (step.has(id)) return step.get(id);
    if (above.has(id)) return 0;
    above.add(id);
    const before = (byId.get(id).blocked_by ?? []).filter((one) => byId.has(one));
    const found = before.length ? 1 + Math.max(...before.map((one) => depth(one, above))) : 0;
    above.delete(id);
    step.set(id, found);
    return found;
  };
  for (const task of tasks) depth(task.id, new Set());
  const columns = [];
  for (const task of tasks) (columns[step.get(task.id)] ??= []).push(task);
  return { byId, step, columns: ordered(columns.map((column) => column ?? [])) };
}

/** Tasks beside those they wait for: fewer lines cross. */
function ordered(columns) {
  const row = new Map();
  return columns.map((column) => {
    const place = (task) => {
      const before = (task.blocked_by ?? []).map((id) => row.get(id)).filter((at) => at !== undefined);
      return before.length ? before.reduce((a, b) => a + b, 0) / before.length : 1e9;
    };
    const sorted = column.map((task, at) => [place(task), at, task]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(([, , task]) => task);
    sorted.forEach((task, at) => row.set(task.id, at));
    return sorted;
  });
}

/** The longest way through what is not done: what the end waits for. */
export function longest(tasks, byId) {
  const open = new Set(tasks.filter((task) => task.state !== "completed" && task.state !== "cancelled").map((task) => task.id)), best = new Map();
  const way = (id, above) => {
    if (best.has(id)) return best.get(id);
    if (above.has(id)) return [];
    above.add(id);
    let found = [];
    for (const one of byId.get(id).blocked_by ?? []) if (open.has(one)) { const before = way(one, above); if (before.length > found.length) found = before; }
    above.delete(id);
    best.set(id, [...found, id]);
    return best.get(id);
  };
  let most = [];
  for (const id of open) { const found = way(id, new Set()); if (found.length > most.length) most = found; }
  return most.length > 1 ? most : [];
}

export function Graph({ tasks, cells, team, isTall = false }) {
  const drawn = useMemo(() => linked(tasks), [tasks]);
  const plan = useMemo(() => layout(drawn), [drawn]), way = useMemo(() => longest(drawn, plan.byId), [plan]);
  const size = sizeOf(plan.columns), [view, set] = useState(null), drag = useRef(null), box = useRef(null);
  if (!drawn.length) return html`<section class="panel pad"><p class="dim">No task waits for another.</p></section>`;
  const now = view ?? { x: -2, y: -4, wide: Math.max(size.wide + 4, 560, innerWidth - BESIDE), high: size.high + 8 };
  const zoom = (by) => set({ x: now.x + now.wide * (1 - by) / 2, y: now.y + now.high * (1 - by) / 2, wide: Math.min(60000, Math.max(200, now.wide * by)), high: now.high * by });
  const move = (x, y) => set({ ...now, x: now.x + x * now.wide, y: now.y + y * now.high });
  const onKeyDown = (event) => {
    const does = { ArrowLeft: () => move(-0.1, 0), ArrowRight: () => move(0.1, 0), ArrowUp: () => move(0, -0.1), ArrowDown: () => move(0, 0.1), "+": () => zoom(0.8), "=": () => zoom(0.8), "-": () => zoom(1.25), 0: () => set(null) }[event.key];
    if (does) { does(); event.preventDefault(); }
  };
  const onPointerMove = (event) => {
    if (!drag.current) return;
    const scale = now.wide / box.current.clientWidth;
    set({ ...drag.current.view, x: drag.current.view.x - (event.clientX - drag.current.x) * scale, y: drag.current.view.y - (event.clientY - drag.current.y) * scale });
  };
  const onPointerDown = (event) => { if (event.pointerType === "mouse" && !event.target.closest("a")) { drag.current = { x: event.clientX, y: event.clientY, view: now }; box.current.setPointerCapture(event.pointerId); } };
  const onLong = new Set(way);
  return html`<section class="panel"><header><h2>What waits for what</h2>${tasks.length > drawn.length && html`<span class="dim m">${drawn.length} of ${tasks.length}</span>`}<span class="push dim m not-phone cut">${way.length > 0 && `longest way to the end: ${way.slice(-5).map((id) => `#${plain(id, 12)}`).join(" → ")}`}</span>
      <span class="seg" role="group" aria-label="Zoom"><button type="button" aria-label="Closer" onClick=${() => zoom(0.8)}>+</button><button type="button" aria-label="Farther" onClick=${() => zoom(1.25)}>−</button><button type="button" onClick=${() => set(null)}>All</button></span></header>
    <div class=${isTall ? "pad graph tall" : "pad graph"} ref=${box} tabindex="0" role="group" aria-label="Graph; arrows move it, plus and minus zoom, 0 shows all" onKeyDown=${onKeyDown} onPointerDown=${onPointerDown} onPointerMove=${onPointerMove} onPointerUp=${() => { drag.current = null; }}>
      <svg viewBox=${`${now.x} ${now.y} ${now.wide} ${now.high}`} preserveAspectRatio="xMinYMin meet" aria-label=${`What waits for what: ${drawn.length} tasks`}><${Arrows} />${edges(plan, cells, onLong)}${nodes(plan, cells, team)}</svg></div></section>`;
}

/** Tasks that wait or are waited for; those that are open first if there are too many. */
function linked(tasks) {
  const ids = new Set(tasks.map((task) => task.id)), named = new Set();
  for (const task of tasks) for (const id of task.blocked_by ?? []) if (ids.has(id)) { named.add(id); named.add(task.id); }
  const found = tasks.filter((task) => named.has(task.id));
  if (found.length <= MOST) return found;
  const chosen = new Set(found.filter((task) => task.state !== "completed").slice(0, MOST).map((task) => task.id));
  return found.filter((task) => chosen.has(task.id));
}

const sizeOf = (columns) => ({ wide: columns.length * (NODE.wide + NODE.between) - NODE.between, high: Math.max(1, ...columns.map((column) => column.length)) * (NODE.high + NODE.gap) - NODE.gap });

function places({ columns }) {
  const { high } = sizeOf(columns), found = new Map();
  columns.forEach((column, at) => {
    const own = column.length * (NODE.high + NODE.gap) - NODE.gap, room = column.length > 1 ? Math.min(2.2, high / own) : 1;
    const top = column.length > 1 ? Math.max(0, (high - own * room) / 2) : (high - NODE.high) / 2;
    column.forEach((task, row) => found.set(task.id, { x: at * (NODE.wide + NODE.between), y: top + row * (NODE.high + NODE.gap) * room }));
  });
  return found;
}

const Arrows = () => html`<defs>${[["arrow", "f-rest"], ["arrow-met", "f-proven"], ["arrow-long", "f-ink"]].map(([id, look]) => html`<marker id=${id} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 .5 7 4 0 7.500Z" class=${look} /></marker>`)}</defs>`;

function edges(plan, cells, onLong) {
  const at = places(plan), made = [];
  for (const task of plan.byId.values()) for (const id of task.blocked_by ?? []) {
    const from = at.get(id), to = at.get(task.id);
    if (!from || !to) continue;
    const kind = onLong.has(id) && onLong.has(task.id) ? "long" : lookOf(plan.byId.get(id), cells) === "done" ? "met" : "";
    const x = from.x + NODE.wide, y = from.y + NODE.high / 2, x2 = to.x - 6, y2 = to.y + NODE.high / 2, flat = Math.max(x, x2 - NODE.between);
    made.push([kind === "long", html`<path class=${`edge ${kind}`} d=${`M${x} ${y} H${flat} C${flat + 28} ${y} ${x2 - 28} ${y2} ${x2} ${y2}`} marker-end=${`url(#arrow${kind && `-${kind}`})`} />`]);
  }
  return made.sort((a, b) => a[0] - b[0]).map(([, edge]) => edge);
}

const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

function nodes(plan, cells, team) {
  const at = places(plan);
  return [...plan.byId.values()].map((task) => {
    const { x, y } = at.get(task.id), look = lookOf(task, cells), [shape] = sign(cells[task.id] ?? shownOf(task).state), owner = task.owner ? cut(plain(task.owner, 60), 10) : "";
    const id = `#${plain(task.id, 12)}`, beyond = x + 37 + id.length * 7.6, room = Math.floor((x + NODE.wide - beyond - owner.length * 7.4 - 16) / 6.9);
    return html`<a key=${task.id} href=${path(team, "task", task.id)}><g class=${`node ${LOOKS[look]}`}><title>${id} ${plain(task.subject)}${owner && `, ${owner}`}</title><rect x=${x} y=${y} width=${NODE.wide} height=${NODE.high} rx="5" /><svg class=${`g st-${MEANINGS[look]}`} x=${x + 10} y=${y + 9} width="14" height="14"><use href=${`#g-${shape}`} /></svg>
      <text class="id" x=${x + 31} y=${y + 20.5}>${id}</text><text x=${beyond} y=${y + 20.5}>${cut(plain(task.subject, 120), Math.max(4, room))}</text><text class="own" x=${x + NODE.wide - 10} y=${y + 20.5}>${owner}</text></g></a>`;
  });
}
