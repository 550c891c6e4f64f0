// Paths are deep links: `/t/TEAM/board`, `/t/TEAM/task/5`. Names of others are one encoded step each, never more.

import { encoded } from "./api.js";

/** The views with digits, in the order of every face. */
export const NUMBERED = ["overview", "board", "agents", "mail", "approvals", "merge", "sync", "timeline", "problems"];
export const OTHERS = ["runs", "sessions", "replay"];
const WITH_ID = { task: "task", agent: "agent", mail: "mail", approvals: "approvals", merge: "merge", runs: "runs", board: "board" };
/** In the place of a thread: the mail that somebody has not read. */
export const UNREAD = "unread";
const PARENT = { task: "board", agent: "agents", more: "timeline" };

/** Which entry of the menu a view belongs to. */
export const entryOf = (view) => PARENT[view] ?? view;

const decoded = (step) => { try { return decodeURIComponent(step); } catch { return step; } };

/** @returns {{view: string, team: string, id: string, at: string}} */
export function parse(pathname, search = "") {
  const steps = pathname.split("/").filter(Boolean);
  const at = new URLSearchParams(search).get("at") ?? "";
  if (!steps.length) return { view: "teams", team: "", id: "", at };
  if (steps[0] === "daemon") return { view: "daemon", team: "", id: "", at };
  if (steps[0] === "login") return { view: "login", team: "", id: "", at };
  if (steps[0] !== "t" || !steps[1]) return { view: "lost", team: "", id: "", at };
  const team = decoded(steps[1]), view = steps[2] ?? "overview", id = steps[3] === undefined ? "" : decoded(steps[3]);
  const known = NUMBERED.includes(view) || OTHERS.includes(view) || view in WITH_ID || view === "more";
  if (!known || steps.length > 4 || (id && !(view in WITH_ID))) return { view: "lost", team, id: "", at };
  if ((view === "task" || view === "agent") && !id) return { view: "lost", team, id: "", at };
  return { view, team, id, at };
}

/** A path of ours. What comes from others is encoded, so it can be no more than one step. */
export function path(team, view = "overview", id = "") {
  const base = `/t/${encoded(team)}`;
  if (view === "overview") return base;
  return id === "" ? `${base}/${view}` : `${base}/${view}/${encoded(id)}`;
}

/** Where the target of a row leads. */
export function targetPath(team, [kind, id]) {
  const made = {
    approval: () => path(team, "approvals", id), task: () => path(team, "task", id), member: () => path(team, "agent", id),
    merge: () => path(team, "merge", id), thread: () => path(team, "mail", id), message: () => path(team, "mail"),
    inbox: () => path(team, "mail", UNREAD), run: () => path(team, "runs", id), session: () => path(team, "sessions"),
    team: () => path(id),
  }[kind];
  return made ? made() : path(team, "problems");
}
