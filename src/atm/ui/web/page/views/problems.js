// What goes wrong, and what to type about it.

import { html } from "../view.js";
import { Asks } from "./overview.js";

export function Problems({ whole }) {
  const rows = whole.rows.filter((row) => row.group === "Problems");
  return html`<div class="page"><div class="head"><h1>Problems</h1><span class="dim">what needs somebody, and is not for you alone</span></div><${Asks} title="Open" rows=${rows} none="Nothing goes wrong that atm knows of." isBroken />
    ${!rows.length && html`<section class="panel pad"><p class="mid">If something seems wrong nevertheless:</p><code class="cmd">atm doctor</code></section>`}</div>`;
}
