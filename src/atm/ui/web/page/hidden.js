// Characters that hide, turn round or move what stands beside them, found in a text of others. Pure.
// The same table as `atm.core.untrusted_text`; a test compares both.

/** What is a tag in every text: controls, directions, spaces without width, fillers, tags, halves of characters. */
export const MARKED = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\u{110bd}\u{110cd}\u{13430}-\u{1343f}\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e00ff}\u{e01f0}-\u{e0fff}]/u;

/** Ordinary writing is full of these, so they are tags only where a text is a name or could be typed. */
export const UNSEEN = /[\u0009\u000a\u00a0\u00ad\u034f\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200a\u200c\u200d\u202f\u205f\u3000\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/u;

const STRICT = new RegExp(`${MARKED.source}|${UNSEEN.source}|\\p{M}{5,}`, "gu");
const PROSE = new RegExp(`${MARKED.source}|\\p{M}{5,}`, "gu");
const NAMES = { 0: "NUL", 7: "BEL", 8: "BS", 9: "TAB", 10: "LF", 13: "CR", 27: "ESC", 127: "DEL" };

/** More tags than these in one text are drawn as one sign each: a million elements would stop the page. */
const MOST_TAGS = 500;
const MARK = "\ufffd";

const named = (code) => NAMES[code] ?? `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;

/**
 * A text as pieces: strings as they are, and `{tag}` for what would not be seen.
 * @param {string} text @param {boolean} strict a name, or something that could be typed
 * @returns {(string|{tag: string})[]}
 */
export function pieces(text, strict = false) {
  const found = [];
  let done = 0, tags = 0;
  for (const match of text.matchAll(strict ? STRICT : PROSE)) {
    const [hit] = match;
    const isPile = /^\p{M}{5,}$/u.test(hit);
    const kept = isPile ? hit.slice(0, 3) : "";
    if (match.index + kept.length > done) found.push(text.slice(done, match.index) + kept);
    tags += 1;
    if (tags > MOST_TAGS) found.push(MARK);
    else found.push({ tag: isPile ? `+${hit.length - kept.length} marks` : named(hit.codePointAt(0)) });
    done = match.index + hit.length;
  }
  if (done < text.length) found.push(text.slice(done));
  return tags > MOST_TAGS ? joined(found) : found;
}

/** Strings side by side become one: fewer nodes. */
function joined(found) {
  const made = [];
  for (const one of found) {
    if (typeof one === "string" && typeof made.at(-1) === "string") made[made.length - 1] += one;
    else made.push(one);
  }
  return made;
}

/** For titles, labels and the tab, where there are no elements: `[U+202E]`. */
export function plain(text, most = 200) {
  const whole = pieces(String(text ?? "").slice(0, most + 1), true).map((one) => one.tag ? (one.tag === "LF" || one.tag === "TAB" ? " " : `[${one.tag}]`) : one).join("");
  return String(text ?? "").length > most ? `${whole.slice(0, most)}…` : whole;
}
