// The team at any moment, from ledger and history. Nothing can be changed here.

import { teamPath } from "../api.js";
import { useOnce, world } from "../live.js";
import { path } from "../route.js";
import { clock, epoch, span } from "../spans.js";
import { html, useEffect, useMemo, useRef, useState } from "../view.js";
import { plain } from "../hidden.js";
import { Cells, Mark, State } from "../parts/marks.js";
import { Command, Line, Name } from "../parts/said.js";
import { Happening, kindOf, KINDS } from "./timeline.js";

const SPEEDS = [1, 10, 60, 600];
const LEFT = 110, RIGHT = 1160, ROW = 30, MOST_LANES = 14;

export function Replay({ team, at, go }) {
  const read = useOnce(teamPath(team, "/replay")), [moment, set] = useState(null), [isPlaying, play] = useState(false), [chosen, setSpeed] = useState(0);
  const marks = useMemo(() => [...(read.value?.marks ?? [])].sort((a, b) => a.at - b.at), [read.value]), life = useMemo(() => lifeOf(read.value, marks), [marks]);
  const speed = chosen || SPEEDS.find((times) => life && (life.to - life.from) / times <= 40) || SPEEDS.at(-1);
  const now = moment ?? (life ? Math.min(life.to, Math.max(life.from, epoch(at) ?? life.to)) : null);
  const settled = useSettled(now, 120), seen = useOnce(teamPath(team, `/at?moment=${settled}`), settled !== null);
  useEffect(() => { if (settled !== null && moment !== null) history.replaceState(null, "", `${path(team, "replay")}?at=${new Date(settled * 1000).toISOString()}`); }, [settled]);
  useEffect(() => {
    if (!isPlaying || !life) return undefined;
    const timer = setInterval(() => set((was) => { const next = (was ?? life.from) + speed / 4; if (next >= life.to) { play(false); return life.to; } return next; }), 250);
    return () => clearInterval(timer);
  }, [isPlaying, speed, life]);
  if (read.error) return html`<div class="empty"><h1>There is nothing to replay</h1><p class="lead">${read.error.message}</p></div>`;
  if (!life || now === null) return html`<div class="empty"><p class="dim">Reading ledger and history…</p></div>`;
  const conflicts = marks.filter((one) => kindOf(one) === "conflict");
  const stepTo = (by) => {
    const found = by > 0 ? marks.find((one) => one.at > now + 0.01) : marks.findLast((one) => one.at < now - 0.01);
    set(found ? found.at : by > 0 ? life.to : life.from);
  };
  const onKeyDown = (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    if (event.shiftKey) set(Math.min(life.to, Math.max(life.from, now + by * 600))); else stepTo(by);
  };
  const begin = () => { if (!isPlaying && now >= life.to) set(life.from); play(!isPlaying); };
  return html`<div class="banner replay"><${State} of="review" meaning="rest">Replay</${State}><span>You see the team at <time>${clock(now, { today: world.whole?.now })}</time>, ${before((world.whole?.now ?? life.to) - now)}. Nothing can be changed here.</span><a class="btn push" href=${path(team)}>Back to now</a></div>
    <${Then} seen=${seen.value} team=${team} />
    <div class="page"><section class="panel"><header><h2>The team’s life</h2><span class="dim not-phone">${marks.length.toLocaleString("en")} marks from ledger, history and audit</span><ul class="lane-legend push not-phone">${Object.keys(KINDS).filter((kind) => marks.some((one) => kindOf(one) === kind)).map((kind) => html`<li><span class=${`st st-${KINDS[kind][1]} sm`}><${Mark} g=${KINDS[kind][0]} />${KINDS[kind][2]}</span></li>`)}</ul></header>
      <div class="lanes" tabindex="0" role="group" aria-label="Marks of each member"><div class="lanes-in"><${Lanes} life=${life} marks=${marks} now=${now} go=${set} /></div></div><span class="range"><input type="range" min="0" max="1000" step="any" aria-label="Moment" aria-valuetext=${clock(now)} value=${1000 * (now - life.from) / Math.max(1, life.to - life.from)} onInput=${(event) => { play(false); set(life.from + (life.to - life.from) * Number(event.currentTarget.value) / 1000); }} onKeyDown=${onKeyDown} /></span>
      <div class="scrub"><button class="btn" type="button" onClick=${begin}>${isPlaying ? "❚❚ Pause" : "▶ Play"}</button><button class="btn" type="button" aria-label="One mark back" onClick=${() => stepTo(-1)}>←</button><button class="btn" type="button" aria-label="One mark on" onClick=${() => stepTo(1)}>→</button><span class="m big-m">${clock(now, { today: world.whole?.now })}</span>${conflicts.length > 0 && html`<button class="btn" type="button" onClick=${() => { play(false); set((conflicts.find((one) => one.at > now + 0.01) ?? conflicts[0]).at); }}><span class="st st-broken"><${Mark} g="conflict" />${conflicts.length === 1 ? "To the conflict" : `To the next of ${conflicts.length} conflicts`}</span></button>`}<span class="dim not-phone">← → go from mark to mark, Shift ten minutes</span><span class="push"></span><div class="seg" role="group" aria-label="Speed">${SPEEDS.map((times) => html`<button type="button" aria-pressed=${String(speed === times)} onClick=${() => setSpeed(times)}>${times}×</button>`)}</div></div></section>
      <${AsItWas} seen=${seen.value} error=${seen.error} team=${team} now=${now} /></div>`;
}

/** From the first thing that happened to the last: a team that rests since is not mostly nothing. */
function lifeOf(said, marks) {
  if (!said) return null;
  if (!marks.length) return { from: said.from, to: said.to };
  const from = marks[0].at, to = marks.at(-1).at, rim = Math.max(0.5, (to - from) * 0.02);
  return { from: from - rim, to: Math.max(from + 1, Math.min(said.to, to + rim)) };
}

const before = (seconds) => (seconds < 2 ? "just now" : `${span(seconds)} ago`);

/** The value once it has not moved for a moment: not every place the slider passes is asked for. */
function useSettled(value, wait) {
  const [settled, set] = useState(null), first = useRef(true);
  useEffect(() => {
    if (value === null) return undefined;
    const timer = setTimeout(() => set(Math.round(value * 1000) / 1000), first.current ? 0 : wait);
    first.current = false;
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

function Then({ seen, team }) {
  const tasks = seen?.tasks ?? [], done = tasks.filter((task) => task.state === "completed").length;
  return html`<div class="strip"><h1><${Name} text=${team} /></h1><span class="goal cut not-phone">as it was</span><span class="fact cells-box"><${Cells} tasks=${tasks} cells=${{}} /></span><span class="fact"><b>${done}</b> of ${tasks.length}<span class="not-phone"> done</span></span></div>`;
}

/** Runs come one after the other: one lane for all of them. */
const laneName = (one) => (one.kind === "run" ? "run" : one.who);

function Lanes({ life, marks, now, go }) {
  const names = useMemo(() => {
    const counts = new Map();
    for (const one of marks) counts.set(laneName(one), (counts.get(laneName(one)) ?? 0) + 1);
    return [...counts].sort((a, b) => b[1] - a[1]).slice(0, MOST_LANES).map(([name]) => name).sort();
  }, [marks]);
  const length = Math.max(1, life.to - life.from), x = (moment) => LEFT + (RIGHT - LEFT) * (moment - life.from) / length, high = 30 + names.length * ROW + 8;
  const drawn = useMemo(() => names.map((name, at) => html`<g key=${name}><text x="12" y=${30 + at * ROW + 19}>${plain(name, 13)}</text><path class="grid" d=${`M${LEFT} ${30 + at * ROW + 15}H${RIGHT}`} />${thinned(marks.filter((one) => laneName(one) === name), x).map((one) => mark(one, x(one.at), 30 + at * ROW + 15))}</g>`), [names, marks]);
  const press = (event) => { const box = event.currentTarget.getBoundingClientRect(), at = 1184 * (event.clientX - box.left) / box.width; go(life.from + length * Math.min(1, Math.max(0, (at - LEFT) / (RIGHT - LEFT)))); };
  return html`<svg viewBox=${`0 0 1184 ${high}`} onClick=${press} role="img" aria-label=${`What ${names.length} members did from ${clock(life.from)} to ${clock(life.to)}`}>${ticks(life).map((moment) => html`<path class="grid" d=${`M${x(moment)} 22V${high - 8}`} /><text class="t" x=${x(moment)} y="14" text-anchor="middle">${clock(moment, { seconds: length < 600 })}</text>`)}${drawn}<rect class="ahead" x=${x(now)} y="20" width=${Math.max(0, RIGHT - x(now) + 8)} height=${high - 20} /><line class="head-line" x1=${x(now)} x2=${x(now)} y1="18" y2=${high} /></svg>`;
}

/** One mark for each place where several would lie upon each other. */
function thinned(marks, x) {
  const seen = new Set();
  // What one looks for lies above the rest.
  return [...marks].sort((a, b) => (kindOf(a) === "conflict") - (kindOf(b) === "conflict")).filter((one) => { const key = `${kindOf(one)}${Math.round(x(one.at) / 3)}`; if (seen.has(key)) return false; seen.add(key); return true; });
}

function mark(one, x, y) {
  const said = html`<title>${clock(one.at)} ${plain(one.who, 40)} ${plain(one.what, 160)}</title>`;
  if (one.kind === "approval") return html`<g>${said}<path d=${`M${x} ${y - 7}l7 7-7 7-7-7Z`} class="f-you" /></g>`;
  if (one.kind === "task") return html`<g>${said}<rect x=${x - 4} y=${y - 8} width="8" height="16" rx="2" class="f-work" /></g>`;
  if (kindOf(one) === "conflict") return html`<g>${said}<path d=${`M${x - 7} ${y - 6}v12l6-6ZM${x + 7} ${y - 6}v12l-6-6Z`} class="f-broken" /></g>`;
  if (one.kind === "merge") return html`<g>${said}<circle cx=${x} cy=${y} r="6" class="f-proven" /></g>`;
  return html`<g>${said}<path class="tick" d=${`M${x} ${y - 6}v12`} /></g>`;
}

function ticks({ from, to }) {
  const step = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200, 86400, 604800].find((one) => (to - from) / one <= 9) ?? (to - from) / 8, found = [];
  for (let moment = Math.ceil(from / step) * step; moment <= to; moment += step) found.push(moment);
  return found;
}

function AsItWas({ seen, error, team, now }) {
  if (error) return html`<section class="panel pad"><p class="dim">${error.message}</p></section>`;
  if (!seen) return html`<p class="dim">Reading…</p>`;
  const waits = (seen.approvals ?? []).filter((one) => one.state === "waiting" || one.state === "asked" || one.state === "pending"), of = (...states) => (seen.tasks ?? []).filter((task) => states.includes(task.state));
  const line = (state, word, said) => html`<dt><${State} of=${state} small>${word}</${State}></dt><dd>${said}</dd>`;
  const list = (tasks) => tasks.length ? html`${tasks.slice(0, 8).map((task, at) => html`${at ? ", " : ""}${task.owner && html`<${Name} text=${task.owner} /> `}#<${Name} text=${task.id} />`)}${tasks.length > 8 ? ` and ${tasks.length - 8} more` : ""}` : "nothing";
  const isBad = (one) => /conflict|failed/.test(one.status), merges = seen.merges ?? [];
  return html`<div class="three"><section class="panel"><header><h2>At ${clock(now)}</h2><span class="push m dim">as it was</span></header><div class="pad"><dl class="kv">${line("you", "needed you", waits.length ? `${waits.length} requests` : "nobody")}${line("conflict", "in conflict", merges.filter(isBad).length ? merges.filter(isBad).map((one, at) => html`${at ? ", " : ""}#<${Name} text=${one.task} />`) : "nothing")}${line("working", "in progress", list(of("in_progress", "planning")))}${line("review", "review", list(of("review")))}${line("blocked", "blocked", `${of("blocked").length}`)}${line("done", "done", `${of("completed").length} of ${(seen.tasks ?? []).length}, ${merges.filter((one) => one.status === "merged").length} merged`)}</dl>
      ${waits.slice(0, 4).map((one) => html`<p class="m"><b><${Name} text=${one.requester} /></b> asked</p><${Command} text=${one.command} />`)}</div></section>
    <section class="panel"><header><h2>Before that moment</h2></header><div class="pad"><ul class="feed wide-time">${[...(seen.happened ?? [])].reverse().slice(0, 14).map((one, at) => html`<${Happening} key=${at} one=${one} team=${team} isReplayed />`)}</ul>${!seen.happened?.length && html`<p class="dim m">Nothing had happened.</p>`}</div></section>
    <section class="panel"><header><h2>The board</h2><span class="push m dim">${(seen.tasks ?? []).length} tasks</span></header><div class="pad then-tasks"><ul>${(seen.tasks ?? []).slice(0, 60).map((task) => html`<li key=${task.id}><${State} of=${task.state} small /><span class="cut">#<${Name} text=${task.id} /> <${Line} text=${task.subject} /></span></li>`)}</ul><dl class="kv">${(seen.members ?? []).slice(0, 20).map((one) => html`<dt><${Name} text=${one.name} /></dt><dd>${one.state ?? "unknown"}, ${one.unread === null || one.unread === undefined ? "mail unknown" : `${one.unread} unread`}</dd>`)}</dl></div></section></div>`;
}
