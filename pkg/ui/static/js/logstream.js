// Reads the log of a task, and resumes it after an interruption without loss or repeats.
import { request, taskPath, url } from "./api.js";
import { LogStore } from "./logstore.js";

/** @typedef {"connecting" | "reading" | "live" | "retrying" | "complete" | "failed"} LogState */

const pollPause = 2000; // between two requests of a page that may not follow the log

const remembered = 4096; // lines at the end that are recognised when they are repeated
const around = 400; // lines before and after a line of which the page has the address

/**
 * Reads only the lines around a line.
 * @param {string} id
 * @param {{query: Record<string, any>, ranked: boolean, rank: number, number: number, signal: AbortSignal}} o
 * @returns {Promise<LogStore | null>} null if the log has no such lines
 */
export async function readAround(id, { query, ranked, rank, number, signal }) {
  const lines = `${Math.max(1, number - around)}-${number + around}`;
  const response = await request(url(taskPath(id, "/logs"), { ...query, lines, timestamps: true }), { signal });
  const first = /^(\d+)-/.exec(response.headers.get("X-Log-Lines") || "");
  if (!first) { response.body?.cancel(); return null; }
  const store = new LogStore({ ranked, first: { rank, number: Number(first[1]) } });
  store.append(new Uint8Array(await response.arrayBuffer()));
  return store;
}

export class LogStream {
  /**
   * @param {string} id
   * @param {{query: Record<string, any>, ranked: boolean, onChange: () => void, follow: boolean}} o follow
   * opens one request for the whole log; otherwise a request for what is new is sent now and then
   */
  constructor(id, { query, ranked, onChange, follow }) {
    this.id = id;
    this.query = query;
    this.onChange = onChange;
    this.store = new LogStore({ ranked });
    /** @type {LogState} */ this.state = "connecting";
    this.problem = "";
    this.abort = new AbortController();
    this.pause = 0;
    this.timer = 0;
    this.silence = 0;
    this.follow = follow;
    this.over = false; // the task has ended
    this.hidden = false;
    this.isSilent = false; // nothing came for a time
    this.connect();
  }

  close() { this.abort.abort(); clearTimeout(this.timer); clearTimeout(this.silence); }

  /** Whether the log can grow, or is not read to its end. */
  get isOpen() { return this.state !== "complete" && this.state !== "failed"; }

  /** @param {{follow?: boolean, hidden?: boolean}} how a hidden page reads nothing */
  change({ follow = this.follow, hidden = this.hidden }) {
    if (follow === this.follow && hidden === this.hidden) return;
    this.follow = follow;
    this.hidden = hidden;
    if (!this.isOpen) return;
    this.close();
    this.abort = new AbortController();
    this.store.rest = new Uint8Array(0); // an incomplete line comes again
    if (!hidden) this.connect();
  }

  /** @param {LogState} state @param {string} [problem] */
  set(state, problem = "") { this.state = state; this.problem = problem; this.onChange(); }

  async connect() {
    const resumed = this.store.length > 0, { abort, over, follow } = this;
    try {
      const headers = { "X-Log-Resume": resumed ? this.place() : "start", "X-Log-Ping": "true" };
      const response = await request(url(taskPath(this.id, "/logs"), { follow: String(follow), ...this.query, timestamps: true }), { headers, signal: abort.signal });
      this.resumable = response.headers.get("X-Log-Resumable") === "true";
      if (resumed && !this.resumable) return this.set("failed", "The log broke off, and the server cannot resume it. Open the log again.");
      await this.read(response, abort, resumed ? this.repeats() : undefined);
      if (!follow && !over) {
        this.timer = window.setTimeout(() => this.connect(), pollPause);
        return;
      }
      this.store.finish();
      this.set("complete");
    } catch (err) {
      if (this.abort !== abort || abort.signal.aborted && !this.isSilent) return;
      this.abort = new AbortController();
      this.isSilent = false;
      const { status, message } = /** @type {any} */ (err);
      if (status && status !== 429 && status < 500) return this.set("failed", message);
      this.store.rest = new Uint8Array(0); // an incomplete line comes again
      this.set("retrying", status ? message : "The connection broke off. The page connects again.");
      this.timer = window.setTimeout(() => this.connect(), this.pause);
      this.pause = Math.min(5000, Math.max(500, 2 * this.pause));
    }
  }

  /** @param {Response} response @param {AbortController} abort @param {((line: Uint8Array) => boolean)} [skip] */
  async read(response, abort, skip) {
    const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
    const ping = Number(response.headers.get("X-Log-Ping") || 0);
    this.set(this.over ? "reading" : "live");
    for (;;) {
      clearTimeout(this.silence);
      if (ping) this.silence = window.setTimeout(() => { this.isSilent = true; abort.abort(); }, 2500 * ping);
      const { done, value } = await reader.read();
      if (this.abort !== abort) throw new Error("The page reads the log in another way.");
      if (done) break;
      this.pause = 0;
      // A line without a time is a sign of life.
      this.store.append(value, (line) => line.length === 0 || !!skip?.(line));
      this.onChange();
    }
    clearTimeout(this.silence);
  }

  /** The last second that was read of each node. */
  place() {
    /** @type {Map<number, number>} */
    const last = new Map();
    for (let i = Math.max(0, this.store.length - remembered); i < this.store.length; i++) {
      if (this.store.times[i]) last.set(this.store.rank(i), Math.max(last.get(this.store.rank(i)) || 0, Math.floor(this.store.times[i] / 1000)));
    }
    return [...last].map(([rank, second]) => `${rank}@${second}`).join(",") || "start";
  }

  /** A function that recognises the lines that the server repeats after a resumption. */
  repeats() {
    /** @type {Map<string, number>} */
    const known = new Map();
    const { store } = this;
    const key = (/** @type {number} */ rank, /** @type {number} */ time, /** @type {string} */ text) => `${rank} ${time} ${text}`;
    for (let i = Math.max(0, store.length - remembered); i < store.length; i++) {
      const k = key(store.rank(i), store.times[i], store.text(i));
      known.set(k, (known.get(k) || 0) + 1);
    }
    return (/** @type {Uint8Array} */ line) => {
      if (!known.size) return false;
      const [rank, at] = store.ranked ? store.prefix(line) : [0, 0];
      const [time, after] = store.time(line, at);
      const k = key(rank, time, store.decoder.decode(line.subarray(after)));
      const n = known.get(k);
      if (!n) return false;
      n === 1 ? known.delete(k) : known.set(k, n - 1);
      return true;
    };
  }
}
