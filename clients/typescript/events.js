// Streams of events.
import { checkAnswer, isUnavailable } from "./errors.js";
import { readPart, segment } from "./requests.js";
import { sleep } from "./retry.js";
import { EventParser, later } from "./sse.js";

/** @typedef {import("./api.js").components["schemas"]} Schemas */
/** @typedef {Schemas["Event"] & ({kind: "task", task_id: string, status: Schemas["Phase"]} | {kind: "volume", volume_id: string, status: Schemas["VolumeStatus"]["status"]})} TaskEvent an event of a task or of a volume */
/** @typedef {Schemas["Group"]} GroupStatus */

const silence = 45; // seconds without data after which a connection counts as broken; the server sends a keep-alive every 15 s
const pause = 1; // seconds before a broken stream connects again
const finals = ["completed", "failed", "stopped"];

/** @param {{status: string} | null | undefined} object a task or an event @returns {boolean} whether the task is over */
export const isOver = (object) => !!object && finals.includes(object.status);

/** The number of tasks of a group that are not over. @param {GroupStatus} group */
export const unfinished = ({ by_status: n }) => (n.pending || 0) + (n.running || 0);

/**
 * The events of all tasks, of a group or of one task, as an async iterable. After a break of the connection, the stream
 * resumes on any pod of the server and delivers each stored event once. The stream of one task ends when the task is
 * over, and the stream of one group ends when all tasks of the group are over. The error has status 410 if events were
 * missed during an interruption.
 */
export class EventStream {
  /** @param {import("./requests.js").Requests} requests @param {string} path @param {{query?: Record<string, import("./requests.js").Value>, after?: string, task?: string, group?: string, signal?: AbortSignal}} [o] task or group names the object with whose end the stream ends */
  constructor(requests, path, { query, after = "", task, group, signal } = {}) {
    this.requests = requests;
    this.path = path;
    this.query = query;
    this.task = task;
    this.group = group;
    this.left = 0; // tasks of the group that are not over; 0 if the number is not known
    this.signal = signal;
    this.patient = false; // whether the stream tries to reconnect until signal, and not only until the timeout of the client
    /** Id of the last event, from which another stream can go on. */
    this.lastID = after;
    this.opened = false;
    this.ended = false;
    /** @type {TaskEvent[]} */ this.ready = [];
    /** @type {{reader: ReadableStreamDefaultReader<Uint8Array>, parser: EventParser, decoder: {decode(part: Uint8Array, o: {stream: boolean}): string}} | null} */
    this.connection = null;
  }

  /** Opens the connection, and returns the stream, which has every event that happens after open has returned. @returns {Promise<this>} */
  async open() {
    if (this.connection || this.ended) return this;
    const headers = { Accept: "text/event-stream", ...(this.lastID && { "Last-Event-ID": this.lastID }) };
    const response = await this.requests.request("GET", this.path, { query: this.query, headers, stream: true, limit: silence, signal: this.signal });
    this.opened = true;
    if (response.status === 204 || !response.body) this.ended = true; // the task is over, and there are no more events
    else this.connection = { reader: response.body.getReader(), parser: new EventParser(), decoder: new TextDecoder() };
    return this;
  }

  /** @returns {Promise<TaskEvent | null>} the next event; null after the last event of a task or group */
  async next() {
    for (;;) {
      const event = this.ready.shift();
      if (event) return this.deliver(event);
      if (this.ended) return null;
      if (!this.connection) await this.connect();
      else if (this.group && !this.left && this.lastID) await this.count(this.group);
      else await this.read(this.connection);
    }
  }

  /** @param {TaskEvent} event */
  deliver(event) {
    if (this.task) checkAnswer(this.requests.url, "task_id", this.task, event.task_id);
    if (isOver(event)) {
      if (this.task) this.end();
      else if (this.left) this.left--; // the event may already count in the state of the group, which then is read once more
    }
    return event;
  }

  /** Reads how many tasks of the group are not over. If all are over, the stream ends after the events so far. @param {string} name */
  async count(name) {
    const group = await this.requests.jsonOf("group", name, "GET", "/groups/" + segment(name), { signal: this.signal });
    this.left = unfinished(group);
    for (let from = this.left ? "" : this.lastID; from;) {
      const response = await this.requests.request("GET", this.path, { query: { ...this.query, last_event_id: from }, signal: this.signal });
      for (const event of (await response.json()).events) this.take(event, event.id || "");
      from = response.headers.get("X-Next-Cursor") || "";
    }
    if (!this.left) this.end();
  }

  /** @param {NonNullable<EventStream["connection"]>} connection */
  async read({ reader, parser, decoder }) {
    try {
      const { done, value } = await readPart(reader, this.requests.url, silence, this.signal);
      if (!done) return parser.push(decoder.decode(value, { stream: true }), (data, id) => this.take(data && JSON.parse(data), id));
    } catch (err) {
      if (this.signal?.aborted) throw this.signal.reason;
    }
    this.close();
  }

  /** Takes an event that arrives, or the id of a keep-alive. @param {TaskEvent | ""} event @param {string} id */
  take(event, id) {
    if (id) {
      if (event && this.lastID && !later(id, this.lastID)) return;
      this.lastID = id;
    }
    if (event) this.ready.push(event);
  }

  end() {
    this.ended = true;
    this.close();
  }

  /** Opens the connection. After a break, the stream tries again until the timeout of the client, or until signal if it is patient. */
  async connect() {
    if (!this.opened) return void (await this.open());
    const began = Date.now();
    for (;;) {
      await sleep(pause, this.signal);
      try {
        return void (await this.open());
      } catch (err) {
        if (!isUnavailable(err) || !this.patient && (Date.now() - began) / 1000 > this.requests.timeout) throw err;
      }
    }
  }

  /** Closes the connection. */
  close() {
    this.connection?.reader.cancel().catch(() => {});
    this.connection = null;
  }

  async *[Symbol.asyncIterator]() {
    try {
      for (let e = await this.next(); e; e = await this.next()) yield e;
    } finally { this.close(); }
  }
}
