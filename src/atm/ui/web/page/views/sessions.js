// Teams that outlive their lead: sessions that can be resumed, handed over, finished.

import { useOffers, useRead, world } from "../live.js";
import { clock } from "../spans.js";
import { html, useState } from "../view.js";
import { Deeds } from "../parts/deeds.js";
import { Unread } from "../parts/lists.js";
import { State } from "../parts/marks.js";
import { Line, Name, Same } from "../parts/said.js";

export function Sessions() {
  const read = useRead("sessions"), teams = read.value?.teams ?? [], [open, set] = useState("");
  return html`<div class="page"><div class="head"><h1>Sessions</h1><span class="push not-phone"><${Same} command=${read.command} /></span></div>
    ${!read.value ? html`<section class="panel"><${Unread} of=${read} what="sessions" /></section>` : !teams.length ? html`<section class="panel pad"><h2>No session to resume</h2><p class="mid">When the session of a lead ends, its team stays. Whoever comes next finds it here, or with:</p><code class="cmd">atm session list --all</code></section>`
      : html`<section class="panel"><ul class="rows">${teams.map((one) => html`<li key=${one.team} class="pad row"><div class="head"><${State} of=${one.state ?? one.status ?? "unknown"} /><b><${Name} text=${one.team ?? one.name} /></b><span class="dim">${facts(one).map(([key, said], at) => html`${at ? ", " : ""}${key} <${Line} text=${said} most=${80} />`)}</span><button type="button" class="btn quiet push" aria-expanded=${String(open === one.team)} onClick=${() => set(open === one.team ? "" : one.team)}>Resume…</button></div>${open === one.team && html`<${Act} id=${one.team} />`}</li>`)}</ul></section>`}</div>`;
}

const SHOWN = ["lead", "open_tasks", "tasks", "unread", "members", "ended_at", "last_seen", "why"];
/** What the command says of a session, as far as it is a word or a number. */
const facts = (one) => SHOWN.filter((key) => ["string", "number"].includes(typeof one[key])).map((key) => [key.replaceAll("_", " "), /_at$|_seen$/.test(key) ? clock(one[key], { today: world.whole?.now }) : String(one[key])]);

function Act({ id }) {
  const offers = useOffers("session", id);
  return html`<div class="deeds"><${Deeds} kind="session" id=${id} offers=${offers} /></div>`;
}
