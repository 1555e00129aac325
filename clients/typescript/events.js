// Streams of events.
import { ApiError, isUnavailable } from "./errors.js";
import { sleep } from "./retry.js";
import { EventParser, later } from "./sse.js";

/** @typedef {import("#api").components["schemas"]["Event"]} Event */

const silence = 45; // seconds without data after which a connection counts as broken; the server sends a keep-alive every 15 s
const pause = 1; // seconds before a broken stream connects again
const finals = ["completed", "failed", "stopped"];

/** @param {{status: string} | null | undefined} object a task or an event @returns {boolean} whether the task is over */
export const isOver = (object) => !!object && finals.includes(object.status);

/**
 * The events of all tasks, of a group or of one task, as an async iterable. After a break of the connection, the stream
 * resumes on any pod of the server and delivers each stored event once. The stream of one task ends when the task is
 * over. The error has status 410 if events were missed during an interruption.
 */
export class EventStream {
  /** @param {import("./requests.js").Requests} requests @param {string} path @param {{query?: Record<string, import("./requests.js").Value>, after?: string, one?: boolean, signal?: AbortSignal}} [o] */
  constructor(requests, path, { query, after = "", one = false, signal } = {}) {
    this.requests = requests;
    this.path = path;
    this.query = query;
    this.one = one;
    this.signal = signal;
    /** Id of the last event, from which another stream can go on. */
    this.lastID = after;
    this.opened = false;
    this.ended = false;
    /** @type {Event[]} */ this.ready = [];
    /** @type {{reader: ReadableStreamDefaultReader<Uint8Array>, abort: AbortController, parser: EventParser, decoder: TextDecoder} | null} */
    this.connection = null;
  }

  /** Opens the connection. The stream has every event that happens after open has returned. */
  async open() {
    if (this.connection || this.ended) return;
    const abort = new AbortController(), signals = this.signal ? AbortSignal.any([abort.signal, this.signal]) : abort.signal;
    const timer = setTimeout(() => abort.abort(new Error("the server does not respond")), 1000 * silence);
    try {
      const headers = { Accept: "text/event-stream", ...(this.lastID && { "Last-Event-ID": this.lastID }) };
      const response = await this.requests.request("GET", this.path, { query: this.query, headers, stream: true, signal: signals });
      this.opened = true;
      if (response.status === 204 || !response.body) { this.ended = true; return; } // the task is over, and there are no more events
      this.connection = { reader: response.body.getReader(), abort, parser: new EventParser(), decoder: new TextDecoder() };
    } catch (err) {
      if (abort.signal.aborted && !this.signal?.aborted) throw new ApiError("the server does not respond", { reason: "ConnectionFailed" });
      throw err;
    } finally { clearTimeout(timer); }
  }

  /** @returns {Promise<Event | null>} the next event; null after the last event of a task */
  async next() {
    for (;;) {
      const event = this.ready.shift();
      if (event) {
        if (this.one && isOver(event)) { this.ended = true; this.close(); }
        return event;
      }
      if (this.ended) return null;
      if (this.connection) await this.read(this.connection);
      else await this.connect();
    }
  }

  /** @param {NonNullable<EventStream["connection"]>} connection */
  async read({ reader, abort, parser, decoder }) {
    const timer = setTimeout(() => abort.abort(), 1000 * silence);
    try {
      const { done, value } = await reader.read();
      if (!done) return parser.push(decoder.decode(value, { stream: true }), (data, id) => this.accept(data, id));
    } catch (err) {
      if (this.signal?.aborted) throw this.signal.reason;
    } finally { clearTimeout(timer); }
    this.close();
  }

  /** @param {string} data @param {string} id */
  accept(data, id) {
    if (id) {
      if (data && this.lastID && !later(id, this.lastID)) return;
      this.lastID = id;
    }
    if (data) this.ready.push(JSON.parse(data));
  }

  /** Opens the connection. After a break, the stream tries again until the timeout of the client. */
  async connect() {
    if (!this.opened) return this.open();
    const began = Date.now();
    for (;;) {
      await sleep(pause, this.signal);
      try {
        return await this.open();
      } catch (err) {
        if (!isUnavailable(err) || (Date.now() - began) / 1000 > this.requests.timeout) throw err;
      }
    }
  }

  /** Closes the connection. */
  close() {
    this.connection?.abort.abort();
    this.connection = null;
  }

  async *[Symbol.asyncIterator]() {
    try {
      for (let e = await this.next(); e; e = await this.next()) yield e;
    } finally { this.close(); }
  }
}
