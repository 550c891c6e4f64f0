// The rail: queued → written → surfaced → read → answered. Solid is proven, dotted is not yet.

import { epoch, clock } from "../spans.js";
import { classes, html } from "../view.js";
import { Mark } from "./marks.js";
import { Said } from "./said.js";

export const STOPS = ["queued", "written", "surfaced", "read", "answered"];
const WORDS = { yes: "proven", no: "not yet", unneeded: "not needed", unknown: "unknown" };
const WITHOUT = {
  queued: { unneeded: "it went straight to the inbox", no: "it does not wait in the spool" }, written: { no: "not in an inbox yet" },
  surfaced: { no: "not put into a context yet" }, read: { no: "nothing shows that it was read" }, answered: { no: "nobody answered yet" },
};

const standOf = (message, stop) => message.stands?.[stop] ?? "unknown";

/** What proves a stop: the last of those to whom it went. */
function proofs(message, stop) {
  return Object.entries(message.journeys ?? {}).map(([who, journey]) => [who, journey?.[stop]]).filter(([, event]) => event);
}

function glyph(stop, stand) {
  if (stand === "yes") return stop === "answered" ? "answered" : "proven";
  return { no: "open", unneeded: "skipped" }[stand] ?? "q";
}

/** Five stops with times and evidence, under a message. */
export function Rail({ message }) {
  const stands = STOPS.map((stop) => standOf(message, stop));
  const latest = stands.lastIndexOf("yes");
  return html`<ol class="rail" aria-label="Receipts">${STOPS.map((stop, at) => {
    const stand = stands[at], found = proofs(message, stop), times = found.map(([, event]) => epoch(event.at)).filter((time) => time !== null);
    const kind = stand === "yes" ? (stop === "answered" ? "answered" : "proven") : { no: "open", unneeded: "skipped" }[stand] ?? "unknown";
    const dotted = at + 1 < STOPS.length && (stands[at + 1] === "no" || stands[at + 1] === "unknown");
    return html`<li key=${stop} class=${classes("stop", kind, at === latest && "latest", dotted && "to-open")} tabindex="0">
      <span class="stop-box"><${Mark} g=${glyph(stop, stand)} /><b>${stop}</b>${stand === "yes" && times.length ? html`<time>${clock(Math.max(...times))}</time>` : html`<span>${WORDS[stand] ?? "unknown"}</span>`}</span>
      <span class="evidence"><i>${stop}:</i> ${evidence(stop, stand, found)}</span></li>`;
  })}</ol>`;
}

function evidence(stop, stand, found) {
  if (!found.length) return WITHOUT[stop]?.[stand] ?? WORDS[stand] ?? "unknown";
  return found.slice(0, 4).map(([who, event], at) => html`${at ? "; " : ""}${found.length > 1 && html`<${Said} text=${who} most=${60} />: `}<${Said} text=${event.evidence || "no evidence was written down"} most=${400} />`);
}

/** The same as five dots, in lists. */
export function Mini({ message }) {
  const stands = STOPS.map((stop) => standOf(message, stop));
  const said = STOPS.map((stop, at) => `${stop} ${WORDS[stands[at]] ?? "unknown"}`).join(", ");
  return html`<svg class="mini" viewBox="0 0 58 10" role="img" aria-label=${said}><title>${said}</title>${STOPS.map((stop, at) => html`${at < 4 && line(at, stands[at + 1])}${dot(stop, at, stands[at])}`)}</svg>`;
}

const line = (at, next) => next === "yes" || next === "unneeded"
  ? html`<path d=${`M${9 + 12 * at} 5h4`} class="s-ink" stroke-width="1.500" />`
  : html`<path d=${`M${9 + 12 * at} 5h4`} class="s-rest" stroke-width="1.500" stroke-dasharray="1.500 2" />`;

function dot(stop, at, stand) {
  const x = 5 + 12 * at;
  if (stand === "yes" && stop === "answered") return html`<circle cx=${x} cy="5" r="4.200" class="f-proven" /><path d=${`M${x - 2} 5.100 ${x - 0.5} 6.600 ${x + 2} 3.500`} fill="none" class="s-surface" stroke-width="1.200" />`;
  if (stand === "yes") return html`<circle cx=${x} cy="5" r="3.600" class="f-ink" />`;
  if (stand === "unneeded") return html`<circle cx=${x} cy="5" r="3" fill="none" class="s-rest" stroke-width="1.200" /><path d=${`M${x - 2.6} 7.600l5.200-5.200`} class="s-rest" stroke-width="1.200" />`;
  if (stand === "no") return html`<circle cx=${x} cy="5" r="3" fill="none" class="s-rest" stroke-width="1.300" />`;
  return html`<rect x=${x - 3} y="2" width="6" height="6" fill="none" class="s-rest" stroke-width="1.200" stroke-dasharray="1.500 1.300" />`;
}
