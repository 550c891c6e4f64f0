// What does not fit on the bar of a phone.

import { leave, mayAct, world } from "../live.js";
import { NUMBERED, OTHERS, path } from "../route.js";
import { html } from "../view.js";
import { countOf, Theme, TITLES } from "../parts/frame.js";
import { Name } from "../parts/said.js";

function Count({ view }) {
  const [number, meaning] = countOf(view);
  return html`<span class=${meaning ? `st st-${meaning}` : "m dim"}>${number}</span>`;
}

export function More({ team }) {
  return html`<div class="page"><h1>More</h1><ul class="panel rows">${[...NUMBERED, ...OTHERS].map((view) => html`<li key=${view}><a class="more-row row" data-row href=${path(team, view)}><span>${TITLES[view]}</span><${Count} view=${view} /></a></li>`)}
    <li><a class="more-row row" data-row href="/daemon">Daemon</a></li><li><a class="more-row row" data-row href="/">Teams</a></li></ul>
    <section class="panel pad"><${Theme} /><p class="said"><${Name} text=${world.hello?.person} />${mayAct() ? "" : ", observer"} <button type="button" class="btn quiet" onClick=${leave}>Sign out</button></p></section></div>`;
}
