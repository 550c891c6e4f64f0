// What happened, newest first; and over time: mail, tasks, tokens, cost, coordination.

import { useRead, world } from "../live.js";
import { path } from "../route.js";
import { clock, cost, epoch, money, short, span } from "../spans.js";
import { html, useState } from "../view.js";
import { Chart, Lines } from "../parts/charts.js";
import { Filter, fits, Some, Unread } from "../parts/lists.js";
import { Mark } from "../parts/marks.js";
import { Line, Name } from "../parts/said.js";

export const KINDS = { mail: ["open", "rest", "mail"], task: ["working", "moving", "task"], approval: ["you", "you", "approval"], merge: ["merged", "proven", "merge"], run: ["working", "moving", "run"], agent: ["idle", "rest", "agent"], conflict: ["conflict", "broken", "conflict"] };

/** A conflict among merges is what one looks for: it is told with those who changed the same lines. */
export const kindOf = (one) => (one.kind === "merge" && /conflict|(?<!merged) with #/.test(one.what) ? "conflict" : one.kind);

export function Timeline({ team }) {
  const read = useRead("happenings"), activity = useRead("activity"), [filter, set] = useState("");
  const isIn = fits(filter), found = (read.value ?? []).filter((one) => isIn({ state: one.kind, who: one.who, text: `${one.who} ${one.what} ${one.about}` })).reverse();
  return html`<div class="page"><div class="head"><h1>Timeline</h1><${Filter} value=${filter} set=${set} hint="Filter, s:mail, a:name" /><span class="push"></span><a class="btn" href=${path(team, "replay")}>Replay</a></div>
    ${activity.value && html`<${Over} of=${activity.value} />`}
    <section class="panel"><header><h2>What happened</h2><span class="push age">ledger, history and audit</span></header>${!read.value ? html`<${Unread} of=${read} what="what happened" />` : !found.length ? html`<p class="pad dim">${filter ? "Nothing fits the filter." : "Nothing has happened yet."}</p>` : html`<div class="pad"><ul class="feed wide-time"><${Some} of=${found} first=${100} what="earlier" draw=${(one, at) => html`<${Happening} key=${`${one.at}${at}`} one=${one} team=${team} />`} /></ul></div>`}</section></div>`;
}

/** One thing that happened. The time leads to the team as it was then. */
export function Happening({ one, team, isReplayed = false, tenths = false }) {
  const [shape, meaning, word] = KINDS[kindOf(one)] ?? ["unknown", "rest", one.kind];
  const time = clock(one.at, { tenths, today: world.whole?.now });
  return html`<li><time>${isReplayed ? time : html`<a data-row href=${`${path(team, "replay")}?at=${new Date((epoch(one.at) ?? 0) * 1000).toISOString()}`} title="The team at this moment">${time}</a>`}</time><span><span class=${`st st-${meaning} sm`} title=${String(word)}><${Mark} g=${shape} /><span class="vh">${String(word)}</span></span> <b><${Name} text=${one.who} /></b> <${Line} text=${one.what} most=${320} /></span></li>`;
}

const sum = (values) => (values ?? []).reduce((total, value) => total + (value ?? 0), 0);
const percent = (share) => `${(100 * share).toFixed(1)} %`;

function Over({ of }) {
  const known = (values) => (values ?? []).some((value) => value !== null), charts = [
    ["Mail and tasks", [["messages", of.mail, short, short(sum(of.mail))], ["task events", of.tasks, short, short(sum(of.tasks))], ["approval events", of.approvals, short, short(sum(of.approvals))]]],
    ["Tokens", [["tokens", of.tokens, short, short(sum(of.tokens))]]], ["Cost", [["cost", of.cost, money, cost(of)]]], ["Talk, of all that happened", [["mail and approvals", of.coordination, percent, typeof of.talk === "number" ? `${percent(of.talk)} of all` : ""]]],
  ];
  return html`<div class="two even">${charts.map(([title, series]) => html`<section key=${title} class="panel"><header><h2>${title}</h2><span class="push age">each ${span(of.step)}, since ${clock(of.from, { seconds: false, today: world.whole?.now })}</span></header><div class="pad">${series.some(([, values]) => known(values)) ? html`<${Lines} series=${series.filter(([, values]) => values?.length)} /><${Chart} from=${of.from} step=${of.step} series=${series.filter(([, values]) => values?.length)} label=${`${title} over time`} />` : html`<p class="dim">unknown: no agent reports it</p>`}</div></section>`)}</div>`;
}
