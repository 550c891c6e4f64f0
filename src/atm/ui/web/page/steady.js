// Nothing moves under a finger. News wait while a person presses, and a button that has just come to a place where another
// one was, or has just moved, takes no press: the finger was aimed at what was there before.

/** Milliseconds for which news wait after a press. */
const REST = 1500;
/** A finger that stays down holds them no longer than this. */
const LONGEST = 10_000;
/** Milliseconds that a button must have stood still before a press on it counts. */
export const STILL = 400;
const NEAR = 3;
const WATCHED = "#main button, #main a.btn, .notice-box button";
const KEYS = ["Enter", " ", "a", "x", "n"];

// News wait.

let until = 0, timer = 0;
const waiting = new Set();

export const isHeld = () => performance.now() < until;

/** Calls back as soon as news may be shown: at once, if nothing is held. */
export function whenFree(listener) {
  if (isHeld()) waiting.add(listener); else listener();
}

/** Keeps news back for so long at least. */
export function hold(milliseconds = REST) {
  until = Math.max(until, performance.now() + milliseconds);
  wake();
}

/** A person goes elsewhere or scrolls: what was aimed at is left. */
export function release() {
  until = 0;
  wake();
}

function wake() {
  clearTimeout(timer);
  if (isHeld()) timer = setTimeout(wake, until - performance.now() + 1);
  else {
    const all = [...waiting];
    waiting.clear();
    for (const one of all) one();
  }
}

// Presses on what has just moved.

/** Of each button: where it was last, in the window and in the document, and when it came there by a move. */
const places = new WeakMap();
/** Boxes in the window of all buttons, and of those that went less than a moment ago. */
let boxes = new Map(), isStale = false;

const isElsewhere = (a, b) => Math.abs(a.x - b.x) > NEAR || Math.abs(a.y - b.y) > NEAR;
const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

/** Whatever scrolls, the page or a box in it: a person moved it, so the buttons are where that person sees them. */
function scrolled() {
  for (const one of document.querySelectorAll(WATCHED)) {
    const box = one.getBoundingClientRect(), before = places.get(one);
    if (!box.width || !before) continue;
    places.set(one, { ...before, inWindow: { x: box.left, y: box.top }, inDocument: { x: box.left + scrollX, y: box.top + scrollY } });
    boxes.set(one, { box, goneAt: 0 });
  }
}

/** A button that scrolls keeps its place in the document, and one that is fixed its place in the window. */
function look() {
  isStale = false;
  const at = performance.now(), found = new Map();
  for (const one of document.querySelectorAll(WATCHED)) {
    const box = one.getBoundingClientRect();
    if (!box.width) continue;
    const before = places.get(one), inWindow = { x: box.left, y: box.top }, inDocument = { x: box.left + scrollX, y: box.top + scrollY };
    const isNews = before ? isElsewhere(before.inWindow, inWindow) && isElsewhere(before.inDocument, inDocument)
      : [...boxes].some(([other, last]) => other !== one && overlap(last.box, box));
    places.set(one, { inWindow, inDocument, movedAt: isNews ? at : before?.movedAt ?? -Infinity });
    found.set(one, { box, goneAt: 0 });
  }
  for (const [one, last] of boxes) {
    const goneAt = last.goneAt || at;
    if (!found.has(one) && at - goneAt < STILL) found.set(one, { box: last.box, goneAt });
  }
  boxes = found;
}

function stale() {
  if (isStale) return;
  isStale = true;
  requestAnimationFrame(() => { if (isStale) look(); });
}

/** Keys have no place on the screen: only what a pointer presses is judged. */
function judge(event) {
  if (event.detail === 0) return;
  const button = event.target.closest?.(WATCHED);
  if (!button) return;
  if (isStale) look();
  if (performance.now() - (places.get(button)?.movedAt ?? -Infinity) >= STILL) return;
  event.preventDefault();
  event.stopImmediatePropagation();
}

/** Once, when the page begins. */
export function keepSteady() {
  addEventListener("pointerdown", (event) => { if (event.target.closest?.("#main")) hold(LONGEST); }, true);
  addEventListener("pointerup", () => { if (isHeld()) { until = 0; hold(); } }, true);
  for (const leaving of ["pointercancel", "wheel"]) addEventListener(leaving, release, { capture: true, passive: true });
  addEventListener("keydown", (event) => { if (KEYS.includes(event.key)) hold(); }, true);
  document.addEventListener("click", judge, true);
  new MutationObserver(stale).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
  addEventListener("resize", stale);
  addEventListener("scroll", scrolled, { capture: true, passive: true });
}
