// The lines of a log as bytes. A million lines of a hundred bytes take about 120 MB outside of
// the heap; only the lines on the screen become text.

const blockSize = 4 << 20;
const maxLine = 1 << 20; // bytes of a line that are kept; the download has all
const newline = 10, space = 32, bracket = 91;
// The note in front of the lines of an archived log that lacks its beginning.
const cutNote = /^\[k8s-cli: \d+ bytes (?:in (\d+) lines )?before this line were not archived/;

/** @template {Uint32Array | Float64Array | Uint16Array} T @param {T} a @param {number} n @returns {T} an array with room for n values */
function grow(a, n) {
  if (n <= a.length) return a;
  const bigger = /** @type {T} */ (new /** @type {any} */ (a.constructor)(Math.max(1024, Math.ceil(a.length * 1.5), n)));
  bigger.set(/** @type {any} */ (a));
  return bigger;
}

export class LogStore {
  /**
   * @param {{ranked: boolean, first?: {rank: number, number: number}}} o ranked lines begin with
   * node-RANK and a bar; first is the first line, unless the log begins with line 1
   */
  constructor({ ranked, first }) {
    this.ranked = ranked;
    this.before = first ? first.number - 1 : 0; // number of the line before the first one
    this.length = 0;
    this.bytes = 0;
    /** @type {Uint8Array[]} */ this.blocks = [];
    this.free = blockSize; // position in the last block
    this.starts = new Uint32Array(0); // block * blockSize + position
    this.sizes = new Uint32Array(0);
    this.times = new Float64Array(0); // milliseconds since 1970, 0 if unknown
    this.ranks = new Uint16Array(0);
    this.numbers = new Uint32Array(0); // number of the line in the log of its node
    /** @type {Map<number, number>} number of the last line of each rank */ this.perRank = new Map();
    if (first) this.perRank.set(first.rank, this.before);
    /** @type {Uint8Array} */ this.rest = new Uint8Array(0);
    this.decoder = new TextDecoder();
    this.secondText = "";
    this.secondTime = 0;
  }

  /** Adds bytes of the log, which may end inside of a line. @param {Uint8Array} data @param {(line: Uint8Array) => boolean} [skip] */
  append(data, skip) {
    let from = 0;
    const first = data.indexOf(newline);
    if (this.rest.length) {
      const joined = new Uint8Array(this.rest.length + (first < 0 ? data.length : first));
      joined.set(this.rest);
      joined.set(first < 0 ? data : data.subarray(0, first), this.rest.length);
      if (first < 0) { this.rest = joined.length > maxLine + 256 ? joined.slice(0, maxLine + 256) : joined; return; }
      this.rest = new Uint8Array(0);
      if (!skip?.(joined)) this.add(joined);
      from = first + 1;
    }
    for (let end = data.indexOf(newline, from); end >= 0; end = data.indexOf(newline, from)) {
      const line = data.subarray(from, end);
      if (!skip?.(line)) this.add(line);
      from = end + 1;
    }
    if (from < data.length) this.rest = data.slice(from);
  }

  /** Adds the last line, if the log does not end with a newline. */
  finish() {
    if (!this.rest.length) return;
    const line = this.rest;
    this.rest = new Uint8Array(0);
    this.add(line);
  }

  /** @param {Uint8Array} line */
  add(line) {
    let at = 0, rank = 0;
    if (this.ranked) [rank, at] = this.prefix(line);
    const [time, after] = this.time(line, at);
    this.store(line.subarray(after), rank, time);
  }

  /** @param {Uint8Array} line @param {number} rank @param {number} time */
  store(line, rank, time) {
    const size = Math.min(line.length, maxLine), n = this.length;
    if (this.free + size > blockSize) { this.blocks.push(new Uint8Array(blockSize)); this.free = 0; }
    const block = this.blocks.length - 1;
    this.blocks[block].set(size < line.length ? line.subarray(0, size) : line, this.free);
    this.starts = grow(this.starts, n + 1);
    this.sizes = grow(this.sizes, n + 1);
    this.times = grow(this.times, n + 1);
    this.starts[n] = block * blockSize + this.free;
    this.sizes[n] = size;
    this.times[n] = time;
    const number = (this.perRank.get(rank) ?? this.missing(line)) + 1;
    if (!n) this.before = number - 1;
    this.perRank.set(rank, number);
    if (this.ranked) {
      this.ranks = grow(this.ranks, n + 1);
      this.numbers = grow(this.numbers, n + 1);
      this.ranks[n] = rank;
      this.numbers[n] = number;
    }
    this.free += size;
    this.bytes += size;
    this.length = n + 1;
  }

  /** @param {Uint8Array} line the first line of a node @returns {number} the number of the line before; the note about missing lines has the number of the last of them */
  missing(line) {
    const note = line[0] === bracket && cutNote.exec(this.decoder.decode(line.subarray(0, 200)));
    return note ? Number(note[1] || 0) - 1 : 0;
  }

  /** @param {Uint8Array} line @returns {[number, number]} the rank, and where the text after "node-RANK | " begins */
  prefix(line) {
    if (line[0] !== 110 || line[4] !== 45) return [0, 0]; // n, -
    let i = 5, rank = 0;
    while (line[i] >= 48 && line[i] <= 57) rank = 10 * rank + line[i++] - 48;
    return i > 5 && line[i] === space && line[i + 1] === 124 && line[i + 2] === space ? [rank, i + 3] : [0, 0];
  }

  /** @param {Uint8Array} line @param {number} at @returns {[number, number]} the time of a line, and where its text begins */
  time(line, at) {
    if (line[at + 4] !== 45 || line[at + 10] !== 84 || line[at + 19] === undefined) return [0, at]; // 2026-11-22T
    const end = line.indexOf(space, at);
    if (end < 0 || end > at + 36) return [0, at];
    const second = this.decoder.decode(line.subarray(at, at + 19));
    if (second !== this.secondText) {
      this.secondText = second;
      this.secondTime = Date.parse(second + "Z");
    }
    if (Number.isNaN(this.secondTime)) return [0, at];
    let ms = 0;
    for (let i = at + 20, unit = 100; i < end && unit >= 1 && line[i] >= 48 && line[i] <= 57; i++, unit /= 10) ms += unit * (line[i] - 48);
    return [this.secondTime + ms, end + 1];
  }

  /** @param {number} i */
  text(i) {
    const start = this.starts[i], at = start % blockSize;
    return this.decoder.decode(this.blocks[(start - at) / blockSize].subarray(at, at + this.sizes[i]));
  }

  /** @param {number} i */
  rank(i) { return this.ranked ? this.ranks[i] : 0; }

  /** @param {number} i @returns {number} the number of a line in the log of its node */
  number(i) { return this.ranked ? this.numbers[i] : this.before + i + 1; }

  /** @param {number} rank @param {number} number @returns {number} the index of a line, -1 if it is not there (yet) */
  find(rank, number) {
    const i = number - 1 - this.before;
    if (!this.ranked) return i >= 0 && i < this.length ? i : -1;
    for (let i = 0; i < this.length; i++) if (this.ranks[i] === rank && this.numbers[i] === number) return i;
    return -1;
  }
}

/** A growing list of line numbers. */
export class Lines {
  constructor() { this.length = 0; this.values = new Uint32Array(0); }

  /** @param {number} i */
  push(i) {
    this.values = grow(this.values, this.length + 1);
    this.values[this.length++] = i;
  }

  /** @param {number} line @returns {number} the position of the first value that is not smaller */
  position(line) {
    let low = 0, high = this.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (this.values[mid] < line) low = mid + 1; else high = mid;
    }
    return low;
  }
}

/** Selects lines of a store in short steps, and goes on when lines are added. */
export class Scan {
  /** @param {LogStore} store @param {(i: number) => boolean} matches @param {() => void} changed */
  constructor(store, matches, changed) {
    this.store = store;
    this.matches = matches;
    this.changed = changed;
    this.found = new Lines();
    this.done = 0; // lines that were looked at
    this.timer = 0;
    this.stopped = false;
    this.run();
  }

  stop() { this.stopped = true; clearTimeout(this.timer); }

  get complete() { return this.done >= this.store.length; }

  run() {
    this.timer = 0;
    const until = performance.now() + 12;
    while (this.done < this.store.length) {
      for (const end = Math.min(this.store.length, this.done + 256); this.done < end; this.done++) if (this.matches(this.done)) this.found.push(this.done);
      if (performance.now() > until) break;
    }
    this.changed();
    if (!this.complete) this.more();
  }

  /** Looks at lines that were added. */
  more() {
    if (!this.timer && !this.stopped) this.timer = window.setTimeout(() => this.run(), 0);
  }
}
