// One stream for each team, however many tabs are open. Browsers hold at most six connections to a server, so one tab
// leads: it holds the stream and tells the others. When it closes, the lock passes on, and the next one leads.

import { encoded, teamPath } from "./api.js";

const SILENCE = 40_000;
const AT_ONCE = 300;
const EVENTS = ["snapshot", "change", "beat", "gone"];

export class Stream {
  /**
   * @param {string} team
   * @param {{event: (kind: string, data: object) => void, up: () => void, down: (again: number) => void,
   *   version: () => string, refused: () => void}} told
   */
  constructor(team, told) {
    Object.assign(this, { team, told, source: null, tries: 0, timer: 0, watch: 0, ended: false, leads: false });
    this.stop = new AbortController();
    this.channel = "BroadcastChannel" in window ? new BroadcastChannel(`atm ${team}`) : null;
    if (this.channel) this.channel.onmessage = (message) => this.heard(message.data);
    this.hush();
    // Locks need a secure context: every loopback address is one. Elsewhere each tab has a stream of its own.
    if (this.channel && navigator.locks) {
      navigator.locks.request(`atm ${team}`, { signal: this.stop.signal }, () => this.lead()).catch(() => {});
    } else this.lead();
  }

  /** Holds the lock until the tab leaves the team. */
  lead() {
    if (this.ended) return undefined;
    this.leads = true;
    this.open();
    return new Promise((resolve) => this.stop.signal.addEventListener("abort", resolve));
  }

  open() {
    clearTimeout(this.timer);
    this.source?.close();
    const after = this.told.version();
    const source = new EventSource(teamPath(this.team, `/events${after ? `?after=${encoded(after)}` : ""}`));
    this.source = source;
    for (const kind of EVENTS) source.addEventListener(kind, (event) => this.got(kind, event.data));
    source.onopen = () => { this.tries = 0; this.arrived("beat", null); };
    source.onerror = () => { source.close(); if (source === this.source) this.failed(); };
  }

  got(kind, text) {
    let data = null;
    try { data = JSON.parse(text); } catch { return; }
    this.arrived(kind, data);
    this.channel?.postMessage({ kind, data });
  }

  /** Another tab leads. */
  heard({ kind, data }) {
    if (kind === "try") { if (this.leads) this.now(); }
    else if (kind === "down") { if (!this.leads) this.told.down(data); }
    else this.arrived(kind, data);
  }

  arrived(kind, data) {
    if (this.ended) return;
    this.hush();
    this.told.up();
    if (data) this.told.event(kind, data);
  }

  /** Nothing for so long means that nobody is there, even if the connection stands. */
  hush() {
    clearTimeout(this.watch);
    this.watch = setTimeout(() => { this.source?.close(); this.leads ? this.failed(true) : this.told.down(0); }, SILENCE);
  }

  failed(isSilent = false) {
    if (this.ended) return;
    clearTimeout(this.timer);
    this.tries += 1;
    if (this.tries === 1 && !isSilent) { // a stream may be cut and be there again at once: nothing need blink
      this.timer = setTimeout(() => this.open(), AT_ONCE);
      return;
    }
    clearTimeout(this.watch);
    const wait = Math.min(15, 2 ** (this.tries - 1));
    const again = Date.now() + wait * 1000;
    this.told.down(again);
    this.channel?.postMessage({ kind: "down", data: again });
    this.told.refused();
    this.timer = setTimeout(() => this.open(), wait * 1000);
  }

  /** A person pressed "try now". */
  now() {
    if (this.leads) this.open();
    else this.channel?.postMessage({ kind: "try" });
  }

  end() {
    this.ended = true;
    clearTimeout(this.timer);
    clearTimeout(this.watch);
    this.source?.close();
    this.channel?.close();
    this.stop.abort();
  }
}
