// What does not fit on the bar of a phone.

import { leave, mayAct, world } from "../live.js";
import { NUMBERED, OTHERS, path } from "../route.js";
import { html } from "../view.js";
import { countOf, Theme, TITLES } from "../parts/frame.js";
import { Name } from "../parts/said.js";

export function More({ team }) {
  return html`<div class="page"><h1>More</h1><ul class="panel rows">${[...NUMBERED, ...OTHERS].map((view) => html`<li key=${view}><a class="done-row row" data-row href=${path(team, view)}><span>${TITLES[view]}</span><span></span><span></span><span class="right m">${countOf(view)[0]}</span></a></li>`)}
    <li><a class="done-row row" data-row href="/daemon"><span>Daemon</span></a></li><li><a class="done-row row" data-row href="/"><span>Teams</span></a></li></ul>
    <section class="panel pad"><${Theme} /><p class="said"><${Name} text=${world.hello?.person} />${mayAct() ? "" : ", observer"} <button type="button" class="btn quiet" onClick=${leave}>Sign out</button></p></section></div>`;
}
