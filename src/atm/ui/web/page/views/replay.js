// The team at any moment, from ledger and history. Nothing can be changed here.

import { teamPath } from "../api.js";
import { useOnce, world } from "../live.js";
import { path } from "../route.js";
import { clock, epoch, span } from "../spans.js";
import { html, useEffect, useMemo, useRef, useState } from "../view.js";
import { isTyping } from "../keys.js";
import { Some } from "../parts/lists.js";
import { shownOf } from "../signs.js";
import { Cells, State, TaskState } from "../parts/marks.js";
import { Command, Line, Name, readable } from "../parts/said.js";
import { Lanes, Legend } from "./lanes.js";
import { Happening, kindOf } from "./timeline.js";

/** Nothing holds up a task of the past besides the board. */
const NONE = {};
const SPEEDS = [1, 10, 60, 600];

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
  const stepTo = (by, among = marks) => {
    const found = by > 0 ? among.find((one) => one.at > now + 0.01) : among.findLast((one) => one.at < now - 0.01);
    if (found || among === marks) set(found ? found.at : by > 0 ? life.to : life.from);
  };
  const leap = (by) => set(Math.min(life.to, Math.max(life.from, now + by * (life.to - life.from) / 10)));
  useArrows(life && now !== null, (by, isFar) => { play(false); if (isFar) leap(by); else stepTo(by); });
  if (read.error) return html`<div class="empty"><h1>There is nothing to replay</h1><p class="lead">${readable(read.error.message)}</p></div>`;
  if (!life || now === null) return html`<div class="empty"><p class="dim">Reading ledger and history…</p></div>`;
  const shared = sharedSeconds(marks), conflicts = marks.filter((one) => kindOf(one) === "conflict"), said = clock(now, { tenths: shared.has(Math.floor(now)), today: world.whole?.now });
  const begin = () => { if (!isPlaying && now >= life.to) set(life.from); play(!isPlaying); };
  return html`<div class="banner replay"><${State} of="review" meaning="rest">Replay</${State}><span>You see the team at <time>${said}</time>, ${before((world.whole?.now ?? life.to) - now)}. Nothing can be changed here.</span><a class="btn push" href=${path(team)}>Back to now</a></div>
    <${Then} seen=${seen.value} team=${team} />
    <div class="page"><section class="panel"><header><h2>The team’s life</h2><span class="dim not-phone">${marks.length.toLocaleString("en")} marks from ledger, history and audit</span><span class="push"></span><${Legend} marks=${marks} /></header>
      <${Lanes} life=${life} marks=${marks} now=${now} go=${set}><span class="range"><input type="range" min="0" max="1000" step="any" aria-label="Moment" aria-valuetext=${said} value=${1000 * (now - life.from) / Math.max(1, life.to - life.from)} onInput=${(event) => { play(false); set(life.from + (life.to - life.from) * Number(event.currentTarget.value) / 1000); }} /></span></${Lanes}>
      <div class="scrub"><button class="btn" type="button" onClick=${begin}>${isPlaying ? "❚❚ Pause" : "▶ Play"}</button><button class="btn" type="button" aria-label="One mark back" onClick=${() => stepTo(-1)}>←</button><button class="btn" type="button" aria-label="One mark on" onClick=${() => stepTo(1)}>→</button>${conflicts.length > 0 && html`<button class="btn" type="button" disabled=${!conflicts.some((one) => one.at < now - 0.01)} onClick=${() => stepTo(-1, conflicts)}>Previous conflict</button><button class="btn" type="button" disabled=${!conflicts.some((one) => one.at > now + 0.01)} onClick=${() => stepTo(1, conflicts)}>Next conflict</button>`}<span class="m big-m">${said}</span><span class="dim not-phone">← → mark to mark, Shift: a tenth</span><span class="push"></span><div class="seg" role="group" aria-label="Speed">${SPEEDS.map((times) => html`<button type="button" aria-pressed=${String(speed === times)} onClick=${() => setSpeed(times)}>${times}×</button>`)}</div></div></section>
      <${AsItWas} seen=${seen.value} error=${seen.error} team=${team} said=${said} shared=${shared} /></div>`;
}

/** ← and → wherever the focus is, but not where somebody types. */
function useArrows(isOn, step) {
  const last = useRef(step);
  last.current = step;
  useEffect(() => {
    if (!isOn) return undefined;
    const onKey = (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!by || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || document.querySelector("dialog[open]")) return;
      event.preventDefault();
      last.current(by, event.shiftKey);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [Boolean(isOn)]);
}

/** Seconds in which more than one thing happened: there tenths are said, too. */
function sharedSeconds(marks) {
  const seen = new Map();
  for (const { at } of marks) seen.set(Math.floor(at), (seen.get(Math.floor(at)) ?? new Set()).add(at));
  return new Set([...seen].filter(([, times]) => times.size > 1).map(([second]) => second));
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
  return html`<div class="strip"><h1><${Name} text=${team} /></h1><span class="goal cut not-phone">as it was</span><span class="fact cells-box"><${Cells} tasks=${tasks} cells=${NONE} /></span><span class="fact"><b>${done}</b> of ${tasks.length}<span class="not-phone"> done</span></span></div>`;
}

function AsItWas({ seen, error, team, said, shared }) {
  if (error) return html`<section class="panel pad"><p class="dim">${readable(error.message)}</p></section>`;
  if (!seen) return html`<p class="dim">Reading…</p>`;
  const waits = (seen.approvals ?? []).filter((one) => one.state === "waiting" || one.state === "asked" || one.state === "pending"), of = (...states) => (seen.tasks ?? []).filter((task) => states.includes(shownOf(task).state));
  const line = (state, word, said) => html`<dt><${State} of=${state} small>${word}</${State}></dt><dd>${said}</dd>`;
  const list = (tasks) => tasks.length ? html`${tasks.slice(0, 8).map((task, at) => html`${at ? ", " : ""}${task.owner && html`<${Name} text=${task.owner} /> `}#<${Name} text=${task.id} />`)}${tasks.length > 8 ? ` and ${tasks.length - 8} more` : ""}` : "nothing";
  return html`<div class="three"><section class="panel"><header><h2>At ${said}</h2><span class="push m dim">as it was</span></header><div class="pad"><dl class="kv">${line("you", "needed you", waits.length ? `${waits.length} requests` : "nobody")}${line("conflict", "in conflict", list(of("conflict", "not_merged")))}${line("failed", "not done", list(of("failed", "cancelled", "unreachable", "unreadable")))}${line("working", "in progress", list(of("in_progress", "planning", "plan_waits", "question")))}${line("review", "review", list(of("review")))}${line("blocked", "blocked", `${of("blocked").length}`)}${line("done", "done", `${(seen.tasks ?? []).filter((task) => task.state === "completed").length} of ${(seen.tasks ?? []).length}, ${of("merged").length} merged`)}</dl>
      ${waits.slice(0, 4).map((one) => html`<p class="m"><b><${Name} text=${one.requester} /></b> asked</p><${Command} text=${one.command} />`)}</div></section>
    <section class="panel"><header><h2>Before that moment</h2></header><div class="pad"><ul class="feed wide-time"><${Some} of=${[...(seen.happened ?? [])].reverse()} first=${12} what="earlier" draw=${(one, at) => html`<${Happening} key=${at} one=${one} team=${team} isReplayed tenths=${shared.has(Math.floor(one.at))} />`} /></ul>${!seen.happened?.length && html`<p class="dim m">Nothing had happened.</p>`}</div></section>
    <section class="panel"><header><h2>The board</h2><span class="push m dim">${(seen.tasks ?? []).length} tasks</span></header><div class="pad then-tasks"><ul><${Some} of=${seen.tasks ?? []} first=${40} draw=${(task) => html`<li key=${task.id}><span><${TaskState} task=${task} cells=${NONE} small /></span><span class="cut">#<${Name} text=${task.id} /> <${Line} text=${task.subject} /></span></li>`} /></ul><dl class="kv">${(seen.members ?? []).slice(0, 20).map((one) => html`<dt><${Name} text=${one.name} /></dt><dd>${one.state ?? "unknown"}, ${one.unread === null || one.unread === undefined ? "mail unknown" : `${one.unread} unread`}</dd>`)}</dl></div></section></div>`;
}
