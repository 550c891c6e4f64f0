// The daemon and its plugins, and what it logged.

import { useRead, world } from "../live.js";
import { span } from "../spans.js";
import { html } from "../view.js";
import { Some, Unread } from "../parts/lists.js";
import { Account } from "../parts/frame.js";
import { State } from "../parts/marks.js";
import { Line, Name, Said, Same } from "../parts/said.js";

/** The daemon is one for all teams; the API reads it through any of them. */
export function Daemon() {
  const team = world.team || world.teams?.[0]?.name || "", read = useRead("daemon", "", { team, every: 5000 }), logs = useRead("logs", "", { team, every: 5000 }), said = read.value;
  if (!team) return html`<div class="page"><div class="head"><h1>Daemon</h1></div><section class="panel pad"><p class="dim">Without a team there is nothing it does.</p><code class="cmd">atm daemon status</code></section></div>`;
  return html`<div class="page"><div class="head"><h1>Daemon</h1>${said && html`<${State} of=${said.running ? "running" : "stopped"}>${said.running ? "runs" : "does not run"}</${State}>`}<span class="push not-phone"><${Same} command=${read.command} /></span></div>
    ${!said ? html`<section class="panel"><${Unread} of=${read} what="the daemon" /></section>` : html`<div class="two even top"><section class="panel"><header><h2>What it says of itself</h2></header><div class="pad"><${Facts} of=${said} /></div></section><${Loops} of=${said} /></div><${Plugins} of=${said} />`}
    <section class="panel"><header><h2>Log</h2><span class="push not-phone"><${Same} command=${logs.command} /></span></header>${logs.value ? html`<${Log} lines=${logs.value.lines ?? []} />` : html`<${Unread} of=${logs} what="the log" />`}</section><p class="phone-part"><a class="link" href="/">Teams</a></p><${Account} isPhone /></div>`;
}

const isPlain = (value) => ["string", "number", "boolean"].includes(typeof value);

function Facts({ of }) {
  const rows = Object.entries(of).filter(([key, value]) => key !== "action" && isPlain(value));
  return html`<dl class="kv">${rows.slice(0, 40).map(([key, value]) => html`<dt><${Name} text=${key.replaceAll("_", " ")} /></dt><dd>${/seconds$|^uptime$/.test(key) && typeof value === "number" ? span(value) : key === "memory" && typeof value === "number" ? `${Math.round(value / 1e6)} MB` : typeof value === "boolean" ? (value ? "yes" : "no") : html`<${Said} text=${String(value)} most=${300} />`}</dd>`)}</dl>`;
}

const listOf = (value) => (Array.isArray(value) ? value : value && typeof value === "object" ? Object.entries(value).map(([name, one]) => (one && typeof one === "object" ? { name, ...one } : { name, state: one })) : []);
const brief = (one) => Object.entries(one).filter(([key, value]) => !["name", "state"].includes(key) && isPlain(value) && value !== "").slice(0, 5).map(([key, value]) => `${key.replaceAll("_", " ")} ${typeof value === "number" && !Number.isInteger(value) ? value.toFixed(1) : value}`).join(", ");

function Loops({ of }) {
  const loops = listOf(of.loops);
  return html`<section class="panel"><header><h2>Loops</h2><span class="push age">${loops.length || "none"}</span></header>${loops.length ? html`<ul class="rows">${loops.slice(0, 40).map((one, at) => html`<li key=${at} class="pad row"><b><${Name} text=${one.name ?? "loop"} /></b> ${one.state !== undefined && html`<${State} of=${String(one.state)} small />`} <span class="dim m"><${Line} text=${brief(one)} /></span></li>`)}</ul>` : html`<p class="pad dim m">Nothing is known of its loops.</p>`}</section>`;
}

function Plugins({ of }) {
  const plugins = listOf(of.plugins);
  return html`<section class="panel"><header><h2>Plugins</h2><span class="push age">${plugins.length || "none"}</span></header>${plugins.length ? html`<ul class="rows">${plugins.slice(0, 60).map((one, at) => html`<li key=${at} class="pad row"><b><${Name} text=${one.name ?? "plugin"} /></b> ${one.error ? html`<${State} of="failed" small><${Line} text=${String(one.error)} /></${State}>` : one.state !== undefined && html`<${State} of=${String(one.state)} small />`} <span class="dim m"><${Line} text=${one.description ?? brief(one)} /></span></li>`)}</ul>` : html`<p class="pad dim m">None carries anything. <code>atm plugins list</code></p>`}</section>`;
}

function Log({ lines }) {
  if (!lines.length) return html`<p class="pad dim m">Nothing was logged.</p>`;
  return html`<pre class="term live" tabindex="0" aria-label="Log"><${Some} of=${[...lines].reverse()} first=${80} what="earlier" inside="span" draw=${(line, at) => html`<${Line} key=${at} text=${typeof line === "string" ? line : `${line.at ?? ""} ${line.level ?? ""} ${line.event ?? line.message ?? line.text ?? JSON.stringify(line)}`} most=${400} />${"\n"}`} /></pre>`;
}
