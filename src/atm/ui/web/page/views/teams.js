// All teams: which of them needs somebody. The only one is opened at once.

import { readTeams, world } from "../live.js";
import { path } from "../route.js";
import { html, useEffect } from "../view.js";
import { Account } from "../parts/frame.js";
import { Mark, State } from "../parts/marks.js";
import { Name } from "../parts/said.js";
import { Empty } from "./doors.js";

const EVERY = 5000;

export function Teams({ go }) {
  const teams = world.teams ?? [];
  useEffect(() => { if (teams.length === 1) go(path(teams[0].name), { isInstead: true }); }, []);
  useEffect(() => {
    readTeams();
    const timer = setInterval(readTeams, EVERY);
    return () => clearInterval(timer);
  }, []);
  if (!teams.length) return html`<${Empty} />`;
  const sorted = [...teams].sort((a, b) => (b.needs ?? 0) - (a.needs ?? 0) || (b.problems ?? 0) - (a.problems ?? 0) || String(a.name).localeCompare(String(b.name)));
  return html`<div class="page"><div class="head"><h1>Teams</h1><span class="dim">who needs you comes first</span></div>
    <section class="panel"><table class="table"><thead><tr><th>team</th><th>state</th><th>needs you</th><th class="opt">problems</th><th class="num">done</th><th class="num opt">members</th></tr></thead><tbody>
    ${sorted.map((team) => html`<tr key=${team.name}><td><a class="link" data-row href=${path(team.name)}><b><${Name} text=${team.name} /></b></a></td><td><${State} of=${team.status ?? "unknown"} small /></td>
      <td>${team.needs ? html`<span class="st st-you"><${Mark} g="you" />${team.needs}</span>` : html`<span class="dim">nobody</span>`}</td><td class="opt">${team.problems ? html`<span class="st st-broken"><${Mark} g="problem" />${team.problems}</span>` : html`<span class="dim">none</span>`}</td>
      <td class="num">${team.problem ? html`<span class="dim">unknown</span>` : `${team.done} of ${team.tasks}`}</td><td class="num opt">${team.members ?? ""}</td></tr>`)}</tbody></table></section><p class="phone-part"><a class="link" href="/daemon">Daemon</a></p><${Account} isPhone /></div>`;
}
