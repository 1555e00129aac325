// Times, amounts and counts as text.

const second = 1000, minute = 60 * second, hour = 60 * minute, day = 24 * hour;

/** @param {number} ms a duration @returns {string} for example 45s, 3m 20s, 5h 12m, 3d 4h */
export function duration(ms) {
  ms = Math.max(0, ms);
  if (ms < minute) return `${Math.floor(ms / second)}s`;
  if (ms < hour) return pair(ms, minute, "m", second, "s");
  if (ms < day) return pair(ms, hour, "h", minute, "m");
  return pair(ms, day, "d", hour, "h");
}

/** @param {number} ms @param {number} large @param {string} l @param {number} small @param {string} s */
function pair(ms, large, l, small, s) {
  const rest = Math.floor((ms % large) / small);
  return `${Math.floor(ms / large)}${l}` + (rest ? ` ${rest}${s}` : "");
}

/** @param {number} ms a duration @returns {string} the largest unit: 45s, 3m, 5h, 12d */
export function age(ms) {
  ms = Math.max(0, ms);
  if (ms < minute) return `${Math.floor(ms / second)}s`;
  if (ms < hour) return `${Math.floor(ms / minute)}m`;
  if (ms < 2 * day) return `${Math.floor(ms / hour)}h`;
  return `${Math.floor(ms / day)}d`;
}

/** @param {number} ms @returns {string} a short duration with fractions: 120 ms, 1.4 s, 3m 20s */
export function precise(ms) {
  if (ms < second) return `${Math.round(ms)} ms`;
  if (ms < 10 * second) return `${(ms / second).toFixed(1)} s`;
  return duration(ms);
}

const two = (/** @type {number} */ n) => String(n).padStart(2, "0");

/** @param {number|string|Date} t @returns {string} local time, the same in all languages */
export function local(t) {
  const d = new Date(t);
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}

/** @param {number|string|Date} t @returns {string} */
export function utc(t) {
  return new Date(t).toISOString().replace("T", " ").replace(/(\.000)?Z$/, " UTC");
}

/** @param {number} n @returns {string} 1,234,567 */
export function count(n) {
  return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** @param {number} n @param {string} one @param {string} [many] @returns {string} 1 task, 2 tasks */
export function plural(n, one, many = one + "s") {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/** @param {number} bytes @returns {string} in units of 1024 */
export function bytes(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let i = 0;
  while (bytes >= 1024 && i < units.length - 1) { bytes /= 1024; i++; }
  return `${number(bytes)} ${units[i]}`;
}

/** @param {number} n @returns {string} at most one digit after the point */
export function number(n) {
  return n >= 100 || Number.isInteger(n) ? count(n) : String(Math.round(n * 10) / 10);
}

/** @param {number} part @param {number} whole */
export function percent(part, whole) {
  return whole > 0 ? Math.max(0, Math.min(100, (100 * part) / whole)) : 0;
}
