// Buttons that run commands. Each shows its command; what cannot be taken back wants a second press within two seconds.

import { doDeed, mayAct, world } from "../live.js";
import { classes, html, useEffect, useRef, useState } from "../view.js";
import { Same } from "./said.js";

const ARMED = 2000;
const label = (word) => word.charAt(0).toUpperCase() + word.slice(1);
const SAYS = { "read it": "Mark as read",  cancel: "Cancel the task", reopen: "Reopen the task", resume: "Resume", kill: "Kill it", skip: "Skip it", "it is resolved": "It is resolved" };
/** On the button that sends what was typed. */
const SENDS = { write: "Send", reply: "Send", answer: "Send the answer", "deny and say why": "Deny", "reject the plan": "Send back" };
const WRITES = ["write", "reply"];
const LOOKS = { approve: "primary", resume: "primary", "approve the plan": "primary", deny: "danger", kill: "danger", cancel: "danger", skip: "danger" };

/**
 * One offer as a button. `blocked` says why it cannot be pressed yet.
 * @param {{kind: string, id: string, offer: {deed: string, word: string, command: string, asks: string, twice: boolean}}} given
 */
export function Deed({ kind, id, offer, look, hint, blocked = "", onAsk, says }) {
  const [isArmed, arm] = useState(false), [runs, run] = useState(false);
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  const press = async () => {
    if (offer.asks) return onAsk?.(offer);
    if (offer.twice && !isArmed) {
      arm(true);
      timer.current = setTimeout(() => arm(false), ARMED);
      return undefined;
    }
    clearTimeout(timer.current);
    arm(false);
    run(true);
    await doDeed(kind, id, offer);
    run(false);
    return undefined;
  };
  const text = isArmed ? `Press again: ${offer.word}` : `${says ?? SAYS[offer.word] ?? label(offer.word)}${offer.asks ? "…" : ""}`;
  return html`<button type="button" class=${classes("btn", look ?? LOOKS[offer.word], isArmed && "armed")} title=${blocked || offer.command}
    data-deed=${offer.deed} disabled=${runs || !world.isLive || Boolean(blocked)} onClick=${press}>${text}${hint && html` <kbd>${hint}</kbd>`}</button>`;
}

/** Several offers, and the line to type into for the one that asks. */
export function Deeds({ kind, id, offers, hints = {}, blocked, children, showsSame = true }) {
  const [asking, ask] = useState(null);
  if (!mayAct()) return html`<p class="dim m">You look on as an observer: nothing can be done from this link.</p>`;
  if (!offers.length && !children) return null;
  return html`<div class="act">${children}${offers.map((offer) => html`<${Deed} key=${offer.deed} kind=${kind} id=${id} offer=${offer} hint=${hints[offer.word]}
      blocked=${offer.word.startsWith("approve") ? blocked : ""} onAsk=${(one) => ask(one)} />`)}</div>
    ${asking && html`<${AskBox} kind=${kind} id=${id} offer=${asking} onDone=${() => ask(null)} />`}
    ${showsSame && !asking && offers.length > 0 && html`<${Same} command=${offers[0].command} wide />`}`;
}

/** Where an answer is typed. Ctrl+Enter sends; it stays if it could not be sent. */
export function AskBox({ kind, id, offer, onDone, rows = 3, isFirst = Boolean(onDone), children }) {
  const [text, set] = useState(""), [runs, run] = useState(false);
  const field = useRef(null);
  useEffect(() => { if (isFirst) field.current?.focus(); }, [offer.deed]);
  const send = async () => {
    if (!text.trim() || runs) return;
    run(true);
    const isDone = await doDeed(kind, id, offer, text);
    run(false);
    if (isDone) { set(""); onDone?.(); }
  };
  const onKeyDown = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send();
    if (event.key === "Escape") { event.stopPropagation(); onDone?.(); }
  };
  return html`<div class="answer"><textarea class="field" ref=${field} rows=${rows} data-write=${WRITES.includes(offer.word) || undefined} aria-label=${offer.asks} placeholder=${label(offer.asks)} value=${text}
      disabled=${!world.isLive} onInput=${(event) => set(event.currentTarget.value)} onKeyDown=${onKeyDown}></textarea>
    <div class="head"><button type="button" class="btn primary" disabled=${runs || !text.trim() || !world.isLive} onClick=${send}>${SENDS[offer.word] ?? label(offer.word)}</button>
      ${onDone && html`<button type="button" class="btn quiet" onClick=${onDone}>Cancel</button>`}${children}<span class="push not-phone"><${Same} command=${offer.command} /></span></div></div>`;
}
