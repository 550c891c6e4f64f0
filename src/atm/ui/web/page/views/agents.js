// Everybody in the team: what each does, whether it is there, whether it knows its work. Space for the last lines of one.

import { useRead } from "../live.js";
import { path } from "../route.js";
import { memberWord } from "../signs.js";
import { many } from "../spans.js";
import { html, memo, useState } from "../view.js";
import { Filter, fits, Some, Unread } from "../parts/lists.js";
import { LastHeard, OnTask, State, Who } from "../parts/marks.js";
import { Line, Name } from "../parts/said.js";
import { Output } from "./agent.js";

const counted = (members) => {
  const people = members.filter((one) => one.kind === "human").length;
  return `${many(members.length - people, "agent")}${people ? `, ${many(people, "person", "people")}` : ""}`;
};

export function Agents({ team, whole }) {
  const [filter, set] = useState(""), [peeked, peek] = useState("");
  const isIn = fits(filter), shown = whole.snapshot.members.filter((one) => isIn({ state: `${one.state} ${one.liveness} ${one.sync?.label ?? ""}`, who: one.name, text: `${one.name} ${one.agent?.runtime ?? ""}` }));
  return html`<div class="page"><div class="head"><h1>Agents</h1><span class="dim">${counted(whole.snapshot.members)}</span><${Filter} value=${filter} set=${set} /><span class="dim m push not-phone">mail, presence, sync and stall are four answers, never one</span></div>
    ${!shown.length ? html`<section class="panel pad"><p class="dim">${filter ? "Nobody fits the filter." : "Nobody is in the team yet."}</p><code class="cmd">atm teams add-member ${team} ann</code></section>`
      : html`<section class="panel"><ul class="rows"><${Some} of=${shown} first=${80} draw=${(one) => html`<li key=${one.name} class="row"><${Member} one=${one} word=${memberWord(one, whole.rows)} team=${team} isPeeked=${peeked === one.name} peek=${peek} />${peeked === one.name && html`<${Peek} name=${one.name} />`}</li>`} /></ul></section>`}</div>`;
}

const Member = memo(({ one, word, team, isPeeked, peek }) => html`<div class="member-row"><a class="agent-row" data-row href=${path(team, "agent", one.name)}><${State} of=${word} /><${Who} name=${one.name} />
    <span class="what"><span class="cut">${one.tasks?.length ? html`holds ${one.tasks.slice(0, 5).map((id) => `#${id}`).join(" ")}` : html`<span class="dim">holds nothing</span>`}${one.is_lead ? ", leads" : ""}</span><small class="cut">${one.kind === "human" ? "mail waits until it is read" : one.sync?.label ?? "sync unknown"}${one.mail?.unread ? `, ${one.mail.unread} unread` : ""}<${OnTask} of=${one} />${one.agent?.error ? html`, <${Line} text=${one.agent.error} />` : ""}</small></span>
    <span class="right">${one.kind !== "human" && html`<${LastHeard} at=${one.heard_at} />`}</span></a>
  ${one.agent && html`<button type="button" class="btn quiet" aria-expanded=${String(isPeeked)} onClick=${() => peek(isPeeked ? "" : one.name)}>Peek</button>`}</div>`);

function Peek({ name }) {
  const read = useRead("output", name, { every: 2000 });
  return read.value ? html`<${Output} name=${name} read=${read} most=${12} />` : html`<${Unread} of=${read} what=${"its output"} />`;
}

