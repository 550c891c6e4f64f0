// Does each member know its work? Labels, no alarm colours: not to know is no fault.

import { useOffers, useRead } from "../live.js";
import { path } from "../route.js";
import { html, memo, useState } from "../view.js";
import { Deeds } from "../parts/deeds.js";
import { Some } from "../parts/lists.js";
import { Mark, Who } from "../parts/marks.js";
import { Line, Same } from "../parts/said.js";

const SHAPES = { synced: "done", working: "working", needs_sync: "ready", blocked: "blocked" };
const ORDER = ["needs_sync", "blocked", "unknown", "working", "synced"];

export function Sync({ team, whole }) {
  const read = useRead("sync"), [open, set] = useState("");
  const rows = (read.value?.members ?? whole.snapshot.members.filter((one) => one.sync).map((one) => ({ member: one.name, ...one.sync }))).slice().sort((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state));
  const counts = ORDER.map((state) => [state, rows.filter((row) => row.state === state)]).filter(([, found]) => found.length);
  return html`<div class="page"><div class="head"><h1>Work-sync</h1><span class="dim">does each member know its current work?</span><span class="push not-phone"><${Same} command=${read.command} /></span></div>
    ${counts.length > 0 && html`<ul class="panel four sync-counts">${counts.map(([state, found]) => html`<li><span class="st st-rest"><${Mark} g=${SHAPES[state] ?? "unknown"} />${found[0].label}</span><span class="big">${found.length}</span></li>`)}</ul>`}
    <section class="panel">${rows.length ? html`<ul class="rows"><${Some} of=${rows} first=${80} what="members" draw=${(row) => html`<li key=${row.member} class="row"><${Row} row=${row} team=${team} isOpen=${open === row.member} set=${set} />${open === row.member && html`<${More} name=${row.member} />`}</li>`} /></ul>` : html`<p class="pad dim">Nobody has work to know of.</p>`}</section></div>`;
}

const Row = memo(({ row, team, isOpen, set }) => html`<div class="member-row"><a class="agent-row sync-row" data-row href=${path(team, "agent", row.member)}><span class="st st-rest"><${Mark} g=${SHAPES[row.state] ?? "unknown"} />${row.label}</span><${Who} name=${row.member} /><span class="what"><span class="cut"><${Line} text=${row.why} /></span>${row.source && html`<small class="cut"><${Line} text=${row.source} /></small>`}</span></a><button type="button" class="btn quiet" aria-expanded=${String(isOpen)} onClick=${() => set(isOpen ? "" : row.member)}>Act</button></div>`);

function More({ name }) {
  const offers = useOffers("member", name);
  return html`<div class="pad deeds"><${Deeds} kind="member" id=${name} offers=${offers.filter((offer) => offer.word === "nudge" || offer.word === "write")} /></div>`;
}
