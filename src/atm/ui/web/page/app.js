// The page: signs in, follows the path, draws the view. Links are real paths; a click changes the path and nothing else.

import { begin, mayAct, openTeam, useWorld, world } from "./live.js";
import { plain } from "./hidden.js";
import { listen } from "./keys.js";
import { parse } from "./route.js";
import { keepSteady, release } from "./steady.js";
import { html, render, useEffect, useState } from "./view.js";
import { Disconnected, Heard, Keys, Notice, Side, Strip, Tabbar, TITLES } from "./parts/frame.js";
import { Gone, Lost, Missing, Net, Nobody, SignedOut, Starting } from "./views/doors.js";
import { Teams } from "./views/teams.js";
import { Overview } from "./views/overview.js";
import { Board } from "./views/board.js";
import { Task } from "./views/task.js";
import { Agents } from "./views/agents.js";
import { Agent } from "./views/agent.js";
import { Mail } from "./views/mail.js";
import { Approvals } from "./views/approvals.js";
import { Merge } from "./views/merge.js";
import { Sync } from "./views/sync.js";
import { Timeline } from "./views/timeline.js";
import { Replay } from "./views/replay.js";
import { Problems } from "./views/problems.js";
import { Runs } from "./views/runs.js";
import { Sessions } from "./views/sessions.js";
import { Daemon } from "./views/daemon.js";
import { More } from "./views/more.js";

const VIEWS = {
  overview: Overview, board: Board, task: Task, agents: Agents, agent: Agent, mail: Mail, approvals: Approvals, merge: Merge, sync: Sync,
  timeline: Timeline, replay: Replay, problems: Problems, runs: Runs, sessions: Sessions, more: More,
};

let route = parse(location.pathname, location.search);
let redraw = () => {};

/** The daemon is one for all teams: whoever looks at it keeps the menu of the team it came from. */
const teamHere = () => (route.view === "daemon" ? world.team : route.team);
const onlyTeam = () => (world.teams?.length === 1 ? world.teams[0].name : "");

function follow() {
  route = parse(location.pathname, location.search);
  openTeam(route.view === "daemon" ? world.team || onlyTeam() : route.team);
  redraw();
}

/** `isSame`: the same view, another part of it. `isInstead`: the way back does not lead here. */
function go(to, { isSame = false, isInstead = false } = {}) {
  if (to === location.pathname + location.search) return;
  release();
  history[isInstead ? "replaceState" : "pushState"](null, "", to);
  follow();
  if (!isSame) {
    scrollTo(0, 0);
    document.getElementById("main")?.focus({ preventScroll: true });
  }
}

/** Clicks on our own paths. Everything else is the browser's: new tabs, downloads, other hosts. */
function onClick(event) {
  const link = event.target.closest?.("a[href]");
  if (!link || event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const href = link.getAttribute("href") ?? "";
  if (!href.startsWith("/") || href.startsWith("//")) return;
  event.preventDefault();
  go(href, { isSame: link.hasAttribute("data-same") });
}

function title({ view, team, id }) {
  const { state, whole } = world, needs = whole?.counts.needs ?? 0;
  if (state !== "in" || !team) return view === "daemon" ? "Daemon · atm" : "atm";
  const what = view === "task" ? `#${plain(id, 20)}` : view === "agent" ? plain(id, 40) : view === "overview" ? "" : TITLES[view] ?? "";
  return [needs ? `${needs} ${needs === 1 ? "needs" : "need"} you` : "", what, plain(team, 60), "atm"].filter(Boolean).join(" · ");
}

function App() {
  useWorld();
  const [, draw] = useState(0), [isKeys, showKeys] = useState(false);
  useEffect(() => {
    redraw = () => draw((n) => n + 1);
    addEventListener("popstate", follow);
    document.addEventListener("click", onClick);
    listen({ route: () => ({ ...route, team: teamHere() }), go, toggleKeys: () => showKeys((is) => !is) });
    begin().then(follow);
  }, []);
  useEffect(() => { document.title = title(route); });
  if (world.state === "starting") return html`<${Starting} />`;
  if (world.state === "out") return html`<${SignedOut} why=${world.why} />`;
  if (world.state === "nobody") return html`<${Nobody} why=${world.why} />`;
  return html`<a class="vh skip" href="#main">To the content</a><div class=${world.isLive ? "frame" : "frame stale"}>
    <${Side} route=${route} team=${teamHere()} toggleKeys=${() => showKeys((is) => !is)} /><main class="main" id="main" tabindex="-1"><${Net} key=${`${route.team} ${route.view}`}><${Body} route=${route} /></${Net}></main>${teamHere() && html`<${Tabbar} route=${route} team=${teamHere()} />`}</div>
    <${Notice} /><${Heard} /><${Keys} isOpen=${isKeys} close=${() => showKeys(false)} />`;
}

function Body({ route: { view, team, id, at } }) {
  if (view === "teams") return html`<${Teams} go=${go} />`;
  if (view === "daemon") return html`<${Disconnected} /><${Daemon} />`;
  if (view === "lost" || !team) return html`<${Lost} />`;
  if (world.missing) return html`<${Missing} team=${team} why=${world.missing} />`;
  if (!world.whole) return html`<${Disconnected} /><${Starting} />`;
  if (world.gone) return html`<${Gone} team=${team} />`;
  const View = VIEWS[view], { snapshot, cells } = world.whole;
  if (view === "replay") return html`<${Replay} key=${team} team=${team} at=${at} go=${go} />`;
  return html`<${Disconnected} />${!mayAct() && html`<div class="banner">You look on as an observer. You see everything, and nothing can be changed from this link.</div>`}
    <${Strip} seen=${snapshot} cells=${cells} /><${View} key=${`${team}\u0000${view}`} team=${team} id=${id} whole=${world.whole} go=${go} />`;
}

keepSteady();
render(html`<${App} />`, document.getElementById("app"));
