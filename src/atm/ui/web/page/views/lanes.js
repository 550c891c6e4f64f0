// Marks of each member over the team's life, drawn at their natural size: where there is less room, they scroll.

import { plain } from "../hidden.js";
import { clock } from "../spans.js";
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../view.js";
import { kindOf, KINDS } from "./timeline.js";

/** Beside the lanes: names, and the rim behind the end. The slider below has the same. */
const LEFT = 110, RIM = 24, ROW = 30, TOP = 30, LEAST = 640, MOST_LANES = 14;

/** Runs come one after the other: one lane for all of them. */
const laneName = (one) => (one.kind === "run" ? "run" : one.who);

export function Lanes({ life, marks, now, go, children }) {
  const box = useRef(null), wide = useWidth(box), [scrolled, scroll] = useState(0), length = Math.max(1, life.to - life.from), right = wide - RIM;
  const x = (moment) => LEFT + (right - LEFT) * (moment - life.from) / length, place = x(now);
  useLayoutEffect(() => {
    const { scrollLeft, clientWidth, scrollWidth } = box.current;
    if (scrollWidth > clientWidth && (place < scrollLeft + 40 || place > scrollLeft + clientWidth - 40)) box.current.scrollLeft = place - clientWidth / 2;
  }, [place]);
  return html`<div class="lanes" tabindex="0" role="group" aria-label="Marks of each member" ref=${box} onScroll=${() => scroll(box.current.scrollLeft)}><div class="lanes-in"><${Drawing} life=${life} marks=${marks} now=${now} go=${go} x=${x} wide=${wide} length=${length} scrolled=${scrolled} />${children}</div></div>`;
}

/** As wide as there is room, and never narrower than can be read. */
function useWidth(box) {
  const [wide, set] = useState(1184);
  useEffect(() => {
    const watch = new ResizeObserver(() => set(Math.max(LEAST, Math.floor(box.current.clientWidth))));
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  return wide;
}

function Drawing({ life, marks, now, go, x, wide, length, scrolled }) {
  const names = useMemo(() => busiest(marks), [marks]), right = wide - RIM, high = TOP + names.length * ROW + 8, middle = (at) => TOP + at * ROW + ROW / 2;
  const drawn = useMemo(() => names.map((name, at) => html`<g key=${name}><path class="grid" d=${`M${LEFT} ${middle(at)}H${right}`} />${thinned(marks.filter((one) => laneName(one) === name), x).map((one) => html`<g><title>${clock(one.at)} ${plain(one.who, 40)} ${plain(one.what, 160)}</title>${shape(kindOf(one), x(one.at), middle(at))}</g>`)}</g>`), [names, marks, wide]);
  const press = (event) => { const { left } = event.currentTarget.getBoundingClientRect(); go(life.from + length * Math.min(1, Math.max(0, (event.clientX - left - LEFT) / (right - LEFT)))); };
  return html`<svg width=${wide} height=${high} viewBox=${`0 0 ${wide} ${high}`} onClick=${press} role="img" aria-label=${`What ${names.length} members did from ${clock(life.from)} to ${clock(life.to)}`}>${ticks(life, wide).map((moment) => html`<path class="grid" d=${`M${x(moment)} 22V${high - 8}`} /><text class="t" x=${x(moment)} y="14" text-anchor="middle">${clock(moment, { seconds: length < 600 })}</text>`)}${drawn}<rect class="ahead" x=${x(now)} y="20" width=${Math.max(0, right - x(now) + 8)} height=${high - 20} /><line class="head-line" x1=${x(now)} x2=${x(now)} y1="18" y2=${high} />
    <g transform=${`translate(${scrolled} 0)`}>${scrolled > 0 && html`<rect class="behind" y="20" width="64" height=${high - 20} />`}${names.map((name, at) => html`<text key=${name} x=${scrolled ? 4 : 12} y=${middle(at) + 4}>${plain(name, scrolled ? 8 : 13)}</text>`)}</g></svg>`;
}

function busiest(marks) {
  const counts = new Map();
  for (const one of marks) counts.set(laneName(one), (counts.get(laneName(one)) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]).slice(0, MOST_LANES).map(([name]) => name).sort();
}

/** One mark for each place where several would lie upon each other. */
function thinned(marks, x) {
  const seen = new Set();
  return marks.filter((one) => { const key = `${kindOf(one)}${Math.round(x(one.at) / 3)}`; if (seen.has(key)) return false; seen.add(key); return true; });
}

function shape(kind, x, y) {
  if (kind === "approval") return html`<path d=${`M${x} ${y - 7}l7 7-7 7-7-7Z`} class="f-you" />`;
  if (kind === "task") return html`<rect x=${x - 4} y=${y - 8} width="8" height="16" rx="2" class="f-work" />`;
  if (kind === "conflict") return html`<path d=${`M${x - 7} ${y - 6}v12l6-6ZM${x + 7} ${y - 6}v12l-6-6Z`} class="f-broken" />`;
  if (kind === "merge") return html`<circle cx=${x} cy=${y} r="6" class="f-proven" />`;
  if (kind === "run") return html`<path class="tick run" d=${`M${x} ${y - 9}v18`} />`;
  if (kind === "agent") return html`<circle cx=${x} cy=${y} r="3.500" class="tick hollow" />`;
  return html`<path class="tick" d=${`M${x} ${y - 6}v12`} />`;
}

/** Drawn with the very marks of the chart. */
export const Legend = ({ marks }) => html`<ul class="lane-legend lanes-legend">${Object.keys(KINDS).filter((kind) => marks.some((one) => kindOf(one) === kind)).map((kind) => html`<li key=${kind}><svg class="key" viewBox="0 0 18 18" aria-hidden="true">${shape(kind, 9, 9)}</svg>${KINDS[kind][2]}</li>`)}</ul>`;

const STEPS = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200, 86400, 604800];

function ticks({ from, to }, wide) {
  const most = Math.max(4, Math.floor(wide / 120)), step = STEPS.find((one) => (to - from) / one <= most) ?? (to - from) / most, found = [];
  for (let moment = Math.ceil(from / step) * step; moment <= to; moment += step) found.push(moment);
  return found;
}
