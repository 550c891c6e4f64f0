// What the page knows: who looks, which teams there are, the team that is open, and whether anybody answers.
// One value; parts ask for it and are drawn anew when it changes.

import { encoded, get, onTime, post, Refused, teamPath } from "./api.js";
import { applied, arrived } from "./change.js";
import { path } from "./route.js";
import { learnVendors } from "./signs.js";
import { isHeld, whenFree } from "./steady.js";
import { Stream } from "./stream.js";
import { useEffect, useRef, useState } from "./view.js";

/** state: `starting`, `in`, `out` (no login), `nobody` (no answer at the start) */
export const world = {
  state: "starting", why: null, hello: null, teams: null, team: "", whole: null, gone: false, missing: null,
  isLive: true, downSince: null, again: 0, notice: null, given: null,
};
const watchers = new Set();
let stream = null;
/** What the server told last. It is shown, as `world.whole`, when nothing would move under a finger. */
let latest = null;

export function changed(news = {}) {
  Object.assign(world, news);
  for (const watcher of [...watchers]) watcher();
}

/** Draws the part that asks anew whenever the world changes. */
export function useWorld() {
  const [, set] = useState(0);
  useEffect(() => {
    const watcher = () => set((n) => n + 1);
    watchers.add(watcher);
    return () => watchers.delete(watcher);
  }, []);
  return world;
}

/**
 * By how much the server's clock is ahead of ours. A whole is kept as long as nothing changes, and its `now` with it: it
 * may be minutes old when it comes. So the latest of all times that were told counts; a beat is told when it is sent.
 */
let ahead = null;

function toldNow(seconds, isExact = false) {
  const found = seconds - Date.now() / 1000;
  if (isExact || ahead === null || found > ahead) ahead = found;
}
onTime((seconds) => toldNow(seconds));

/** Seconds, as the server's clock says; it stands still while nobody answers. */
export function now() {
  const { isLive, downSince } = world;
  return (isLive ? Date.now() : downSince ?? Date.now()) / 1000 + (ahead ?? 0);
}

// Signing in.

export async function begin() {
  const key = location.pathname === "/login" ? location.hash.slice(1) : "";
  const team = new URLSearchParams(location.search).get("team");
  if (location.pathname === "/login") history.replaceState(null, "", team ? path(team) : "/"); // at once: the key is in no history, no title
  try {
    if (key) await post("/api/login", { key });
    await hello();
  } catch (error) {
    await refused(error, Boolean(key));
  }
}

/** A link that was used up may be one's own: whoever is signed in already goes on. */
async function refused(error, hadKey) {
  if (!(error instanceof Refused)) throw error;
  if (hadKey && error.status) {
    try { return await hello(); } catch { /* not signed in: the reason is that of the link */ }
  }
  changed(error.status ? { state: "out", why: error } : { state: "nobody", why: error });
}

async function hello() {
  const [said, teams] = await Promise.all([get("/api/hello"), get("/api/teams")]);
  changed({ state: "in", hello: said, teams: teams.teams ?? [], why: null });
}

export async function leave() {
  try { await post("/api/logout"); } catch { /* signed out or not, the page shows nothing any more */ }
  closeTeam();
  changed({ state: "out", why: null, hello: null, teams: null, whole: null });
}

export async function readTeams() {
  try { changed({ teams: (await get("/api/teams")).teams ?? [] }); } catch (error) { signedOut(error); }
}

export const mayAct = () => world.hello?.role === "human";

/** A login that ended meanwhile. */
export function signedOut(error) {
  if (!(error instanceof Refused) || error.status !== 401) return false;
  closeTeam();
  changed({ state: "out", why: null, hello: null });
  return true;
}

// One team.

export function openTeam(team) {
  if (team === world.team) return;
  closeTeam();
  latest = null;
  changed({ team, whole: null, gone: false, missing: null, isLive: true, downSince: null });
  if (!team) return;
  fetchWhole(team);
  stream = new Stream(team, {
    event: (kind, data) => heard(team, kind, data),
    up: () => { if (!world.isLive) changed({ isLive: true, downSince: null }); },
    down: (again) => changed({ isLive: false, downSince: world.downSince ?? Date.now(), again }),
    version: () => latest?.version ?? "",
    refused: () => get("/api/hello").catch(signedOut),
  });
}

function closeTeam() {
  stream?.end();
  stream = null;
  world.team = "";
}

export const tryNow = () => stream?.now();

let fetching = "";
async function fetchWhole(team) {
  if (fetching === team) return;
  fetching = team;
  try {
    const said = await get(teamPath(team));
    if (world.team === team) take(said);
  } catch (error) {
    if (!signedOut(error) && world.team === team && error.status === 404) changed({ missing: error });
  } finally { fetching = ""; }
}

/** Versions are `r7-12`: what is older than what we have came late, on another way. */
const isOlder = (said, whole) => {
  const [, run, count] = /^(.*)-(\d+)$/.exec(said) ?? [], [, hadRun, hadCount] = /^(.*)-(\d+)$/.exec(whole) ?? [];
  return run !== undefined && run === hadRun && Number(count) < Number(hadCount);
};

function take(said) {
  if (latest && isOlder(said.version, latest.version)) return;
  toldNow(said.now);
  learnVendors(said.vendors);
  latest = arrived(said);
  world.missing = null;
  show();
}

/** News wait for the finger; the first that is known of a team does not. */
function show() {
  if (world.whole && isHeld()) whenFree(show);
  else if (latest && latest !== world.whole) changed({ whole: latest });
}

function heard(team, kind, data) {
  if (team !== world.team) return;
  if (kind === "snapshot") take(data);
  else if (kind === "gone") changed({ gone: true });
  else if (kind === "beat") toldNow(data.now, true);
  else if (kind === "change" && latest?.version !== data.version) {
    toldNow(data.now);
    const next = applied(latest, data);
    if (!next) { fetchWhole(team); return; }
    latest = next;
    show();
  }
}

// Doing something.

/** Deeds that answer somebody, and how it is said afterwards that one did them. */
export const ANSWERS = { approve: "approved", deny: "denied", "deny and say why": "denied", "approve the plan": "approved the plan", "reject the plan": "sent the plan back", answer: "answered" };

/** What was answered on this page last, if it was about this. */
export const givenFor = (kind, id) => (world.given?.kind === kind && world.given.id === id ? world.given : null);

/** Asks the server to run the command that an offer shows, and says what came of it. */
export async function doDeed(kind, id, offer, text = "") {
  changed({ notice: { command: offer.command, state: "runs" } });
  try {
    const said = await post(teamPath(world.team, "/deeds"), { kind, id, deed: offer.deed, text });
    const given = said.code || !ANSWERS[offer.word] ? world.given : { kind, id, word: offer.word, text, at: now() };
    changed({ given, notice: { command: said.command ?? offer.command, state: said.code ? "failed" : "done", said: said.said ?? "" } });
    return !said.code;
  } catch (error) {
    if (!signedOut(error)) changed({ notice: { command: error.command || offer.command, state: "failed", said: error.message, remedy: error.remedy } });
    return false;
  }
}

// Reading what is not in the snapshot.

const kept = new Map();
/** When each was asked for last: a team that changes quickly must not make many ask at once. */
const asked = new Map();
const MOST_KEPT = 60;
const PAUSE = 2000;

/**
 * What a command of atm prints, read again when the team changes, at most every two seconds.
 * @returns {{value: any, command: string, at: number|null, error: Refused|null, again: () => void}}
 */
export function useRead(what, id = "", { every = 0, team = world.team, isOn = true } = {}) {
  const key = `${team}\u0000${what}\u0000${id}`;
  const version = world.whole?.version, [tries, retry] = useState(0);
  useEffect(() => {
    if (!isOn || !team) return undefined;
    let isHere = true, timer = 0;
    const read = async () => {
      asked.set(key, Date.now());
      try {
        const said = await get(teamPath(team, `/read/${what}${id === "" ? "" : `?id=${encoded(id)}`}`));
        if (kept.get(key)?.value) await new Promise(whenFree); // it is read again: its news wait too
        keep(key, { ...said, error: null });
      } catch (error) {
        if (signedOut(error)) return;
        keep(key, { ...(kept.get(key) ?? {}), error });
      }
      // Drawn even if another effect has taken over meanwhile: what was read is for all who look at it.
      changed();
      if (isHere && every) timer = setTimeout(read, every);
    };
    const age = Date.now() - (asked.get(key) ?? 0);
    timer = setTimeout(read, age > PAUSE ? 0 : PAUSE - age);
    return () => { isHere = false; clearTimeout(timer); };
  }, [key, isOn, tries, every ? 0 : version]);
  const found = kept.get(key);
  const again = () => { asked.delete(key); kept.delete(key); retry(tries + 1); };
  return { value: found?.value ?? null, command: found?.command ?? "", at: found?.at ?? null, error: found?.error ?? null, again };
}

function keep(key, value) {
  kept.delete(key);
  kept.set(key, value);
  if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value);
}

/** What can be done with one thing. */
export function useOffers(kind, id, isOn = true) {
  const [found, set] = useState({ key: "", offers: [] });
  const key = `${kind}\u0000${id}`, version = world.whole?.version, known = useRef("");
  useEffect(() => {
    if (!isOn || !id || !mayAct()) return undefined;
    let isHere = true;
    get(teamPath(world.team, `/offers?kind=${encoded(kind)}&id=${encoded(id)}`))
      .then((said) => {
        const show = () => { if (isHere) set({ key, offers: said.offers ?? [] }); };
        if (known.current === key) whenFree(show); else show();
      }, signedOut);
    return () => { isHere = false; };
  }, [key, version, isOn]);
  known.current = found.key;
  return found.key === key ? found.offers : [];
}

/** Once, without the stream: marks of the replay, and the like. */
export function useOnce(path, isOn = true) {
  const [found, set] = useState({ path: "", value: null, error: null });
  useEffect(() => {
    if (!isOn) return undefined;
    let isHere = true;
    get(path).then((value) => { if (isHere) set({ path, value, error: null }); },
      (error) => { if (isHere && !signedOut(error)) set({ path, value: null, error }); });
    return () => { isHere = false; };
  }, [path, isOn]);
  return found.path === path ? found : { ...found, isOld: true };
}

// The clock.

const tickers = new Set();
setInterval(() => { for (const ticker of tickers) ticker(); }, 1000);

/** Draws the part that asks anew every second. */
export function useTick() {
  const [, set] = useState(0);
  useEffect(() => {
    const ticker = () => set((n) => n + 1);
    tickers.add(ticker);
    return () => tickers.delete(ticker);
  }, []);
}
