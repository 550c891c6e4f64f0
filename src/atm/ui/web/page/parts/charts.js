// Charts: ink on paper. What nobody knows is a gap or a dashed line, never zero.

import { percents } from "../spans.js";
import { html, useEffect, useRef } from "../view.js";

const WIDE = 150, HIGH = 22;

/** Bars or a line in a row of its own: name, picture, figure. */
export function Spark({ name, values, figure, isLine = false }) {
  const known = (values ?? []).filter((value) => value !== null);
  const top = Math.max(1e-9, ...known);
  const drawing = !known.length ? html`<path d=${`M0 ${HIGH / 2}h${WIDE}`} class="s-rest" stroke-width="1.500" stroke-dasharray="2 2.500" />`
    : isLine ? line(values, top) : bars(values, top);
  return html`<div class="spark"><span>${name}</span><svg viewBox=${`0 0 ${WIDE} ${HIGH}`} preserveAspectRatio="none" aria-hidden="true">${drawing}</svg><b>${figure}</b></div>`;
}

function bars(values, top) {
  const step = WIDE / values.length;
  return html`${values.map((value, at) => {
    const high = value ? Math.max(1.5, 20 * value / top) : 0;
    return high ? html`<rect x=${(at * step + 0.4).toFixed(2)} y=${(HIGH - high).toFixed(2)} width=${Math.max(0.6, step - 1.2).toFixed(2)} height=${high.toFixed(2)} />` : null;
  })}<rect x="0" y=${HIGH - 0.6} width=${WIDE} height=".6" />`;
}

/** Gaps in what is known are gaps in the line. */
function line(values, top) {
  const step = values.length > 1 ? WIDE / (values.length - 1) : WIDE;
  const runs = [];
  let run = [];
  values.forEach((value, at) => {
    if (value === null) { if (run.length) runs.push(run); run = []; }
    else run.push([at * step, HIGH - 1 - 19 * value / top]);
  });
  if (run.length) runs.push(run);
  return runs.map((points) => {
    const said = points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join(" ");
    const [from] = points[0], [to] = points.at(-1);
    if (points.length === 1) return html`<rect x=${from} y=${points[0][1]} width="2" height=${HIGH - points[0][1]} />`;
    return html`<path class="a" d=${`M${said} ${to.toFixed(1)} ${HIGH} ${from.toFixed(1)} ${HIGH}Z`} /><path class="l" d=${`M${said}`} />`;
  });
}

/** Shares of a whole, with hatching: read without colour. `of`: [name, number, fill class or pattern] */
export function Share({ of, label }) {
  const total = of.reduce((sum, [, n]) => sum + n, 0) || 1, shown = of.filter(([, n]) => n), shares = percents(shown.map(([, n]) => n));
  let x = 0;
  const look = (fill) => (fill.startsWith("url") ? { fill } : { class: fill });
  return html`<svg class="share" viewBox="0 0 292 14" preserveAspectRatio="none" role="img" aria-label=${label}>${shown.map(([name, n, fill]) => {
    const width = 292 * n / total, from = x;
    x += width;
    return html`<rect x=${from} y="0" width=${Math.max(1, width - 1.5)} height="14" ...${look(fill)}><title>${name} ${n}</title></rect>`;
  })}</svg><ul class="legend">${shown.map(([name, n, fill], at) => html`<li><svg class="sw" viewBox="0 0 12 10" aria-hidden="true"><rect width="12" height="10" ...${look(fill)} /></svg><span>${name}</span><span class="m">${n}</span><b>${shares[at]}%</b></li>`)}</ul>`;
}

/** `of`: [name, amount or null]. Those who do not say are one dashed line. */
export function Bars({ of, figure }) {
  const known = of.filter(([, amount]) => amount !== null && amount !== undefined).sort((a, b) => b[1] - a[1]);
  const unknown = of.filter(([, amount]) => amount === null || amount === undefined), top = Math.max(1e-9, ...known.map(([, amount]) => amount));
  return html`<ul class="cost">${known.slice(0, 12).map(([name, amount]) => html`<li key=${name}><span class="cut"><bdi>${name}</bdi></span><svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect width="100" height="6" class="f-line" /><rect width=${100 * amount / top} height="6" class="f-rest" /></svg><span class="m">${figure(amount)}</span></li>`)}
    ${unknown.length > 0 && html`<li><span class="cut" title=${unknown.map(([name]) => name).join(", ").slice(0, 300)}><bdi>${unknown.length > 2 ? `${unknown.length} others` : unknown.map(([name]) => name).join(", ")}</bdi></span><svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><path d="M0 3h100" class="s-rest" stroke-width="1.500" stroke-dasharray="2 2.500" /></svg><span class="m dim">unknown</span></li>`}</ul>`;
}

/** Lines are told apart by how they are drawn, not by colour. */
const DASHES = [undefined, [6, 4], [2, 3]];

/** Which line is what, drawn as in the chart, with what it comes to. `series`: [label, values, said, total] */
export const Lines = ({ series }) => html`<ul class="lane-legend lines">${series.map(([name, , , total], at) => html`<li key=${name}><svg class="sample" viewBox="0 0 28 8" aria-hidden="true"><path d="M0 4h28" stroke-dasharray=${DASHES[at]?.join(" ")} /></svg><span>${name}</span><b>${total}</b></li>`)}</ul>`;

/** A chart over time. `series`: [label, values, said] */
export function Chart({ from, step, series, height = 150, label }) {
  const box = useRef(null);
  useEffect(() => {
    let plot = null, isHere = true;
    const draw = async () => {
      const { default: Plot } = await import("../vendor/uplot.js");
      if (!isHere || !box.current) return;
      plot?.destroy();
      plot = new Plot(options(box.current, series, height), [series[0][1].map((_, at) => from + at * step), ...series.map(([, values]) => values)], box.current);
    };
    const wide = new ResizeObserver(() => plot?.setSize({ width: box.current.clientWidth, height }));
    const theme = new MutationObserver(draw), dark = matchMedia("(prefers-color-scheme: dark)");
    draw();
    wide.observe(box.current);
    theme.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    dark.addEventListener("change", draw);
    return () => { isHere = false; wide.disconnect(); theme.disconnect(); dark.removeEventListener("change", draw); plot?.destroy(); };
  }, [from, step, series.map(([name, values]) => `${name}${values.join()}`).join(";")]);
  return html`<div class="chart" ref=${box} role="img" aria-label=${label}></div>`;
}

function options(box, series, height) {
  const ink = colours(box);
  const says = series[0][2];
  const axis = { stroke: ink.dim, grid: { stroke: ink.line, width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif", size: 40 };
  return {
    width: box.clientWidth, height, cursor: { show: false }, legend: { show: false },
    axes: [{ ...axis, size: 26, values: [[3600, "{HH}:{mm}", null, null, null, null, null, null, 1], [60, "{HH}:{mm}", null, null, null, null, null, null, 1], [1, "{HH}:{mm}:{ss}", null, null, null, null, null, null, 1]] }, { ...axis, size: 52, values: (_, splits) => splits.map(says) }],
    scales: { y: { range: (_, __, top) => [0, top > 0 ? top * 1.1 : 1] } },
    series: [{}, ...series.map(([name], at) => ({ label: name, stroke: ink.ink, width: 1.5, dash: DASHES[at], points: { show: false } }))],
  };
}

/** Colours are tokens; the canvas wants them resolved. */
function colours(box) {
  const probe = document.createElement("i");
  probe.className = "probe";
  box.append(probe);
  const style = getComputedStyle(probe);
  const found = { ink: style.color, dim: style.borderTopColor, line: style.borderBottomColor };
  probe.remove();
  return found;
}
