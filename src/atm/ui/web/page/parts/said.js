// Texts of others: text nodes in `<bdi>`, never markup. What would not be seen is shown as a tag.

import { pieces, plain } from "../hidden.js";
import { html, useState } from "../view.js";

const drawn = (text, isStrict) => pieces(text, isStrict).map((one) => (typeof one === "string" ? one
  : html`<span class="ctl" title="control character, made visible">${one.tag}</span>`));

const MOST_NAME = 120;

/** A name or an id. */
export function Name({ text }) {
  const said = String(text ?? "");
  return html`<bdi title=${said.length > 24 ? plain(said) : undefined}>${drawn(said.slice(0, MOST_NAME), true)}${said.length > MOST_NAME ? "…" : ""}</bdi>`;
}

/** One line, cut where it is too long; the whole is the title. */
export function Line({ text, most = 280 }) {
  const said = String(text ?? "").replaceAll(/\s+/g, " ");
  return html`<bdi title=${said.length > 60 ? plain(said, 600) : undefined}>${drawn(said.slice(0, most))}${said.length > most ? "…" : ""}</bdi>`;
}

const CHUNK = 8000;

/**
 * A very long text in blocks, of which the browser lays out those in sight: a million characters in one would stop it.
 * They end at ends of lines where there are any.
 */
function chunks(text) {
  const found = [];
  for (let at = 0; at < text.length;) {
    const line = text.lastIndexOf("\n", at + CHUNK);
    let end = at + CHUNK >= text.length ? text.length : line > at ? line + 1 : at + CHUNK;
    if (/[\udc00-\udfff]/.test(text[end] ?? "")) end += 1; // not between the halves of a character
    found.push(text.slice(at, end));
    at = end;
  }
  return found;
}

const inChunks = (text, isStrict) => chunks(text).map((one, at) => html`<span class="chunk" key=${at}>${drawn(one, isStrict)}</span>`);
const whole = (text, isStrict) => (text.length > 2 * CHUNK ? inChunks(text, isStrict) : drawn(text, isStrict));

/** Several lines. What is very long is cut until somebody wants all of it. */
export function Said({ text, most = 4000 }) {
  const [isAll, all] = useState(false);
  const said = String(text ?? ""), isCut = said.length > most && !isAll;
  return html`<bdi class="many">${isCut ? drawn(said.slice(0, most)) : whole(said)}</bdi>${isCut &&
    html`… <button type="button" class="btn quiet" onClick=${() => all(true)}>Show all ${said.length.toLocaleString("en")} characters</button>`}`;
}

/** What a program says when it breaks is for its authors: its last line at most. */
export function readable(text) {
  const said = String(text ?? "").trim();
  if (!/^Traceback/.test(said)) return said;
  const last = said.split("\n").at(-1).trim();
  return `atm broke in the middle of it${last.startsWith("Traceback") ? "" : `: ${last.slice(0, 200)}`}. What it was doing stands in its log: atm logs`;
}

/** What an agent claims. */
export const Quote = ({ text, by, most }) => html`“<${Said} text=${text} most=${most} />”${by && html` <span class="dim">said by <${Name} text=${by} /></span>`}`;

const MOST_ARGS = 600;

/** A command, whole: it breaks between its arguments, and what would not be seen in it is a tag. */
export function Command({ text, isBig = false, children }) {
  const said = String(text ?? ""), args = said.split(" ");
  const shown = args.length > MOST_ARGS || said.length > 2 * CHUNK ? whole(said, true)
    : args.map((arg, at) => html`${at ? " " : ""}<span class="arg">${drawn(arg, true)}</span>`);
  return html`<code class=${isBig ? "cmd big" : "cmd"} dir="ltr" tabindex=${isBig ? "0" : undefined}>${shown}${children}</code>`;
}

/** A path, which breaks between its folders. */
export function Path({ text }) {
  const bits = String(text ?? "").split(/(?<=\/)/).slice(0, 80);
  return html`<bdi class="path">${bits.map((bit) => html`<span class="bit">${drawn(bit, true)}</span>`)}</bdi>`;
}

/** The command that does the same as a button. It is ours, but names of others stand in it. */
export const Same = ({ command, wide }) => command ? html`<span class=${wide ? "same wide" : "same"}><bdi>${drawn(command, true)}</bdi></span>` : null;
