// The stream of events. One stream serves the whole page. fetch instead of EventSource shows the
// status of a response, so that 401, 410 and 429 can be told apart. The stream is closed while
// the page is hidden, because a browser opens only six connections to a server over HTTP/1.1.
import { request, server, url } from "./api.js";

/** @typedef {import("./types").components["schemas"]["Event"]} Event */

const silence = 40_000; // the server sends a keep-alive every 15 s
const hiddenFor = 30_000;

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

/** A stream of events that resumes after an interruption and delivers each stored event once. */
export class Stream {
  /**
   * @param {string} path
   * @param {{onEvents: (events: Event[]) => void, onReset?: () => void, onState?: (state: "connecting" | "live" | "retrying" | "off", reason?: string) => void, query?: Record<string, any>, lastID?: string}} o
   */
  constructor(path, o) {
    this.path = path;
    this.o = o;
    this.lastID = o.lastID || "";
    this.pause = 0;
    this.closed = false;
    /** @type {AbortController | null} */
    this.abort = null;
    this.timer = 0;
    this.silenceTimer = 0;
    this.connect();
  }

  close() {
    this.closed = true;
    this.stop();
  }

  stop() {
    clearTimeout(this.timer);
    clearTimeout(this.silenceTimer);
    this.abort?.abort();
    this.abort = null;
    this.o.onState?.("off");
  }

  async connect() {
    if (this.closed || this.abort) return;
    const abort = (this.abort = new AbortController());
    this.o.onState?.(this.pause ? "retrying" : "connecting");
    let reason = "";
    try {
      /** @type {Record<string, string>} */
      const headers = { Accept: "text/event-stream" };
      if (this.lastID) headers["Last-Event-ID"] = this.lastID;
      const response = await request(url(this.path, this.o.query), { headers, signal: abort.signal });
      if (response.status === 204) return this.finish();
      await this.read(response, abort);
    } catch (err) {
      if (this.abort !== abort) return;
      const status = /** @type {any} */ (err).status;
      reason = /** @type {Error} */ (err).message;
      if (status === 401 || status === 403 || status === 404) return this.finish();
      if (status === 410) { this.lastID = ""; this.o.onReset?.(); }
    }
    if (this.abort !== abort) return;
    this.abort = null;
    this.retry(reason);
  }

  finish() { this.closed = true; this.stop(); }

  /** @param {string} reason */
  retry(reason) {
    if (this.closed) return;
    this.o.onState?.("retrying", reason);
    this.timer = window.setTimeout(() => this.connect(), this.pause * (0.75 + Math.random() / 2));
    this.pause = Math.min(10_000, Math.max(500, this.pause * 2));
  }

  /** @param {Response} response @param {AbortController} abort */
  async read(response, abort) {
    const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
    const decoder = new TextDecoder();
    const parser = new EventParser();
    this.o.onState?.("live");
    for (;;) {
      clearTimeout(this.silenceTimer);
      this.silenceTimer = window.setTimeout(() => abort.abort(), silence);
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

/** @type {Set<{onEvents?: (events: Event[]) => void, onReset?: () => void}>} */
const listeners = new Set();
/** @type {Stream | null} */
let stream = null;
let allUsers = false;

/** @param {{onEvents?: (events: Event[]) => void, onReset?: () => void}} listener @returns {() => void} ends the subscription */
export function onEvents(listener) {
  listeners.add(listener);
  return () => { listeners.delete(listener); };
}

/** Opens the stream of the page, or opens it again for other users. @param {boolean} all */
export function openStream(all) {
  if (stream && !stream.closed && all === allUsers) return;
  stream?.close();
  allUsers = all;
  stream = new Stream("/events", {
    query: { all_users: all },
    onEvents: (events) => { for (const l of listeners) l.onEvents?.(events); },
    onReset: () => { for (const l of listeners) l.onReset?.(); },
    onState: (state) => server.patch({ stream: state }),
  });
}

export function closeStream() {
  stream?.close();
  stream = null;
}

let hiddenTimer = 0;
document.addEventListener("visibilitychange", () => {
  clearTimeout(hiddenTimer);
  if (document.hidden) hiddenTimer = window.setTimeout(() => stream?.stop(), hiddenFor);
  else if (stream && !stream.closed && !stream.abort) stream.connect();
});
window.addEventListener("online", () => { if (stream && !stream.abort) { clearTimeout(stream.timer); stream.connect(); } });
