// The rows of a list of tasks, loaded in pages as they come into view, and kept up to date by
// events. The pages count from the end of the first page, so new tasks move no row.
import { get } from "./api.js";

/** @typedef {import("./types").components["schemas"]["Row"] & {message?: string, since?: number, changed?: number}} Row */
/** @typedef {import("./live.js").Event} Event */

const page = 100;
const finals = ["completed", "failed", "stopped"];

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
    this.fresh = 0; // new tasks that are not shown yet
    /** @type {Row[]} */ this.taken = []; // new tasks whose first event came since the last request began
    this.loading = true; // the first page
    this.freshMore = false;
    this.stale = false; // the order or the filter would give other rows now
    /** @type {Error | null} */ this.error = null;
    this.readAt = 0;
    this.newest = params.sort === "-created" || !params.sort;
    // Every new task belongs to the list, so its first event is enough to show it.
    this.takesAll = this.newest && Object.keys(params).every((name) => ["sort", "all_users", "group"].includes(name));
    this.grouped = false; // a row has a group
    this.loadFirst();
  }

  close() { this.abort.abort(); }

  /** Number of rows. */
  get length() { return this.head.length + this.baseTotal; }

  /** @param {number} i @returns {Row | undefined} undefined while the row is not loaded */
  row(i) { return i < this.head.length ? this.head[i] : this.base.get(i - this.head.length); }

  /** @param {Record<string, any>} more */
  async read(more) {
    const { data, headers } = await get("/tasks", { query: { ...this.params, view: "row", ...more }, signal: this.abort.signal });
    return { rows: /** @type {Row[]} */ (data.tasks), total: Number(headers.get("X-Total-Count")), next: headers.get("X-Next-Cursor") || "" };
  }

  async loadFirst() {
    this.requested.add(0);
    this.loading = true;
    try {
      const { rows, total, next } = await this.read({ limit: page });
      this.error = null;
      this.cursor = next;
      this.baseTotal = this.total = total;
      this.put(0, rows);
      this.readAt = Date.now();
    } catch (err) {
      if (this.abort.signal.aborted) return;
      this.requested.delete(0);
      this.error = /** @type {Error} */ (err);
    } finally { this.loading = false; }
    this.changed();
  }

  /** Loads the rows of a range if necessary. @param {number} first @param {number} last */
  async ensure(first, last) {
    if (this.total < 0) return;
    const from = Math.max(0, first - this.head.length), to = Math.min(this.baseTotal, last - this.head.length);
    const wanted = [];
    for (let n = Math.floor(from / page); n * page < to; n++) if (!this.requested.has(n)) wanted.push(n);
    await Promise.all(wanted.map((n) => this.loadPage(n)));
  }

  /** @param {number} n */
  async loadPage(n) {
    if (!this.cursor) return;
    this.requested.add(n);
    try {
      const { rows } = await this.read({ limit: page, cursor: this.cursor, offset: (n - 1) * page || undefined });
      this.put(n * page, rows);
      if (rows.length < page && n * page + rows.length < this.baseTotal) this.baseTotal = Math.max(n * page + rows.length, 1);
      this.error = null;
    } catch (err) {
      if (this.abort.signal.aborted) return;
      this.requested.delete(n);
      this.error = /** @type {Error} */ (err);
    }
    this.changed();
  }

  /** @param {number} at @param {Row[]} rows */
  put(at, rows) {
    rows.forEach((row, i) => {
      const known = this.byID.get(row.id);
      this.grouped ||= !!row.group;
      if (known) Object.assign(known, row);
      else this.byID.set(row.id, row);
      this.base.set(at + i, known || row);
    });
  }

  /** Looks for tasks that came after the first page was read. */
  async lookForNew() {
    if (this.total < 0) return this.loadFirst();
    this.taken = [];
    try {
      const { rows, total, next } = await this.read({ limit: page });
      this.error = null;
      this.readAt = Date.now();
      const ids = new Set(rows.map((row) => row.id)), later = this.taken.filter((row) => !ids.has(row.id));
      this.latest = { rows: [...later.filter((row) => !this.byID.has(row.id)), ...rows], next };
      this.total = total + later.length;
      for (const row of rows) this.update(row);
      if (this.newest) this.countNew(this.latest.rows);
      else this.stale = this.stale || total !== this.length;
    } catch (err) {
      if (!this.abort.signal.aborted) this.error = /** @type {Error} */ (err);
    }
    this.changed();
  }

  /** @param {Row[]} rows */
  countNew(rows) {
    const known = rows.findIndex((row) => this.byID.has(row.id));
    this.fresh = known < 0 ? rows.length : known;
    this.freshMore = known < 0 && rows.length === page;
    if (known < 0 && rows.length && this.length === 0) this.fresh = rows.length;
  }

  /** @param {Row} row */
  update(row) {
    const known = this.byID.get(row.id);
    if (!known) return;
    if (known.reason !== row.reason || known.status !== row.status) known.message = "";
    known.reason = undefined;
    Object.assign(known, row);
  }

  /** @param {string} id @returns {Row | undefined} a new task that is not shown yet */
  coming(id) { return this.latest?.rows.slice(0, this.fresh).find((/** @type {Row} */ row) => row.id === id); }

  /** Adds a new task by its first event. @param {Event} e @returns {boolean} whether the list is complete with it */
  take(e) {
    if (!this.takesAll || this.loading || this.total < 0 || !e.num_nodes || this.fresh >= page) return false;
    const row = rowOf(e), last = this.base.get(page - 1);
    if (this.baseTotal >= page && !(last && last.created < row.created)) return false; // perhaps a row of another page
    this.taken.unshift(row);
    this.latest = { rows: [row, ...(this.latest?.rows.slice(0, this.fresh) || [])], next: "" };
    this.fresh++;
    this.total++;
    this.changed();
    return true;
  }

  /** Shows the new tasks at the top. Returns how many rows were added, -1 if the list was read again. */
  showNew() {
    const latest = this.latest;
    const n = this.fresh;
    this.fresh = 0;
    if (!latest || this.freshMore || this.length === 0) { this.reload(); return -1; }
    const rows = latest.rows.slice(0, n);
    for (const row of rows) { this.byID.set(row.id, row); this.grouped ||= !!row.group; }
    this.head = [...rows, ...this.head];
    return rows.length;
  }

  /** Reads the list again, and keeps the old rows until the new ones are there. */
  async reload() {
    this.head = [];
    this.base = new Map(this.base);
    this.requested = new Set();
    this.fresh = 0;
    this.freshMore = this.stale = false;
    const old = this.byID;
    this.byID = new Map();
    await this.loadFirst();
    if (this.error) { this.byID = old; return; }
    for (const i of [...this.base.keys()]) if (i >= page) this.base.delete(i);
    if (this.baseTotal < page) for (const i of [...this.base.keys()]) if (i >= this.baseTotal) this.base.delete(i);
    this.changed();
  }

  /**
   * Applies events to the rows.
   * @param {Event[]} events
   * @returns {boolean} whether the list may have new tasks
   */
  apply(events) {
    let unknown = false, touched = false;
    for (const e of events) {
      if (e.kind !== "task" || !e.task_id || (this.params.group && e.group !== this.params.group)) continue;
      const row = this.byID.get(e.task_id) || this.coming(e.task_id);
      if (!row) { unknown = (e.type === "phase" && !this.take(e)) || unknown; continue; }
      touched = true;
      applyEvent(row, e);
    }
    if (touched) this.changed();
    return unknown;
  }
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
