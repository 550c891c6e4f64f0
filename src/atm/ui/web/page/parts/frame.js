// What stands around every view: menu, strip, banners, the bar of the phone, what a command said, the keys.

import { changed, leave, mayAct, now, tryNow, useTick, world } from "../live.js";
import { entryOf, NUMBERED, OTHERS, path } from "../route.js";
import { clock, cost, epoch, many, span } from "../spans.js";
import { classes, html, useEffect, useRef, useState } from "../view.js";
import { Cells, counted, Mark, State } from "./marks.js";
import { Line, Name, readable, Same, Said } from "./said.js";

export const TITLES = {
  overview: "Overview", board: "Board", agents: "Agents", mail: "Mail", approvals: "Approvals", merge: "Merge queue", sync: "Work-sync",
  timeline: "Timeline", problems: "Problems", runs: "Runs", sessions: "Sessions", replay: "Replay", daemon: "Daemon", more: "More",
};

export const Brand = () => html`<a class="brand" href="/"><svg viewBox="0 0 46 14" aria-hidden="true"><path d="M7 7h16" class="s-ink" stroke-width="2" /><path d="M23 7h14" class="s-ink" stroke-width="2" stroke-dasharray="2 2.500" /><circle cx="7" cy="7" r="5" class="f-ink" /><circle cx="23" cy="7" r="5" class="f-ink" /><circle cx="39" cy="7" r="4" fill="none" class="s-ink" stroke-width="2" /></svg><span>atm</span></a>`;

/** How many wait behind an entry of the menu, and for whom. */
export function countOf(view) {
  const { whole } = world;
  if (!whole) return ["", ""];
  const seen = whole.snapshot, waits = whole.rows.filter((row) => row.group === "Needs you" && ["command", "plan_waits", "question"].includes(row.state)).length;
  const unread = (seen.members ?? []).filter((one) => one.kind === "human").reduce((sum, one) => sum + (one.mail?.unread ?? 0), 0);
  const numbers = {
    board: [seen.tasks?.length ?? 0, ""], agents: [(seen.members ?? []).filter((one) => one.kind !== "human").length, ""],
    mail: [unread, ""], approvals: [waits, "you"], merge: [seen.merges?.open?.length ?? 0, ""],
    sync: [(seen.members ?? []).filter((one) => one.sync?.state === "needs_sync").length, ""], problems: [whole.counts.problems ?? 0, "broken"],
  };
  const [number, meaning] = numbers[view] ?? [0, ""];
  return [number || "", meaning];
}

export function Side({ route, team, toggleKeys }) {
  const here = entryOf(route.view), teams = world.teams?.length ?? 0;
  const entry = (view, key = "") => {
    const [n, meaning] = countOf(view);
    return html`<a href=${path(team, view)} data-key=${key || undefined} aria-current=${here === view ? "page" : undefined}><span class="k">${key}</span>${TITLES[view]}<span class=${classes("n", meaning)}>${n}</span></a>`;
  };
  return html`<aside class="side"><${Brand} />
    ${team && html`<a class="team-pick" href="/"><span class="cut"><${Name} text=${team} /></span><span class="m nowrap">${teams > 1 ? `${teams} teams` : ""}</span></a>`}
    <nav class="nav" aria-label="Views">${team && html`${NUMBERED.map((view, at) => entry(view, String(at + 1)))}<hr />${OTHERS.map((view) => entry(view))}`}<a href="/daemon" aria-current=${route.view === "daemon" ? "page" : undefined}><span class="k"></span>Daemon</a></nav>
    <${Foot} toggleKeys=${toggleKeys} /></aside>`;
}

function Foot({ toggleKeys }) {
  useTick();
  const { whole, isLive, downSince, hello } = world;
  return html`<div class="side-foot">${whole && html`<p class="live" title=${`for programs: version ${whole.version}`}>${isLive ? html`<${State} of="live" g="proven" meaning="proven" small>live</${State}>` : html`<${State} of="failed" small>no answer</${State}>`}${!isLive && html`<span class="age">${span((Date.now() - downSince) / 1000)}</span>`}</p>`}
    ${!isLive && html`<p>in a terminal: <code>atm daemon status</code></p>`}
    <p><${Name} text=${hello?.person} />${mayAct() ? "" : ", observer"} · <button type="button" class="plain" onClick=${leave}>sign out</button> · <button type="button" class="plain" onClick=${toggleKeys}><kbd>?</kbd> keys</button></p><${Theme} /></div>`;
}

export function Theme() {
  const [chosen, set] = useState(document.documentElement.dataset.theme ?? "auto");
  const choose = (name) => {
    if (name === "auto") delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = name;
    try { localStorage.setItem("atm-theme", name); } catch { /* it holds until the page is left */ }
    set(name);
  };
  return html`<div class="theme" role="group" aria-label="Theme">${["auto", "light", "dark"].map((name) => html`<button type="button" aria-pressed=${String(chosen === name)} onClick=${() => choose(name)}>${name.charAt(0).toUpperCase() + name.slice(1)}</button>`)}</div>`;
}

/** What the foot of the menu has, where there is no menu. */
export const Account = ({ isPhone = false }) => html`<section class=${classes("panel pad account", isPhone && "phone-part")}><${Theme} /><p class="said"><${Name} text=${world.hello?.person} />${mayAct() ? "" : ", observer"} <button type="button" class="btn quiet" onClick=${leave}>Sign out</button></p></section>`;

export function Strip({ seen, cells }) {
  useTick();
  const tasks = seen.tasks ?? [], done = tasks.filter((task) => task.state === "completed").length;
  const since = epoch(seen.status_since) ?? epoch(seen.created_at);
  return html`<div class="strip"><h1><${Name} text=${seen.team} /></h1>
    ${world.isLive ? html`<${State} of=${seen.status ?? "unknown"} small />` : html`<${State} of="unknown" small>unknown; ${seen.status} at ${clock(world.downSince / 1000, { seconds: false })}</${State}>`}
    <span class="goal cut not-phone">${seen.description && html`<${Line} text=${seen.description} />`}</span>
    <span class="fact cells-box"><${Cells} tasks=${tasks} cells=${cells} /></span>
    ${tasks.length > 0 && html`<span class="fact"><b>${done}</b> of ${tasks.length}<span class="not-phone"> done</span></span>`}
    ${since !== null && html`<span class="fact time" title=${`since ${clock(since, { today: now() })}`}>${seen.status === "active" ? "running" : `${seen.status} for`} <b>${span(now() - since)}</b></span>`}<${Spend} seen=${seen} /></div>`;
}

function Spend({ seen }) {
  const of = seen.cost_estimate;
  if (!of) return null;
  return html`<span class="fact spend" title=${of.kind === "unknown" ? "at least one agent does not report its cost" : undefined}>${of.amount === null ? "cost " : ""}<b>${cost(seen)}</b></span>`;
}

export function Tabbar({ route, team }) {
  const { whole } = world, here = entryOf(route.view), tasks = whole?.snapshot.tasks ?? [];
  const done = tasks.filter((task) => task.state === "completed").length, { needs = 0, problems = 0 } = whole?.counts ?? {};
  const entry = (view, top, look = "") => html`<a href=${path(team, view)} class=${look} aria-current=${here === view || (view === "more" && !["overview", "board", "mail", "approvals"].includes(here)) ? "page" : undefined}><b>${top}</b>${TITLES[view]}</a>`;
  const waits = countOf("approvals")[0];
  return html`<nav class="tabbar" aria-label="Views, short">${entry("overview", html`<span class="st st-you"><${Mark} g="you" />${needs}</span><span class="st st-broken"><${Mark} g="problem" />${problems}</span>`)}${entry("board", `${done}/${tasks.length}`)}${entry("mail", countOf("mail")[0] || "0")}${entry("approvals", waits || "0", waits ? "you" : "")}${entry("more", "…")}</nav>`;
}

export function Disconnected() {
  useTick();
  const { isLive, downSince, again } = world;
  if (isLive) return null;
  const wait = Math.ceil((again - Date.now()) / 1000);
  return html`<div class="banner off" role="alert"><${State} of="failed">Not connected</${State}><span>since <time>${clock(downSince / 1000)}</time>. You see the team as it was then, and nothing can be sent from here. The agents are not affected.</span><span class="push age" aria-hidden="true">${wait > 0 ? `again in ${wait} s` : "trying"}</span><button class="btn" type="button" onClick=${tryNow}>Try now</button></div>`;
}

/** What a command said. It stays until it is put away, or the next one speaks; a success goes by itself. */
export function Notice() {
  const { notice } = world;
  useEffect(() => {
    if (notice?.state !== "done") return undefined;
    const timer = setTimeout(() => changed({ notice: null }), matchMedia("(max-width: 900px)").matches ? 3000 : 8000); // on a phone it lies over rows
    return () => clearTimeout(timer);
  }, [notice]);
  const word = { runs: ["working", "moving", "runs"], done: ["done", "proven", "done"], failed: ["failed", "broken", "not done"] }[notice?.state];
  return html`<div class="notice-box" role="status">${notice && html`<div class="panel notice"><${State} of=${notice.state} g=${word[0]} meaning=${word[1]}>${word[2]}</${State}><div>${notice.said && html`<p><${Said} text=${readable(notice.said)} most=${600} /></p>`}${notice.remedy && html`<p class="dim"><${Said} text=${notice.remedy} most=${400} /></p>`}<${Same} command=${notice.command} /></div><button type="button" class="btn quiet" onClick=${() => changed({ notice: null })}>Close</button></div>`}</div>`;
}

/** Says to screen readers what is new for the person; politely, and once. */
export function Heard() {
  const [said, say] = useState("");
  const known = useRef(null), { whole } = world;
  useEffect(() => {
    if (!whole) return;
    const rows = whole.rows.filter((row) => row.group === "Needs you"), keys = new Set(rows.map((row) => `${row.word} ${row.target.join(" ")}`));
    const fresh = known.current ? rows.filter((row) => !known.current.has(`${row.word} ${row.target.join(" ")}`)) : [];
    known.current = keys;
    if (fresh.length) say(`${many(rows.length, "needs", "need")} you. New: ${fresh.slice(0, 3).map((row) => `${row.who}, ${row.word}${row.task ? ` for task ${row.task}` : ""}`).join("; ")}`);
  }, [whole?.rows]);
  return html`<p class="vh" aria-live="polite" id="heard"><${Line} text=${said} /></p>`;
}

const KEYS = [
  ["1 … 9", "overview, board, agents, mail, approvals, merge queue, work-sync, timeline, problems"], ["j k", "the next row, the one before; Enter opens it"],
  ["a a, x x", "approve, deny, with two presses; approve where the whole command is in sight"], ["m", "write, where there is somebody to write to"],
  ["/", "search, or filter"], ["← → + − 0", "in the graph: move, zoom, all of it; in the replay: from mark to mark, with Shift a tenth of the whole"], ["Esc", "leave what is open"], ["?", "these keys"],
];

export function Keys({ isOpen, close }) {
  const dialog = useRef(null);
  useEffect(() => {
    if (isOpen && !dialog.current.open) dialog.current.showModal();
    if (!isOpen && dialog.current.open) dialog.current.close();
  }, [isOpen]);
  return html`<dialog class="panel keys" ref=${dialog} aria-label="Keys" onClose=${close}><header><h2>Keys</h2><button type="button" class="btn quiet push" onClick=${close}>Close</button></header><dl class="pad kv">${KEYS.map(([key, does]) => html`<dt><kbd>${key}</kbd></dt><dd>${does}</dd>`)}</dl></dialog>`;
}

