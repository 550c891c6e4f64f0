// Times and numbers as people say them: `41 s`, `17 min`, `1 h 02`, `3 d`; `14:35:02`. Pure.

/** How long; empty for what nobody knows. @param {number|null|undefined} seconds */
export function span(seconds) {
  if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return "";
  const whole = Math.floor(Math.max(0, seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min`;
  if (whole < 86400) return `${Math.floor(whole / 3600)} h ${two(Math.floor(whole % 3600 / 60))}`;
  return `${Math.floor(whole / 86400)} d`;
}

/** Time left, with its seconds: somebody has to be quick. */
export function left(seconds) {
  const whole = Math.floor(Math.max(0, seconds));
  if (whole >= 3600) return `${Math.floor(whole / 3600)} h ${two(Math.floor(whole % 3600 / 60))}`;
  return `${Math.floor(whole / 60)}:${two(whole % 60)}`;
}

const two = (number) => String(number).padStart(2, "0");

/** Epoch seconds of a time that was written down; null if it cannot be read. */
export function epoch(at) {
  if (typeof at === "number") return at;
  const found = typeof at === "string" ? Date.parse(at) : NaN;
  return Number.isNaN(found) ? null : found / 1000;
}

/** The time of day, here; with the date in front if it is another day than `today`. */
export function clock(at, { seconds = true, tenths = false, today = null } = {}) {
  const then = epoch(at);
  if (then === null) return "unknown";
  const date = new Date(then * 1000);
  const said = `${two(date.getHours())}:${two(date.getMinutes())}${seconds ? `:${two(date.getSeconds())}` : ""}${tenths ? `.${Math.floor(date.getMilliseconds() / 100)}` : ""}`;
  const other = today !== null && new Date(today * 1000).toDateString() !== date.toDateString();
  return other ? `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${said}` : said;
}

/** `1.9 M`, `12 k`, `148`. */
export function short(number) {
  if (number === null || number === undefined) return "unknown";
  if (number >= 1e6) return `${(number / 1e6).toFixed(1)} M`;
  if (number >= 1e4) return `${Math.round(number / 1e3)} k`;
  return Math.round(number).toLocaleString("en");
}

/** What an agent, a run or a team costs, in the words of the server: a known part is never shown as the whole. */
export const cost = (of) => of?.cost_estimate?.text ?? "unknown";

export const money = (amount) => (amount === null || amount === undefined ? "unknown" : `$${amount.toFixed(2)}`);

/** Whole percents that add up to 100: what is lost by cutting goes to those that lost most. */
export function percents(numbers) {
  const total = numbers.reduce((sum, number) => sum + number, 0);
  if (!total) return numbers.map(() => 0);
  const exact = numbers.map((number) => 100 * number / total), found = exact.map(Math.floor);
  const rest = 100 - found.reduce((sum, number) => sum + number, 0);
  const first = exact.map((share, at) => [share - found[at], at]).sort((a, b) => b[0] - a[0] || a[1] - b[1]).slice(0, rest);
  for (const [, at] of first) found[at] += 1;
  return found;
}

/** `1 task`, `3 tasks`. */
export const many = (number, one, more = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : more}`;
