// A stream of server-sent events. This module runs in pages and in workers. fetch instead of
// EventSource shows the status of a response, so that 401, 410 and 429 can be told apart.

/** @typedef {import("./types").components["schemas"]["Event"]} Event */

const silence = 40_000; // the server sends a keep-alive every 15 s

/** Parses server-sent events. */
export class EventParser {
  constructor() { this.rest = ""; this.id = ""; this.data = ""; }

  /** @param {string} text @param {(data: string, id: string) => void} emit called also for a keep-alive with an id, with empty data */
  push(text, emit) {
    const lines = (this.rest + text).split("\n");
    this.rest = /** @type {string} */ (lines.pop());
    for (const line of lines) this.line(line.replace(/\r$/, ""), emit);
  }

  /** @param {string} line @param {(data: string, id: string) => void} emit */
  line(line, emit) {
    if (line === "") {
      if (this.data || this.id) emit(this.data, this.id);
      this.id = this.data = "";
    } else if (line.startsWith("data:")) this.data += (this.data && "\n") + line.slice(5).trimStart();
    else if (line.startsWith("id:")) this.id = line.slice(3).trim();
  }
}

/** @param {string} id @returns {[number, number]} */
const position = (id) => { const [entry, n] = id.split(".").map(Number); return [entry || 0, n || 0]; };

/** @param {string} a @param {string} b @returns {boolean} whether a is later than b */
export function later(a, b) {
  const [x, y] = [position(a), position(b)];
  return x[0] > y[0] || (x[0] === y[0] && x[1] > y[1]);
}

/** @typedef {"connecting" | "live" | "retrying" | "off"} StreamState */

/** A stream of events that resumes after an interruption and delivers each stored event once. */
export class Stream {
  /**
   * @param {(lastID: string, signal: AbortSignal) => Promise<Response>} open sends the request; rejects with an error with a status if the server refuses it
   * @param {{onEvents: (events: Event[]) => void, onReset: () => void, onState: (state: StreamState, error?: {status?: number, message: string}) => void, lastID?: string}} o onReset: events may be missing
   */
  constructor(open, o) {
    this.open = open;
    this.o = o;
    this.lastID = o.lastID || "";
    this.pause = 0;
    this.closed = false;
    /** @type {AbortController | null} */
    this.abort = null;
    /** @type {any} */ this.timer = 0;
    /** @type {any} */ this.silenceTimer = 0;
    this.connect();
  }

  close() {
    this.closed = true;
    this.stop();
  }

  /** @param {Error & {status?: number}} [problem] */
  stop(problem) {
    clearTimeout(this.timer);
    clearTimeout(this.silenceTimer);
    this.abort?.abort();
    this.abort = null;
    this.o.onState("off", problem);
  }

  async connect() {
    if (this.closed || this.abort) return;
    const abort = (this.abort = new AbortController());
    this.o.onState(this.pause ? "retrying" : "connecting");
    let problem;
    try {
      const response = await this.open(this.lastID, abort.signal);
      if (response.status === 204) return this.finish();
      if (!this.lastID) this.o.onReset(); // the stream begins now: what happened before must be read
      await this.read(response, abort);
    } catch (err) {
      if (this.abort !== abort) return;
      problem = /** @type {Error & {status?: number}} */ (err);
      if ([401, 403, 404].includes(problem.status || 0)) return this.finish(problem);
      if (problem.status === 410) this.lastID = "";
    }
    if (this.abort !== abort) return;
    this.abort = null;
    this.retry(problem);
  }

  /** Opens the stream again at once, and resumes it. */
  renew() {
    if (this.closed) return;
    clearTimeout(this.timer);
    clearTimeout(this.silenceTimer);
    this.abort?.abort();
    this.abort = null;
    this.connect();
  }

  /** @param {Error & {status?: number}} [problem] */
  finish(problem) { this.closed = true; this.stop(problem); }

  /** @param {Error & {status?: number}} [problem] */
  retry(problem) {
    if (this.closed) return;
    this.o.onState("retrying", problem);
    this.timer = setTimeout(() => this.connect(), this.pause * (0.75 + Math.random() / 2));
    this.pause = Math.min(10_000, Math.max(500, this.pause * 2));
  }

  /** @param {Response} response @param {AbortController} abort */
  async read(response, abort) {
    const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
    const decoder = new TextDecoder();
    const parser = new EventParser();
    this.o.onState("live");
    for (;;) {
      clearTimeout(this.silenceTimer);
      this.silenceTimer = setTimeout(() => abort.abort(), silence);
      const { done, value } = await reader.read();
      if (done || this.abort !== abort) return;
      this.pause = 0;
      /** @type {Event[]} */
      const events = [];
      parser.push(decoder.decode(value, { stream: true }), (data, id) => this.accept(data, id, events));
      if (events.length) this.o.onEvents(events);
    }
  }

  /** @param {string} data @param {string} id @param {Event[]} events */
  accept(data, id, events) {
    if (id) {
      if (data && this.lastID && !later(id, this.lastID)) return;
      this.lastID = id;
    }
    if (data) events.push(JSON.parse(data));
  }
}
