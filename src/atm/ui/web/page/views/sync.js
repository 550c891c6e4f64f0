// Does each member know its work? Labels, no alarm colours: not to know is no fault.

import { useOffers, useRead } from "../live.js";
import { path } from "../route.js";
import { syncShape } from "../signs.js";
import { html, memo, useState } from "../view.js";
import { Deeds } from "../parts/deeds.js";
import { Some } from "../parts/lists.js";
import { Mark, memberCalled, Who } from "../parts/marks.js";
import { Line, Same } from "../parts/said.js";

const ORDER = ["Needs sync", "Paused", "Blocked", "Unknown", "Working", "Synced"];
const placeOf = (row) => { const at = ORDER.indexOf(row.label); return at < 0 ? 3.5 : at; };
/** Whoever is not there knows its work no less; but nobody can ask it. */
const labelOf = (row) => (memberCalled(row.member)?.liveness === "offline" ? `${row.label}, offline` : row.label);

export function Sync({ team, whole }) {
  const read = useRead("sync"), [open, set] = useState("");
  const rows = (read.value?.members ?? whole.snapshot.members.filter((one) => one.sync).map((one) => ({ member: one.name, ...one.sync }))).slice().sort((a, b) => placeOf(a) - placeOf(b));
  const counts = ORDER.map((label) => [label, rows.filter((row) => row.label === label).length]).filter(([, found]) => found);
  return html`<div class="page"><div class="head"><h1>Work-sync</h1><span class="dim">does each member know its current work?</span><span class="push not-phone"><${Same} command=${read.command} /></span></div>
    ${counts.length > 0 && html`<ul class="panel four sync-counts">${counts.map(([label, found]) => html`<li><span class="st st-rest"><${Mark} g=${syncShape(label)} />${label}</span><span class="big">${found}</span></li>`)}</ul>`}
    <section class="panel">${rows.length ? html`<ul class="rows"><${Some} of=${rows} first=${80} draw=${(row) => html`<li key=${row.member} class="row"><${Row} row=${row} label=${labelOf(row)} team=${team} isOpen=${open === row.member} set=${set} />${open === row.member && html`<${More} name=${row.member} />`}</li>`} /></ul>` : html`<p class="pad dim">Nobody has work to know of.</p>`}</section></div>`;
}

const Row = memo(({ row, label, team, isOpen, set }) => html`<div class="member-row"><a class="agent-row sync-row" data-row href=${path(team, "agent", row.member)}><span class="st st-rest"><${Mark} g=${syncShape(row.label)} />${label}</span><${Who} name=${row.member} /><span class="what"><span class="cut"><${Line} text=${row.why} /></span>${row.source && html`<small class="cut"><${Line} text=${row.source} /></small>`}</span></a><button type="button" class="btn quiet" aria-expanded=${String(isOpen)} onClick=${() => set(isOpen ? "" : row.member)}>Nudge or write</button></div>`);

function More({ name }) {
  const offers = useOffers("member", name);
  return html`<div class="pad deeds"><${Deeds} kind="member" id=${name} offers=${offers.filter((offer) => offer.word === "nudge" || offer.word === "write")} /></div>`;
}
