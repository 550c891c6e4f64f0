// One shape for each state. Word and tone of a task come from the server (`task.shown`); here are those of everything else. Never colour alone.

/** word → [shape, meaning] */
const SIGNS = {
  command: ["you", "you"], question: ["you", "you"], mail: ["you", "you"], merge: ["you", "you"], you: ["you", "you"],
  "run paused": ["you", "you"], "run held": ["you", "you"], "run stopped": ["you", "you"], "run suspended": ["you", "you"], suspended: ["you", "you"], paused: ["you", "you"], held: ["you", "you"], partial: ["problem", "broken"],
  "run died": ["problem", "broken"], died: ["problem", "broken"],
  plan: ["plan", "you"], planning: ["plan", "moving"],
  stalled: ["problem", "broken"], gone: ["problem", "broken"], crashed: ["problem", "broken"], "given up": ["problem", "broken"], trouble: ["problem", "broken"],
  unreadable: ["problem", "broken"], late: ["problem", "broken"], stopped_early: ["problem", "broken"],
  plan_waits: ["plan", "you"], to_retry: ["problem", "broken"], to_merge: ["merged", "proven"], not_merged: ["failed", "broken"], left_out: ["skipped", "rest"], approval: ["you", "you"],
  conflict: ["conflict", "broken"], conflict_detected: ["conflict", "broken"], collides: ["conflict", "broken"],
  failed: ["failed", "broken"], unreachable: ["failed", "broken"], denied: ["failed", "broken"], expired: ["failed", "broken"], error: ["failed", "broken"],
  working: ["working", "moving"], in_progress: ["working", "moving"], resolved: ["working", "moving"], starting: ["working", "moving"], running: ["working", "moving"], active: ["working", "moving"],
  merging: ["working", "moving"], review: ["review", "moving"],
  idle: ["idle", "rest"], ready: ["ready", "rest"], pending: ["ready", "rest"], queued: ["ready", "rest"], online: ["ready", "rest"], person: ["idle", "rest"], waiting: ["you", "you"],
  blocked: ["blocked", "rest"], stopped: ["idle", "rest"], offline: ["idle", "rest"], cancelled: ["skipped", "rest"], skipped: ["skipped", "rest"],
  completed: ["done", "proven"], done: ["done", "proven"], approved: ["done", "proven"], success: ["done", "proven"], merged: ["merged", "proven"],
};
const UNKNOWN = ["unknown", "rest"];

/** Work-sync has its own words. Not to know is no fault, so none of them has a colour of alarm. */
const SYNC_SHAPES = { Synced: "done", Working: "working", "Needs sync": "ready", Paused: "ready", Blocked: "blocked" };
export const syncShape = (label) => (Object.hasOwn(SYNC_SHAPES, label) ? SYNC_SHAPES[label] : "unknown");

/** @returns {[string, string]} shape and meaning */
export const sign = (word) => (Object.hasOwn(SIGNS, word) ? SIGNS[word] : UNKNOWN);

const WORDS = { person: "a person",  in_progress: "in progress", conflict_detected: "conflict", pending: "ready", completed: "done" };
export const word = (state) => (Object.hasOwn(WORDS, state) ? WORDS[state] : String(state ?? "unknown").replaceAll("_", " "));

/** Two letters, and the name behind them: what the server knows of vendors comes with each whole. */
const NAMES = new Map();
export function learnVendors(names) {
  for (const [tag, name] of Object.entries(names ?? {})) NAMES.set(tag, name);
}
export const vendorName = (tag) => NAMES.get(tag) ?? "an agent of an unknown kind";
export const vendorOf = (member) => member?.vendor ?? "";

/** What the server shows of a task; a task that is not on the board is unknown. @returns {{state: string, word: string, tone: string, column: string}} */
export const shownOf = (task) => task?.shown ?? UNSEEN;
const UNSEEN = { state: "unknown", word: "unknown", tone: "rest", column: "not_done" };

/** The columns of the board, from what is held up to what is done; the last is there when something is in it. */
export const LANES = [
  ["blocked", "Blocked", "blocked", "rest"], ["ready", "Ready", "ready", "rest"], ["planning", "Planning", "plan", "moving"],
  ["in_progress", "In progress", "working", "moving"], ["review", "Review", "review", "moving"], ["done", "Done", "done", "proven"], ["not_done", "Not done", "failed", "broken"],
];
export const laneOf = (task) => shownOf(task).column;

const OWN_LOOK = { completed: "done", merged: "done", to_merge: "merging", merging: "merging", review: "review", blocked: "blocked", cancelled: "over", left_out: "over" };
const OF_TONE = { you: "you", broken: "broken", moving: "moving", proven: "done", rest: "ready" };
/** How a cell of the strip looks: what holds the task up besides the board, else its state. */
export function lookOf(task, cells) {
  const held = cells?.[task.id], { state, tone } = shownOf(task);
  if (held === "approval") return "you";
  if (held === "stalled") return "broken";
  return Object.hasOwn(OWN_LOOK, state) ? OWN_LOOK[state] : OF_TONE[tone] ?? "ready";
}

/** The word for a member, as the overview has it. People are not watched: whether one is there nobody knows. */
export function memberWord(member, rows) {
  if (member.kind === "human") return "person";
  const of = rows.filter((one) => one.who === member.name && one.state !== "mail"), row = of.find((one) => one.group === "Problems") ?? of[0];
  return row?.state ?? (member.liveness === "online" ? "online" : member.liveness) ?? "unknown";
}
