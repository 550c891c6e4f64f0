// Keys, the same as on the screen where both have them. None works while somebody types, or with Ctrl, Alt or Cmd.

import { NUMBERED, path } from "./route.js";

export const isTyping = (target) => target.matches?.("input, textarea, select, [contenteditable]") && !(target.type === "range" || target.type === "checkbox");

/** Rows that can be chosen with j and k, in the order in which they stand. */
const rows = () => [...document.querySelectorAll("#main [data-row]")].filter((one) => one.checkVisibility?.() ?? true);

function step(by) {
  const all = rows();
  if (!all.length) return;
  const at = all.findIndex((one) => one.contains(document.activeElement));
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : (at + by + all.length) % all.length];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

const first = (what) => [...document.querySelectorAll(`#main ${what}`)].find((one) => one.checkVisibility?.() ?? true);

/** Where there is a field to write to somebody in, it is that; else the button that opens one. */
function write() {
  const field = first("textarea[data-write]");
  if (field) { field.focus(); field.scrollIntoView({ block: "nearest" }); } else press("m");
}

/** Presses a button of the view that is marked for this key, if it is there and may be pressed. */
function press(name, isRepeated = false) {
  if (isRepeated) return; // a key that is held down is one press
  const button = [...document.querySelectorAll(`#main [data-press="${name}"] button, #main button[data-press="${name}"]`)].find((one) => !one.disabled);
  button?.click();
}

/** @param {{route: () => {team: string}, go: (path: string) => void, toggleKeys: () => void}} page */
export function listen({ route, go, toggleKeys }) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (isTyping(event.target)) { if (event.key === "Escape") event.target.blur(); return; }
    if (document.querySelector("dialog[open]") && event.key !== "?") return;
    const { team } = route();
    if (/^[1-9]$/.test(event.key) && team) go(path(team, NUMBERED[Number(event.key) - 1]));
    else if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
    else if (event.key === "?") toggleKeys();
    else if (event.key === "!" && team) go(path(team, "problems"));
    else if (event.key === "/") first("[data-filter]")?.focus();
    else if (event.key === "m") write();
    else if (event.key === "a" || event.key === "x" || event.key === "n") press(event.key, event.repeat);
    else return;
    event.preventDefault();
  });
}
