// What the server tells of a team, and how a change is worked into it. Pure: what did not change stays the same object,
// so that rows which show it need not be drawn again.

/**
 * @typedef {{version: string, now: number, snapshot: object, rows: object[], cells: Object<string, string>,
 *   counts: {needs: number, problems: number}}} Whole
 */

/** Ages are as of the message that brings them, and are not told again while they only grow: they become times. */
const timed = (one, now) => ({ ...one, heard_at: ago(one.liveness_age_seconds, now) });
const timedRow = (row, now) => ({ ...row, at: ago(row.age, now) });
const ago = (seconds, now) => (typeof seconds === "number" ? now - seconds : null);

/** A whole as it came, with times instead of ages. */
export function arrived(said) {
  const snapshot = { ...said.snapshot, tasks: said.snapshot.tasks ?? [], members: (said.snapshot.members ?? []).map((one) => timed(one, said.now)) };
  return { ...said, snapshot, rows: (said.rows ?? []).map((row) => timedRow(row, said.now)), cells: said.cells ?? {}, counts: said.counts ?? {} };
}

/** @returns {Whole|null} null if the change is not about what we have: then the whole is fetched again */
export function applied(whole, change) {
  if (!whole || change.from !== whole.version) return null;
  const snapshot = { ...whole.snapshot, ...(change.snapshot ?? {}) };
  snapshot.tasks = list(whole.snapshot.tasks ?? [], change.tasks, "id");
  snapshot.members = list(whole.snapshot.members ?? [], change.members, "name", (one) => timed(one, change.now));
  return {
    version: change.version, now: change.now, snapshot,
    rows: change.rows ? kept(whole.rows, change.rows.map((row) => timedRow(row, change.now))) : whole.rows,
    cells: cells(whole.cells, change.cells),
    counts: change.counts ?? whole.counts,
  };
}

function list(before, change, key, made = (one) => one) {
  if (!change) return before;
  const gone = new Set(change.gone ?? []);
  const changed = new Map((change.changed ?? []).map((one) => [one[key], made(one)]));
  if (!gone.size && !changed.size && !change.order) return before;
  const now = new Map();
  for (const one of before) if (!gone.has(one[key])) now.set(one[key], one);
  for (const [id, one] of changed) now.set(id, one);
  return change.order ? change.order.map((id) => now.get(id)).filter(Boolean) : [...now.values()];
}

export const rowKey = (row) => `${row.group}\u0000${row.state}\u0000${row.target.join("\u0000")}\u0000${row.who}`;

const NEAR = 2.5;
const SAME = ({ age, right, at, ...rest }) => JSON.stringify(rest);
const isSameTime = (a, b) => a === b || (a !== null && b !== null && Math.abs(a - b) < NEAR);

/** A row that says the same as before stays the same object. */
function kept(before, rows) {
  const known = new Map(before.map((row) => [rowKey(row), row]));
  return rows.map((row) => {
    const old = known.get(rowKey(row));
    return old && isSameTime(old.at, row.at) && SAME(old) === SAME(row) ? old : row;
  });
}

function cells(before, change) {
  if (!change || !Object.keys(change).length) return before;
  const now = { ...before };
  for (const [id, word] of Object.entries(change)) {
    if (word === null) delete now[id]; else now[id] = word;
  }
  return now;
}
