// Calls of the server. Errors become `Refused`, with what to do next.

export class Refused extends Error {
  /** @param {number} status 0: nobody answered */
  constructor(status, error, remedy = "", command = "") {
    super(error);
    Object.assign(this, { status, remedy, command });
  }
}

const TOO_LONG = 25_000;

let told = () => {};
/** Whoever keeps the clock is told the time of each answer. */
export const onTime = (listener) => { told = listener; };

async function call(path, options = {}) {
  let answer;
  try {
    answer = await fetch(path, { ...options, credentials: "same-origin", cache: "no-store", redirect: "error", signal: AbortSignal.timeout(TOO_LONG) });
  } catch {
    throw new Refused(0, "The page got no answer.", "See whether the daemon runs: atm daemon status");
  }
  const date = Date.parse(answer.headers.get("Date") ?? "");
  if (!Number.isNaN(date)) told(date / 1000);
  let said = {};
  try { said = await answer.json(); } catch { /* a proxy's page, or cut short: the status says enough */ }
  if (answer.ok) return said;
  const wait = answer.status === 429 ? `Wait ${Number(answer.headers.get("Retry-After")) || 1} s.` : "";
  throw new Refused(answer.status, String(said.error ?? `The server said ${answer.status}.`), String(said.remedy ?? wait), String(said.command ?? ""));
}

export const get = (path) => call(path);

/** The header is what another site cannot send without being asked about it first. */
export const post = (path, body = {}) => call(path, {
  method: "POST", headers: { "Content-Type": "application/json", "X-Atm": "page" }, body: JSON.stringify(body),
});

/** One step of a path, or one value. Halves of characters cannot be written there: they are replaced, not refused. */
export const encoded = (text) => encodeURIComponent(String(text).replaceAll(/[\ud800-\udfff]/gu, "\ufffd"));

export const teamPath = (team, rest = "") => `/api/teams/${encoded(team)}${rest}`;
