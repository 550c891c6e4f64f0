// Buttons that run commands. Each shows its command; what cannot be taken back wants a second press within four seconds.
// A button is as wide as the longer of its two labels, so that asking moves nothing.

import { changed, doDeed, mayAct, useWorld, world } from "../live.js";
import { hold, STILL, whenFree } from "../steady.js";
import { classes, html, useEffect, useRef, useState } from "../view.js";
import { Same } from "./said.js";

const ARMED = 4000;
/** Things that a command is about just now, or was until what came of it can be shown: nothing else is done with them. */
const busy = new Set();

const label = (word) => word.charAt(0).toUpperCase() + word.slice(1);
const SAYS = { "read it": "Mark as read",  cancel: "Cancel the task", reopen: "Reopen the task", resume: "Resume", kill: "Kill it", skip: "Skip it", "it is resolved": "It is resolved" };
/** On a button that was pressed once. */
const AGAIN = { cancel: "cancel the task", reopen: "reopen the task", kill: "kill it", skip: "skip it" };
/** On the button that sends what was typed. */
const SENDS = { write: "Send", reply: "Send", answer: "Send the answer", "deny and say why": "Deny", "reject the plan": "Send back" };
const WRITES = ["write", "reply"];
const LOOKS = { approve: "primary", resume: "primary", "approve the plan": "primary", deny: "danger", kill: "danger", cancel: "danger", skip: "danger" };

/**
 * One offer as a button. `blocked` says why it cannot be pressed yet.
 * @param {{kind: string, id: string, offer: {deed: string, word: string, command: string, asks: string, twice: boolean}}} given
 */
export function Deed({ kind, id, offer, look, hint, blocked = "", onAsk, says }) {
  useWorld();
  const [asked, ask] = useState(""), since = useRef(0), timers = useRef([]), key = `${kind}\u0000${id}`;
  const rest = () => { timers.current.forEach(clearTimeout); ask(""); };
  useEffect(() => () => timers.current.forEach(clearTimeout), []);
  const press = async (event) => {
    if (offer.asks) return onAsk?.(offer);
    if (offer.twice && !asked) {
      since.current = performance.now();
      ask("asked");
      hold(ARMED + STILL); // what is asked about stays in its place
      timers.current = [setTimeout(() => ask("armed"), STILL), setTimeout(rest, ARMED)];
      return undefined;
    }
    // Two taps in one movement of the hand are one; keys cannot slip from one button to another.
    if (offer.twice && event.detail > 0 && performance.now() - since.current < STILL) return undefined;
    rest();
    busy.add(key);
    changed();
    const isDone = await doDeed(kind, id, offer);
    const free = () => { busy.delete(key); changed(); };
    if (isDone) whenFree(free); else free();
    return undefined;
  };
  const onKeyDown = (event) => { if (event.repeat && (event.key === "Enter" || event.key === " ")) event.preventDefault(); };
  const text = `${says ?? SAYS[offer.word] ?? label(offer.word)}${offer.asks ? "…" : ""}`;
  return html`<button type="button" class=${classes("btn", look ?? LOOKS[offer.word], asked === "armed" && "armed")} title=${blocked || offer.command}
    data-deed=${offer.deed} disabled=${busy.has(key) || !world.isLive || Boolean(blocked)} onClick=${press} onKeyDown=${onKeyDown}><span class="labels"><span class=${asked ? "off" : ""}>${text}</span>${offer.twice && html`<span class=${asked ? "" : "off"}>Yes, ${AGAIN[offer.word] ?? offer.word}</span>`}</span>${hint && html` <kbd>${hint}</kbd>`}</button>`;
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
