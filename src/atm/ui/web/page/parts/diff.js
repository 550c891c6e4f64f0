// A unified diff as a table. Lines come from agents: text, and nothing else.

import { html, useMemo, useState } from "../view.js";
import { pieces } from "../hidden.js";
import { Name } from "./said.js";

const FIRST = 400;

/** @returns {{kind: string, old: number|string, now: number|string, text: string}[]} */
export function rowsOf(text) {
  const rows = [];
  let old = 0, now = 0, isIn = false;
  for (const line of text.split("\n")) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)/.exec(line);
    if (hunk) {
      [old, now, isIn] = [Number(hunk[1]), Number(hunk[2]), true];
      rows.push({ kind: "hunk", old: "", now: "", text: line });
    } else if (line.startsWith("diff --git ")) {
      isIn = false;
      rows.push({ kind: "hunk", old: "", now: "", text: line.slice(11).replace(/^a\/(.*) b\/\1$/, "$1") });
    } else if (!isIn) {
      if (line && !/^(index|---|\+\+\+|new file|deleted file|old mode|new mode|similarity)/.test(line)) rows.push({ kind: "", old: "", now: "", text: line });
    } else if (line.startsWith("+")) rows.push({ kind: "add", old: "", now: now++, text: line.slice(1) });
    else if (line.startsWith("-")) rows.push({ kind: "del", old: old++, now: "", text: line.slice(1) });
    else if (line.startsWith(" ")) rows.push({ kind: "", old: old++, now: now++, text: line.slice(1) });
    else if (line) rows.push({ kind: "hunk", old: "", now: "", text: line });
  }
  return rows;
}

const SIGNS = { add: "+", del: "−" };
const MOST_LINE = 600;

/** What somebody else started lies where atm does not look. */
export const isUnseen = (member, read) => !member?.agent || Boolean(read.error?.message?.startsWith("atm has started no agent"));
export const Unseen = ({ name }) => html`<p class="pad dim">atm did not start <${Name} text=${name} />, so it cannot see its changes.</p>`;

export function Diff({ text }) {
  const rows = useMemo(() => rowsOf(String(text ?? "").slice(0, 2_000_000)), [text]);
  const [most, set] = useState(FIRST);
  const plus = rows.filter((row) => row.kind === "add").length, minus = rows.filter((row) => row.kind === "del").length;
  if (!rows.length) return html`<p class="pad dim">No change.</p>`;
  return html`<p class="pad m dim">${rows.filter((row) => row.kind === "hunk" && !row.text.startsWith("@@")).length || 1} files, <span class="pm"><span class="p">+${plus}</span> <span class="n">−${minus}</span></span></p>
    <table class="diff" aria-label="Diff"><colgroup><col class="no" /><col class="no" /><col class="sign" /><col /></colgroup><tbody>${rows.slice(0, most).map((row, at) => html`<tr key=${at} class=${row.kind}><td>${row.old}</td><td>${row.now}</td><td>${SIGNS[row.kind] ?? ""}</td><td dir="ltr">${pieces(row.text.slice(0, MOST_LINE).replaceAll("\t", "    ")).map((one) => one.tag ? html`<span class="ctl">${one.tag}</span>` : one)}${row.text.length > MOST_LINE ? "…" : ""}</td></tr>`)}</tbody></table>
    ${rows.length > most && html`<p class="pad"><button type="button" class="btn" onClick=${() => set(most + 2000)}>Show ${Math.min(2000, rows.length - most)} more of ${rows.length} lines</button></p>`}`;
}
