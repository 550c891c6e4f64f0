// What does not fit on the bar of a phone.

import { NUMBERED, OTHERS, path } from "../route.js";
import { html } from "../view.js";
import { Account, countOf, TITLES } from "../parts/frame.js";

function Count({ view }) {
  const [number, meaning] = countOf(view);
  return html`<span class=${meaning ? `st st-${meaning}` : "m dim"}>${number}</span>`;
}

export function More({ team }) {
  return html`<div class="page"><h1>More</h1><ul class="panel rows">${[...NUMBERED, ...OTHERS].map((view) => html`<li key=${view}><a class="more-row row" data-row href=${path(team, view)}><span>${TITLES[view]}</span><${Count} view=${view} /></a></li>`)}
    <li><a class="more-row row" data-row href="/daemon">Daemon</a></li><li><a class="more-row row" data-row href="/">Teams</a></li></ul>
    <${Account} /></div>`;
}
