// The rows of a list of tasks, loaded in pages as they come into view, and kept up to date by
// events. The pages count from the end of the first page, so new tasks move no row.
import { get } from "./api.js";

/** @typedef {import("./types").components["schemas"]["Row"] & {message?: string, since?: number, changed?: number}} Row */
/** @typedef {import("./events.js").Event} Event */

const page = 100;
const mostSorted = 5000; // rows that the page orders itself
const mostVariables = 6; // columns of variables
const finals = ["completed", "failed", "stopped"];

const retryPause = 1000, retryMost = 10_000;

/** The parameters of a list to which every new task belongs, at its top. */
const plainParams = ["sort", "all_users", "group", "user"];

export class TaskList {
  /** @param {Record<string, any>} params of GET /tasks @param {() => void} changed called when the rows differ */
  constructor(params, changed) {
    this.params = params;
    this.changed = changed;
    this.abort = new AbortController();
    /** @type {Row[]} */ this.head = []; // tasks that came after the first page was read
    /** @type {Map<number, Row>} */ this.base = new Map();
    /** @type {Map<string, Row>} */ this.byID = new Map();
    /** @type {Set<number>} */ this.requested = new Set();
    this.baseTotal = 0;
    this.total = -1; // as the server last said; -1 before the first answer
    this.cursor = "";
    /** @type {Row[]} */ this.waiting = []; // new tasks that are not shown yet, newest first
    this.outdated = false; // the filter or the order gives other rows now
    this.loading = false; // a request for the first page has no answer yet
    this.again = false; // the list changed after the request was sent
    this.forced = false; // the user asked for the list as it is now
    /** @type {Error | null} */ this.error = null;
    this.failures = 0;
    this.timer = 0;
    /** @type {[number, number]} rows on the screen */ this.range = [0, 0];
    const order = params.sort || "-created";
    this.isPlain = order === "-created" && Object.keys(params).every((name) => plainParams.includes(name));
    this.grouped = false; // a row has a group
    /** @type {Set<string>} */ this.variables = new Set(); // of the points of sweeps
    /** Whether the rows may change places under the eyes of the user. */
    this.isIdle = () => true;
    this.sync();
  }

  close() { this.abort.abort(); clearTimeout(this.timer); }

  /** Number of rows. */
  get length() { return this.head.length + this.baseTotal; }

  /** Number of new tasks that are not shown. */
  get fresh() { return this.isPlain && this.total >= 0 ? Math.max(this.waiting.length, this.total - this.length) : 0; }

  /** Whether the list has other rows now than it shows. */
  get isBehind() { return this.outdated || this.fresh > 0; }

  /** @param {number} i @returns {Row | undefined} undefined while the row is not loaded */
  row(i) { return i < this.head.length ? this.head[i] : this.base.get(i - this.head.length); }

  /** @param {Record<string, any>} more */
  async read(more) {
    const variable = variableOf(this.params.sort || "");
    const query = { ...this.params, view: "row", ...more, ...(variable && { sort: "-created", limit: mostSorted }) };
    const { data, headers } = await get("/tasks", { query, signal: this.abort.signal });
    if (variable) {
      data.tasks.sort(byVariable(variable));
      return { rows: /** @type {Row[]} */ (data.tasks), total: data.tasks.length, next: "" };
    }
    return { rows: /** @type {Row[]} */ (data.tasks), total: Number(headers.get("X-Total-Count")), next: headers.get("X-Next-Cursor") || "" };
  }

  /** Reads the first page, and shows the list as it is now, or says that it differs while the user reads it. */
  async sync() {
    if (this.loading) { this.again = true; return; }
    this.loading = true;
    this.again = false;
    this.waiting = [];
    const began = performance.now();
    try {
      const first = await this.read({ limit: page });
      this.succeeded();
      const came = this.waiting.filter((row) => !first.rows.some((r) => r.id === row.id)); // after the request was sent
      first.total += came.length;
      if (this.forced || this.total < 0 || this.length === 0 || this.isIdle()) this.adopt(first, came, began);
      else this.compare(first, came, began);
    } catch (err) { this.failed(/** @type {Error} */ (err)); }
    this.loading = false;
    if (this.again) this.sync();
    this.changed();
  }

  /** @param {{rows: Row[], total: number, next: string}} first @param {Row[]} came @param {number} began when the request was sent */
  adopt({ rows, total, next }, came, began) {
    const known = this.byID;
    this.byID = new Map();
    this.head = [];
    this.base = new Map();
    this.requested = new Set(Array.from({ length: Math.ceil(rows.length / page) }, (_, n) => n));
    this.cursor = next;
    this.total = this.baseTotal = total;
    this.waiting = [];
    this.outdated = this.forced = false;
    this.put(0, [...came, ...rows].map((row) => updated(known.get(row.id), row, began)), began);
    this.ensure(...this.range);
  }

  /** @param {{rows: Row[], total: number, next: string}} first @param {Row[]} came @param {number} began */
  compare({ rows, total }, came, began) {
    const isNew = (/** @type {Row} */ row) => !this.byID.has(row.id);
    const from = this.isPlain ? rows.findIndex((row) => !isNew(row)) : 0;
    this.waiting = this.isPlain ? [...came.filter(isNew), ...rows.slice(0, from < 0 ? rows.length : from)] : [];
    this.total = total;
    const rest = from < 0 ? [] : rows.slice(from);
    this.outdated = this.outdated || total < this.length || (!this.isPlain && total !== this.length) || rest.some((row, i) => row.id !== this.row(i)?.id);
    for (const row of rest) { const shown = this.byID.get(row.id); if (shown) updated(shown, row, began); }
  }

  /** Loads the rows of a range if necessary. @param {number} first @param {number} last */
  async ensure(first, last) {
    this.range = [first, last];
    if (this.total < 0) return;
    const from = Math.max(0, first - this.head.length), to = Math.min(this.baseTotal, last - this.head.length);
    const wanted = [];
    for (let n = Math.floor(from / page); n * page < to; n++) if (!this.requested.has(n)) wanted.push(n);
    await Promise.all(wanted.map((n) => this.loadPage(n)));
  }

  /** @param {number} n */
  async loadPage(n) {
    const { cursor, requested } = this;
    if (!cursor) return;
    requested.add(n);
    const began = performance.now();
    try {
      const { rows } = await this.read({ limit: page, cursor, offset: (n - 1) * page || undefined });
      this.succeeded();
      if (cursor !== this.cursor) return;
      this.put(n * page, rows, began);
      if (rows.length < page && n * page + rows.length < this.baseTotal) { // tasks have left the list
        this.baseTotal = Math.max(n * page + rows.length, 1);
        this.outdated = true;
      }
    } catch (err) {
      requested.delete(n);
      this.failed(/** @type {Error} */ (err));
    }
    this.changed();
  }

  succeeded() { this.error = null; this.failures = 0; }

  /** Tries again after a pause. @param {Error & {status?: number}} err */
  failed(err) {
    if (this.abort.signal.aborted) return;
    this.error = err;
    const { status = 0 } = err;
    if (status >= 400 && status < 500 && status !== 429 && status !== 408) return;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => { if (this.total < 0) this.sync(); else { this.ensure(...this.range); if (this.isBehind) this.sync(); } },
      Math.min(retryMost, retryPause * 2 ** this.failures++));
  }

  /** Whether the page tries again to load rows. */
  get isRetrying() { return !!this.error && this.failures > 0; }

  /** @param {number} at @param {Row[]} rows @param {number} began when the request for the rows was sent */
  put(at, rows, began) {
    rows.forEach((row, i) => {
      const shown = updated(this.byID.get(row.id), row, began);
      this.note(shown);
      this.byID.set(row.id, shown);
      this.base.set(at + i, shown);
    });
  }

  /** @param {Row} row */
  note(row) {
    this.grouped ||= !!row.group;
    for (const [name] of pointOf(row)) if (this.variables.size < mostVariables) this.variables.add(name);
  }

  /** Adds a new task by its first event. @param {Event} e @returns {boolean} whether the list is complete with it */
  take(e) {
    if (!this.isPlain || this.total < 0 || !e.num_nodes || this.waiting.length >= page || (!this.params.all_users && this.params.user && e.user !== this.params.user)) return false;
    const row = rowOf(e), last = this.base.get(page - 1);
    if (this.baseTotal >= page && !(last && last.created < row.created)) return false; // perhaps a row of another page
    this.waiting.unshift(row);
    if (!this.loading) this.total++;
    return true;
  }

  /** Shows the new tasks at the top, or reads the list again. */
  show() {
    const { waiting } = this;
    if (this.outdated || !waiting.length || waiting.length < this.fresh || this.length === 0) return this.reload();
    for (const row of waiting) { this.byID.set(row.id, row); this.note(row); }
    this.head = [...waiting, ...this.head];
    this.waiting = [];
    this.changed();
  }

  /** Reads the list again, and keeps the old rows until the new ones are there. */
  reload() {
    this.forced = true;
    return this.sync();
  }

  /**
   * Applies events to the rows.
   * @param {Event[]} events
   * @returns {boolean} whether the list may have other rows now
   */
  apply(events) {
    let differs = false, touched = false;
    for (const e of events) {
      if (e.kind !== "task" || !e.task_id || (this.params.group && e.group !== this.params.group)) continue;
      const row = this.byID.get(e.task_id) || this.waiting.find((r) => r.id === e.task_id);
      if (row) { touched = true; applyEvent(row, e); }
      if (!this.isPlain) differs = true;
      else if (!row && e.type === "phase") { if (this.take(e)) touched = true; else differs = true; }
    }
    if (touched) this.changed();
    return differs;
  }
}

/** @param {string} sort @returns {{name: string, down: boolean} | null} the variable of a sweep by which the page orders the rows */
export function variableOf(sort) {
  const m = /^(-?)point:(.+)$/.exec(sort);
  return m && { name: m[2], down: m[1] === "-" };
}

/** The order of two values of a variable: numbers by their size. @param {string} x @param {string} y @returns {number} */
export function compareValues(x, y) {
  return x && y && Number.isFinite(Number(x)) && Number.isFinite(Number(y)) ? Number(x) - Number(y) : x.localeCompare(y, "en", { numeric: true });
}

/** @param {{name: string, down: boolean}} v @returns {(a: Row, b: Row) => number} */
function byVariable({ name, down }) {
  const value = (/** @type {Row} */ r) => Object.fromEntries(pointOf(r))[name] ?? "";
  return (a, b) => (down ? -1 : 1) * compareValues(value(a), value(b)) || b.created - a.created;
}

/**
 * @param {Row | undefined} known @param {Row} row as the server says @param {number} began when the request was sent
 * @returns {Row} the row; an event that came after the request is newer than the response
 */
function updated(known, row, began) {
  if (!known) return row;
  if ((known.changed || 0) > began) return known;
  if (known.reason !== row.reason || known.status !== row.status) known.message = "";
  known.reason = undefined;
  return Object.assign(known, row);
}

/** @param {Row} row @returns {[string, string][]} the variables of a task of a sweep */
export function pointOf(row) {
  return (row.point || "").match(/[^\s=]+=(?:"(?:[^"\\]|\\.)*"|\S*)/g)?.map((pair) => {
    const at = pair.indexOf("=");
    return /** @type {[string, string]} */ ([pair.slice(0, at), pair.slice(at + 1)]);
  }) || [];
}

/** @param {Event} e the first event of a task @returns {Row} */
function rowOf(e) {
  return {
    id: String(e.task_id), name: e.name, user: e.user, group: e.group, status: /** @type {Row["status"]} */ (e.status),
    created: Math.floor(Date.parse(e.time) / 1000), nodes: e.num_nodes || 1, gpus: e.resources?.gpus,
  };
}

/** @param {Row} row @param {Event} e */
function applyEvent(row, e) {
  if (finals.includes(row.status) && !finals.includes(e.status)) return; // an older event than the row
  const at = Math.floor(Date.parse(e.time) / 1000);
  // Applied says that the Jobs exist. The server does not count it as a reason why a task waits.
  const reason = e.reason === "Applied" ? undefined : e.reason;
  if (row.status !== e.status || row.reason !== reason) row.since = at;
  row.status = /** @type {Row["status"]} */ (e.status);
  row.reason = reason;
  row.message = reason && e.message;
  row.changed = performance.now();
  if (e.status === "running" && !row.started) row.started = at;
  if (finals.includes(e.status)) row.ended = at;
  if (e.type === "restart") row.restarts = (row.restarts || 0) + 1;
}
