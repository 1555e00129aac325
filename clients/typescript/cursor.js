// The position up to which a log was read, and the lines that a resumed log repeats.
//
// Kubernetes resumes a log only from a whole second, so a resumed log repeats lines. A cursor
// remembers the newest lines and not only their times, so that it recognises repeated lines also
// if several lines have the same time, if lines are out of order, or if the log was rotated.

// The largest difference, in seconds, by which the times of lines may be out of order: the
// container runtime reads the two streams of a container independently.
const maxSkew = 1;
const maxLines = 4096; // largest number of lines that a cursor remembers

/** A position in the log of one node. */
export class Cursor {
  constructor() {
    /** @type {{second: number, key: string}[]} */ this.recent = [];
    this.newest = 0; // second
    this.latest = ""; // time
    this.dropped = 0; // newest second of a line that was not remembered for lack of space
    this.empty = true;
  }

  /** Moves the position after a line. @param {number} second @param {string} time @param {string} key */
  advance(second, time, key) {
    if (this.empty) { // lines before the first line that arrives count as read
      this.empty = false;
      this.dropped = second + maxSkew;
    }
    this.newest = Math.max(this.newest, second);
    if (time > this.latest) this.latest = time;
    this.recent.push({ second, key });
    if (this.recent.length >= 2 * maxLines || this.recent[0].second < this.newest - 64) this.trim();
  }

  trim() {
    const from = this.since();
    const recent = this.recent.filter((r) => r.second >= from), more = Math.max(0, recent.length - maxLines);
    for (const r of recent.slice(0, more)) this.dropped = Math.max(this.dropped, r.second);
    this.recent = recent.slice(more);
  }

  /** The second from which to resume the log. */
  since() { return this.newest - maxSkew; }

  /** Returns a function that recognises the repeated lines of a log that is resumed from since, and the lines that are still to be repeated. The caller calls the function once for each line, in order. */
  repeats() {
    this.trim();
    /** @type {Map<string, number>} */
    const left = new Map();
    for (const { key } of this.recent) left.set(key, (left.get(key) || 0) + 1);
    const from = this.since(), latest = this.latest;
    let lost = this.dropped >= from; // older lines were not remembered; they come before the first remembered line
    const has = (/** @type {number} */ second, /** @type {string} */ time, /** @type {string} */ key) => {
      if (!left.size) return false;
      const n = left.get(key);
      if (n) {
        n === 1 ? left.delete(key) : left.set(key, n - 1);
        lost = false;
        return true;
      }
      if (lost && time <= latest) return true;
      lost = false;
      if (second > from + 2 * maxSkew + 1) left.clear(); // lines that were not repeated by now will not be repeated
      return false;
    };
    return { has, left };
  }
}

const head = /^(?:node-(\d+) \| )?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)(?: |$)/;

/** Removes repeated lines from the responses with the log of a task, and knows from where to resume it. */
export class LogPosition {
  constructor() {
    /** @type {Map<number, Cursor>} */ this.cursors = new Map(); // by rank
    /** @type {Map<number, ReturnType<Cursor["repeats"]>>} */ this.again = new Map();
    this.resumable = false;
    this.lines = 0;
  }

  /** The value of X-Log-Resume. */
  token() { return [...this.cursors].sort((a, b) => a[0] - b[0]).map(([rank, c]) => `${rank}@${c.since()}`).join(",") || "start"; }

  /** Whether the server can send the rest of the log. Servers accept about 16 KB of headers. */
  canResume() { return this.resumable && this.token().length <= 12 << 10; }

  /** Whether the response has repeated all lines that a response from this position on repeats. @param {string} rest text after its last newline */
  isWhole(rest) { return (!rest || head.test(rest)) && [...this.again.values()].every(({ left }) => !left.size); }

  /** The second of the newest line. */
  newest() { return Math.max(...[...this.cursors.values()].map((c) => c.newest)); }

  /** Begins a response. @param {boolean} resumable whether each line begins with its time */
  begin(resumable) {
    this.resumable = resumable;
    this.again = new Map([...this.cursors].map(([rank, c]) => [rank, c.repeats()]));
  }

  /** @param {string} line @param {boolean} timestamps @returns {string | null} the line for the caller, or null if the line is a repetition */
  accept(line, timestamps) {
    if (!this.resumable) { this.lines++; return line; }
    const m = head.exec(line);
    if (!m) throw new Error(`the log has a line without its time: ${line.slice(0, 80)}`);
    const rank = Number(m[1] || 0), second = Date.parse(m[2] + m[4]) / 1000, time = `${second}.${(m[3] || "").padEnd(9, "0")}`;
    if (this.again.get(rank)?.has(second, time, line)) return null;
    let cursor = this.cursors.get(rank);
    if (!cursor) this.cursors.set(rank, (cursor = new Cursor()));
    cursor.advance(second, time, line);
    this.lines++;
    return timestamps ? line : (m[1] === undefined ? "" : `node-${m[1]} | `) + line.slice(m[0].length);
  }
}
