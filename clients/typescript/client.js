// The client of the API of a server.
import { ApiError } from "./errors.js";
import { EventStream, isOver } from "./events.js";
import { readLog } from "./logs.js";
import { Requests, segment } from "./requests.js";
import { newKey, sleep } from "./retry.js";

/** @typedef {import("#api").components["schemas"]} Schemas */
/** @typedef {Schemas["TaskStatus"]} TaskStatus */
/** @typedef {Schemas["Group"]} Group */
/** @typedef {string | Record<string, any>} Task the text of a task file, or its fields */
/** @typedef {{group?: string, maxParallel?: number, failFast?: boolean}} GroupOptions */
/** @typedef {GroupOptions & {key?: string, after?: string | string[], afterAny?: string | string[], signal?: AbortSignal}} SubmitOptions after and afterAny are ids or keys of tasks */
/** @typedef {Record<string, any> & {idempotency_key?: string, group?: string, max_parallel?: number, fail_fast?: boolean, after?: string[], after_any?: string[]}} Item the fields of a task, and those of an item of a batch */
/** @typedef {{allUsers?: boolean, user?: string, status?: string | string[], name?: string, namePrefix?: string, nameContains?: string, label?: string | string[], reason?: string | string[], group?: string, since?: string, sort?: string, pageSize?: number, signal?: AbortSignal}} Filters */
/** @typedef {{timeout?: number, check?: boolean, signal?: AbortSignal}} WaitOptions timeout is in seconds; with check, a task that did not complete is an error */
/** @template Point @typedef {{group: string, tasks: {point: Point, task_id: string}[]}} Sweep */

const page = 500; // tasks on a page
const batchTasks = 5000; // largest number of tasks in one request
const batchBytes = 32 << 20; // largest size of one request; a single task may be larger
const busyPause = 1; // seconds before a batch is sent again because the server was too busy for some tasks

/**
 * A client of one server in the name of one user. The methods fail with ApiError.
 *
 * A browser needs neither user nor token: the session of the dashboard identifies the user.
 */
export class Client extends Requests {
  /** Submits a task. When submit returns, the server has stored the task. A repeated submission with the same key has no effect. @param {Task} task @param {SubmitOptions} [o] @returns {Promise<Schemas["Submitted"]>} */
  submit(task, { key = newKey(), group, maxParallel, failFast, after, afterAny, signal } = {}) {
    const query = { group, max_parallel: maxParallel, fail_fast: failFast, after, after_any: afterAny };
    return this.json("POST", "/tasks/submit", { query, body: task, type: typeOf(task), key, signal });
  }

  /**
   * Submits many tasks, in one request for each 5,000 tasks. The error has the reason BatchFailed and the results if the
   * server rejects some of the tasks. With atomic, the server accepts all tasks or none.
   * @param {Item[]} items @param {GroupOptions & {atomic?: boolean, signal?: AbortSignal}} [o] @returns {Promise<Schemas["Submitted"][]>}
   */
  async submitAll(items, { group, maxParallel, failFast, atomic = false, signal } = {}) {
    const query = { group, max_parallel: maxParallel, fail_fast: failFast, atomic };
    const texts = items.map((item) => JSON.stringify(item));
    /** @type {any[]} */
    const results = [];
    while (results.length < texts.length) {
      const batch = atomic ? texts : texts.slice(results.length, results.length + fit(texts, results.length));
      results.push(...(await this.batch(batch, query, signal)));
    }
    const wrong = results.filter((r) => r.code);
    if (wrong.length) throw new ApiError(`the server rejects ${wrong.length} of ${items.length} tasks: ${wrong[0].detail}`, { status: wrong[0].code, reason: "BatchFailed", field: wrong[0].field, body: results });
    return results;
  }

  /** Submits a batch, and repeats the request while the server is too busy for some of the tasks. @param {string[]} texts @param {Record<string, any>} query @param {AbortSignal} [signal] @returns {Promise<any[]>} */
  async batch(texts, query, signal) {
    const body = "[" + texts.join(", ") + "]", key = newKey(), began = Date.now();
    for (;;) {
      const { results } = await this.json("POST", "/tasks/batch", { query, body, key, signal });
      if (!results.some((/** @type {any} */ r) => r.code === 503) || Date.now() - began > 1000 * this.timeout) return results;
      await sleep(busyPause, signal);
    }
  }

  /**
   * Submits one task for each point, as one group. points is a grid such as `{LR: [0.1, 0.01], SEED: [1, 2]}`, or an
   * iterable. A function returns the task of a point; otherwise, points are objects of environment variables.
   * SKYPILOT_JOB_RANK and SKYPILOT_NUM_JOBS tell each task its number and the number of tasks.
   * @template [Point=Record<string, any>]
   * @param {Record<string, any> | ((point: Point) => Record<string, any>)} task
   * @param {Record<string, readonly any[]> | Iterable<Point>} points
   * @param {GroupOptions & {signal?: AbortSignal}} [o]
   * @returns {Promise<Sweep<Point>>}
   */
  async map(task, points, { group, maxParallel, failFast, signal } = {}) {
    const all = /** @type {Point[]} */ (Symbol.iterator in points ? [.../** @type {Iterable<Point>} */ (points)] : grid(points));
    if (!all.length) throw new TypeError("the sweep has no points");
    const items = all.map((point, rank) => {
      const made = typeof task === "function" ? /** @type {(point: Point) => Record<string, any>} */ (task)(point) : { ...task, envs: { ...task.envs, ...stringsOf(point) } };
      return { ...made, envs: { ...made.envs, SKYPILOT_JOB_RANK: String(rank), SKYPILOT_NUM_JOBS: String(all.length) } };
    });
    const name = group || newGroupName(items[0]);
    const results = await this.submitAll(items, { group: name, maxParallel, failFast, signal });
    return { group: name, tasks: all.map((point, i) => ({ point, task_id: results[i].task_id })) };
  }

  /** The Kubernetes objects that the server would create for a task; submits nothing. @param {Task} task @returns {Promise<Schemas["Preview"]>} */
  preview(task) { return this.json("POST", "/tasks/preview", { body: task, type: typeOf(task), safe: true }); }

  /** @param {string} id @returns {Promise<TaskStatus>} */
  status(id) { return this.json("GET", taskPath(id)); }

  /** The submitted task. @param {string} id @returns {Promise<Record<string, any>>} */
  spec(id) { return this.json("GET", taskPath(id, "/spec")); }

  /** @param {string} id */
  async stop(id) { await this.json("POST", taskPath(id, "/stop"), { safe: true }); }

  /** Stops the tasks of a group that are not over. @param {string} name @returns {Promise<number>} the number of tasks */
  async stopGroup(name) {
    segment(name); // an empty name would mean all tasks
    return (await this.json("POST", "/tasks/stop", { query: { group: name }, safe: true })).count;
  }

  /** Stops all tasks of the user. @param {{allUsers?: boolean}} [o] @returns {Promise<number>} the number of tasks */
  async stopAll({ allUsers } = {}) { return (await this.json("POST", "/tasks/stop", { query: { all_users: allUsers } })).count; }

  /** The tasks that match all filters, newest first, page by page. @param {Filters} [filters] @returns {AsyncGenerator<TaskStatus, void, undefined>} */
  list(filters = {}) { return this.pages("/tasks", "tasks", queryOf(filters), filters.signal); }

  /** The same tasks in the short form. @param {Filters} [filters] @returns {AsyncGenerator<Schemas["Row"], void, undefined>} */
  rows(filters = {}) { return this.pages("/tasks", "tasks", { ...queryOf(filters), view: "row" }, filters.signal); }

  /** Waits until the task is over. The error has the reason WaitTimeout after timeout seconds. @param {string} id @param {WaitOptions} [o] @returns {Promise<TaskStatus>} */
  async wait(id, { timeout, check, signal } = {}) {
    const status = await within(timeout, signal, `task ${id} is not over`, async (both) => {
      for (;;) {
        const now = await this.status(id);
        if (isOver(now)) return now;
        await lastEvent(this.taskEvents(id, { signal: both }));
      }
    });
    if (check && status.status !== "completed") throw new ApiError(`task ${id} is ${status.status}${status.metadata.message ? ": " + status.metadata.message : ""}`, { reason: "TaskFailed", body: status });
    return status;
  }

  /** The lines of the log of a task, without delay, until the log ends. Lines of tasks of several nodes begin with `node-RANK | `. @param {string} id @param {import("./logs.js").LogOptions} [o] */
  logs(id, o = {}) { return readLog(this, taskPath(id, "/logs"), o); }

  /** Lines of the log of one node by number: `101-200`, `101-`, or `-100` for the last 100 lines. @param {string} id @param {string} lines @param {{node?: number, attempt?: number, timestamps?: boolean}} [o] @returns {Promise<string[]>} */
  async logLines(id, lines, o = {}) {
    const text = await (await this.request("GET", taskPath(id, "/logs"), { query: { ...o, lines } })).text();
    return text ? text.replace(/\n$/, "").split("\n") : [];
  }

  /** The events of all tasks of the user or of a group, from now on or after an event. @param {{group?: string, allUsers?: boolean, after?: string, signal?: AbortSignal}} [o] */
  events({ group, allUsers, after, signal } = {}) { return new EventStream(this, "/events", { query: { group, all_users: allUsers }, after, signal }); }

  /** The events of a task, from the first one until the task is over. @param {string} id @param {{after?: string, signal?: AbortSignal}} [o] */
  taskEvents(id, { after, signal } = {}) { return new EventStream(this, taskPath(id, "/events"), { after, one: true, signal }); }

  /** The groups, newest first. @param {{allUsers?: boolean, name?: string, status?: string}} [o] @returns {AsyncGenerator<Group, void, undefined>} */
  groups({ allUsers, name, status } = {}) { return this.pages("/groups", "groups", { all_users: allUsers, name, status, limit: page }); }

  /** The state of a group. @param {string} name @param {{user?: string}} [o] @returns {Promise<Group>} */
  group(name, { user } = {}) { return this.json("GET", "/groups/" + segment(name), { query: { user } }); }

  /** Waits until all tasks of a group are over. @param {string} name @param {WaitOptions} [o] @returns {Promise<Group>} */
  async waitGroup(name, { timeout, check, signal } = {}) {
    const group = await within(timeout, signal, `group ${name} is not over`, (both) => this.untilOver(name, both));
    if (check && group.status !== "completed") throw new ApiError(`group ${name} is ${group.status}`, { reason: "GroupFailed", body: group });
    return group;
  }

  /** @param {string} name @param {AbortSignal} signal @returns {Promise<Group>} */
  async untilOver(name, signal) {
    for (;;) {
      const stream = this.events({ group: name, signal });
      try {
        await stream.open();
        for (;;) {
          const group = await this.group(name);
          let left = (group.by_status.pending || 0) + (group.by_status.running || 0);
          if (!left) return group;
          while (left > 0) if (isOver(await stream.next())) left--; // an event may already count in group, which then is read once more
        }
      } catch (err) {
        if (!(err instanceof ApiError) || err.status !== 410) throw err; // events were missed during an interruption
      } finally { stream.close(); }
    }
  }

  /** Counts of the tasks. @param {{allUsers?: boolean}} [o] @returns {Promise<Schemas["Summary"]>} */
  summary({ allUsers } = {}) { return this.json("GET", "/summary", { query: { all_users: allUsers } }); }

  /** What the machines offer. @returns {Promise<Schemas["Capacity"]>} */
  capacity() { return this.json("GET", "/capacity"); }

  /** What ended tasks have used. @param {{since?: string, by?: string | string[], group?: string, allUsers?: boolean}} [o] @returns {Promise<Schemas["UsageReport"]>} */
  usage({ since, by, group, allUsers } = {}) { return this.json("GET", "/usage", { query: { since, by: Array.isArray(by) ? by.join(",") : by, group, all_users: allUsers } }); }

  /** The user, with limits and usage. @returns {Promise<Schemas["Whoami"]>} */
  whoami() { return this.json("GET", "/whoami"); }

  /** @param {{allUsers?: boolean, name?: string, status?: string}} [o] @returns {AsyncGenerator<Schemas["VolumeStatus"], void, undefined>} */
  volumes({ allUsers, name, status } = {}) { return this.pages("/volumes", "volumes", { all_users: allUsers, name, status, limit: page }); }

  /** @param {Schemas["Volume"]} volume @param {{key?: string}} [o] @returns {Promise<Schemas["Created"]>} */
  createVolume(volume, { key = newKey() } = {}) { return this.json("POST", "/volumes/create", { body: volume, key }); }

  /** @param {string} id @param {{force?: boolean}} [o] */
  async deleteVolume(id, { force } = {}) { await this.json("DELETE", "/volumes/" + segment(id), { query: { force } }); }
}

/** The combinations of the values of a grid. @param {Record<string, readonly any[]>} values @returns {Record<string, any>[]} */
export function grid(values) {
  /** @type {Record<string, any>[]} */
  let all = [{}];
  for (const [name, list] of Object.entries(values)) all = all.flatMap((point) => list.map((value) => ({ ...point, [name]: value })));
  return all;
}

/** @param {string} id @param {string} [rest] */
const taskPath = (id, rest = "") => `/tasks/${segment(id)}${rest}`;

/** @param {Task} task */
const typeOf = (task) => (typeof task === "string" ? "application/yaml" : "application/json");

/** @param {any} point @returns {Record<string, string>} */
function stringsOf(point) {
  if (typeof point !== "object" || !point) throw new TypeError(`the point ${point} is no object of variables: pass a function that returns its task`);
  return Object.fromEntries(Object.entries(point).map(([name, value]) => [name, String(value)]));
}

/** How many texts from the first on fit one request. @param {string[]} texts @param {number} first */
function fit(texts, first) {
  let n = 0;
  for (let size = 0; n < batchTasks && first + n < texts.length; n++) {
    size += 3 * texts[first + n].length; // a character has at most three bytes
    if (n && size > batchBytes) break;
  }
  return n;
}

/** @param {Record<string, any>} task */
function newGroupName(task) {
  const base = String(task.name || "").replace(/[^A-Za-z0-9_.-]+/g, "-").slice(0, 40).replace(/^[-_.]+|[-_.]+$/g, "") || "sweep";
  return base + "-" + Array.from(crypto.getRandomValues(new Uint8Array(5)), (b) => (b % 36).toString(36)).join("");
}

/** @param {Filters} f */
function queryOf({ allUsers, namePrefix, nameContains, pageSize = page, signal: _, ...rest }) {
  return { ...rest, all_users: allUsers, name_prefix: namePrefix, name_contains: nameContains, limit: pageSize };
}

/** Reads a stream to its end, or until events were missed. @param {EventStream} stream */
async function lastEvent(stream) {
  try {
    while (await stream.next());
  } catch (err) {
    if (!(err instanceof ApiError) || err.status !== 410) throw err;
  } finally { stream.close(); }
}

/** @template T @param {number | undefined} timeout @param {AbortSignal | undefined} signal @param {string} what @param {(signal: AbortSignal) => Promise<T>} act @returns {Promise<T>} */
async function within(timeout, signal, what, act) {
  const late = new AbortController(), timer = timeout === undefined ? undefined : setTimeout(() => late.abort(), 1000 * timeout);
  try {
    return await act(signal ? AbortSignal.any([late.signal, signal]) : late.signal);
  } catch (err) {
    if (late.signal.aborted && !(err instanceof ApiError)) throw new ApiError(`${what} after ${timeout} s`, { reason: "WaitTimeout" });
    throw err;
  } finally { clearTimeout(timer); }
}
