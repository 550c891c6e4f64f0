// Long lists are drawn as far as somebody looks; the rest is one press away. What is read is not moved.

import { html, useEffect, useMemo, useRef, useState } from "../view.js";
import { many } from "../spans.js";
import { Mark } from "./marks.js";
import { readable, Said } from "./said.js";

/** A button for so few more would take as much room as they do. */
const FEW = 2;

/** The first of a list, and a button for more. `inside`: what the list consists of: `li`, `tr` or `span`. */
export function Some({ of, first = 60, step = 200, draw, what = "more", inside = "li" }) {
  const [wanted, set] = useState(first);
  const most = of.length - wanted <= FEW ? of.length : wanted, rest = of.length - most;
  const button = () => html`<button type="button" class="btn quiet" onClick=${() => set(most + step)}>Show ${Math.min(step, rest)} ${what}${rest > step ? ` of ${rest.toLocaleString("en")}` : ""}</button>`;
  const more = () => (inside === "tr" ? html`<tr key="more"><td colspan="9">${button()}</td></tr>` : inside === "span" ? html`<span key="more">${button()}</span>` : html`<li key="more" class="more">${button()}</li>`);
  return html`${of.slice(0, most).map(draw)}${rest > 0 && more()}`;
}

/** Milliseconds after a touch in a list. A finger leaves at once, and a person reads on. */
const TOUCHED = 3000;
const isField = (target) => target.matches?.("textarea, input") ?? false;

/**
 * While the pointer is in a list, or something is typed there, its rows keep their places: new ones wait, and those that
 * are gone stay, marked. A press must hit what was aimed at. After a touch they stay for a while, or until it scrolls.
 */
export function useHeld(rows, keyOf) {
  const [isPointed, point] = useState(false), [isTyped, type] = useState(false), isIn = isPointed || isTyped, timer = useRef(0);
  useEffect(() => {
    const leave = () => point(false);
    if (isPointed) addEventListener("pointercancel", leave, true);
    return () => removeEventListener("pointercancel", leave, true);
  }, [isPointed]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const held = useRef([]);
  const shown = useMemo(() => {
    const byKey = new Map(rows.map((row) => [keyOf(row), row]));
    if (!isIn) return rows.map((row) => ({ key: keyOf(row), row, isGone: false }));
    return held.current.map(({ key, row }) => ({ key, row: byKey.get(key) ?? row, isGone: !byKey.has(key) }));
  }, [rows, isIn]);
  held.current = shown;
  const keys = new Set(shown.map(({ key }) => key));
  const waiting = isIn ? rows.filter((row) => !keys.has(keyOf(row))).length : 0;
  const on = {
    onPointerEnter: () => { clearTimeout(timer.current); point(true); },
    onPointerLeave: (event) => {
      clearTimeout(timer.current);
      if (event.pointerType === "mouse") point(false); else timer.current = setTimeout(() => point(false), TOUCHED);
    },
    onfocusin: (event) => { if (isField(event.target)) type(true); },
    onfocusout: (event) => { if (isField(event.target)) type(false); },
  };
  return { shown, waiting, on };
}

/** Words, `s:` a state, `a:` somebody: the same filter as on the screen. */
export function fits(filter) {
  const words = filter.trim().toLowerCase().split(/\s+/).filter(Boolean);
  return (fields) => words.every((one) => {
    if (one.startsWith("s:")) return String(fields.state ?? "").toLowerCase().replaceAll("_", " ").includes(one.slice(2));
    if (one.startsWith("a:")) return String(fields.who ?? "").toLowerCase().includes(one.slice(2));
    return String(fields.text ?? "").toLowerCase().includes(one);
  });
}

export const Filter = ({ value, set, hint = "Filter, s:state, a:name" }) => html`<input class="field filter" type="search" data-filter aria-label="Filter" title="Words; s: and a state; a: and a name" placeholder=${hint} value=${value} onInput=${(event) => set(event.currentTarget.value)} />`;

/** A group keeps its place when it is empty, in one line. */
export function Group({ title, count, note, id, children, none }) {
  return html`<section class="group" id=${id}><header><h2>${title}</h2><span class="count">${count}</span>${note && html`<span class="note">${note}</span>`}</header>${count ? children : html`<p class="none-line dim m">${none}</p>`}</section>`;
}

export const countNote = (waiting) => waiting ? `${many(waiting, "new row")} when the pointer leaves` : "";

/** Where a value is not read yet, or could not be. */
export function Unread({ of, what }) {
  if (of.error) return html`<div class="pad unread"><p class="wrong"><${Mark} g="failed" /><${Said} text=${readable(of.error.message)} most=${400} /></p>${of.error.remedy && html`<p class="dim m"><${Said} text=${of.error.remedy} most=${400} /></p>`}${of.again && html`<p><button type="button" class="btn" onClick=${of.again}>Try again</button></p>`}</div>`;
  return html`<p class="pad dim m">Reading ${what}…</p>`;
}
