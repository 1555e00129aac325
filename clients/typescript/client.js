// The client of the API of a server.
import { ApiError } from "./errors.js";
import { EventStream, isOver, unfinished } from "./events.js";
import { readLog } from "./logs.js";
import { readOutputs } from "./outputs.js";
import { Requests, rejectOthers, segment } from "./requests.js";
import { newKey, sleep } from "./retry.js";

/** @typedef {import("./api.js").components["schemas"]} Schemas */
/** @template T @typedef {Omit<T, "num_nodes"> & {num_nodes?: number | `${number}` | null}} Numbered a task whose number of nodes is a number, also as text */
/** @typedef {Numbered<Schemas["Task"]>} Task the fields of a task file */
/** @typedef {Numbered<Schemas["Item"]>} Item the fields of a task, and those of an item of a batch */
/** @typedef {Schemas["TaskStatus"]} TaskStatus */
/** @typedef {Schemas["Submitted"]} Submitted */
/** @typedef {import("./events.js").GroupStatus} GroupStatus */
/** @typedef {Schemas["Phase"]} Phase */
/** @typedef {"day" | "user" | "group"} UsageKey */
/** @typedef {NonNullable<import("./api.js").operations["listTasks"]["parameters"]["query"]>} ListQuery */
/** @typedef {{group?: string, maxParallel?: number, failFast?: boolean, notify?: string, key?: string, signal?: AbortSignal}} GroupOptions maxParallel is the number of tasks of the group that may be active; with failFast, the first failure stops the others; notify is a URL for the phase changes; a repetition with the same key has no effect */
/** @typedef {GroupOptions & {after?: string | readonly string[], afterAny?: string | readonly string[]}} SubmitOptions after and afterAny are ids or keys of tasks that must complete, or end, before the task starts */
/** @typedef {GroupOptions & {atomic?: boolean}} BatchOptions with atomic, the server accepts all tasks or none */
/** @typedef {{group?: string, notify?: string, key?: string, signal?: AbortSignal}} ChainOptions */
/** @typedef {ChainOptions & {primary?: readonly string[], terminationDelay?: string}} JobGroupOptions primary are the names of tasks; when they have completed, the server ends the others after terminationDelay, for example 30s */
/** @typedef {string | readonly string[]} Texts */
/** @typedef {{status?: Phase | readonly Phase[], name?: string, namePrefix?: string, nameContains?: Texts, label?: Texts, annotation?: Texts, point?: Texts, group?: string, gpus?: string | number | readonly (string | number)[]}} StopConditions label and annotation are KEY=VALUE or KEY; point is NAME=VALUE of a sweep; gpus is COUNT, NAME or NAME:COUNT */
/** @typedef {StopConditions & {reason?: Texts, machine?: Texts, exit?: number | readonly number[]}} Conditions */
/** @typedef {{allUsers?: boolean, user?: string, since?: string, before?: string}} Scope since and before are an age or a time */
/** @typedef {Conditions & Scope & {not?: Conditions, sort?: ListQuery["sort"], pageSize?: number, signal?: AbortSignal}} Filters not excludes the tasks that one of its values alone selects */
/** @typedef {StopConditions & Scope & {not?: StopConditions}} StopFilters */
/** @typedef {{timeout?: number, check?: boolean, signal?: AbortSignal}} WaitOptions timeout is in seconds; with check, a task that did not complete is an error */
/** @typedef {Record<string, string | Iterable<string | number | boolean>>} Grid the values of each variable; a string is one value */
/** @template G @typedef {{[Name in keyof G]: G[Name] extends string ? string : G[Name] extends Iterable<infer Value> ? Value : never}} GridPoint */
/** @template Points @typedef {Points extends Iterable<infer Point> ? Point : GridPoint<Points>} PointOf */
/** @template Point @typedef {{group: string, tasks: {point: Point, task_id: string}[]}} Sweep */

const page = 500; // tasks on a page
const batchTasks = 5000; // largest number of tasks in one request
const batchBytes = 32 << 20; // largest size of one request; a single task may be larger
const statePatience = 5; // seconds for the state of an object that is not over in time
const busyPause = 1; // seconds before a batch is sent again because the server was too busy for some tasks

/**
 * A client of one server in the name of one user. The methods fail with ApiError.
 *
 * A browser needs neither user nor token: the session of the dashboard identifies the user.
 */
export class Client extends Requests {
  /** Submits a task, given as its fields or as the text of a task file. When submit returns, the server has stored the task. A repeated submission with the same key has no effect. @param {Task | string} task @param {SubmitOptions} [o] @returns {Promise<Submitted>} */
  async submit(task, { key = newKey(), after, afterAny, signal, ...group } = {}) {
    const query = { ...groupQuery(group), after, after_any: afterAny };
    return this.json("POST", "/tasks/submit", { query, body: task, type: typeOf(task), key, signal });
  }

  /**
   * Submits many tasks, in one request for each 5,000 tasks. The error has the reason BatchFailed and the results if the
   * server rejects some of the tasks. With key, the keys of the tasks are `KEY/0`, `KEY/1` and so on.
   * @param {readonly Item[]} items @param {BatchOptions} [o] @returns {Promise<Submitted[]>}
   */
  async submitAll(items, { key, atomic = false, signal, ...group } = {}) {
    const query = { ...groupQuery(group), atomic };
    const texts = items.map((item, i) => JSON.stringify(key ? { idempotency_key: `${key}/${i}`, ...item } : item));
    /** @type {any[]} */
    const results = [];
    while (results.length < texts.length) {
      const batch = atomic ? texts : texts.slice(results.length, results.length + fit(texts, results.length));
      results.push(...(await this.batch(batch, query, signal)));
    }
    const wrong = results.filter((r) => r.code), first = results.indexOf(wrong[0]) + 1; // the server counts tasks from 1 too
    if (wrong.length) throw new ApiError(`the server rejects ${wrong.length} of ${items.length} tasks${group.group ? ` of the group ${group.group}` : ""}; task ${first}: ${wrong[0].detail}`, { status: wrong[0].code, reason: "BatchFailed", field: wrong[0].field, body: results });
    return results;
  }

  /** Submits a batch, and repeats the request while the server is too busy for some of the tasks. @param {string[]} texts @param {Record<string, any>} query @param {AbortSignal} [signal] @returns {Promise<any[]>} */
  async batch(texts, query, signal) {
    const body = "[" + texts.join(", ") + "]", key = newKey(), began = Date.now();
    for (;;) {
      const { results } = await this.json("POST", "/tasks/batch", { query, body, key, signal });
      if (results.length !== texts.length) throw new ApiError(`${this.url} answered for ${results.length} of ${texts.length} tasks`, { reason: "WrongAnswer" });
      if (!results.some((/** @type {any} */ r) => r.code === 503) || Date.now() - began > 1000 * this.timeout) return results;
      await sleep(busyPause, signal);
    }
  }

  /**
   * Submits one task for each point, as one group. points is a grid such as `{LR: [0.1, 0.01], SEED: [1, 2]}`, or an
   * iterable. A function returns the task of a point; otherwise, points are objects of environment variables.
   * SKYPILOT_JOB_RANK and SKYPILOT_NUM_JOBS tell each task its number and the number of tasks.
   * @template {Grid | Iterable<unknown>} Points
   * @param {Task | ((point: PointOf<Points>) => Task)} task @param {Points} points @param {BatchOptions} [o]
   * @returns {Promise<Sweep<PointOf<Points>>>}
   */
  async map(task, points, o = {}) {
    const all = /** @type {PointOf<Points>[]} */ (Symbol.iterator in points ? [.../** @type {Iterable<unknown>} */ (points)] : grid(points));
    const items = all.map((point, rank) => {
      const made = typeof task === "function" ? task(point) : withPoint(task, stringsOf(point)); // the point of a function may hold secrets
      return { ...made, envs: { ...made.envs, SKYPILOT_JOB_RANK: String(rank), SKYPILOT_NUM_JOBS: String(all.length) } };
    });
    return this.submitGroup(items, all, items[0]?.name, o);
  }

  /** Submits tasks as one group, of which each starts when the task before has completed. The server accepts all tasks or none. @param {readonly Task[]} tasks @param {ChainOptions} [o] @returns {Promise<Sweep<number>>} */
  async chain(tasks, o = {}) {
    const key = o.key || newKey();
    const items = tasks.map((task, i) => ({ ...task, idempotency_key: `${key}/${i}`, ...(i > 0 && { after: [`${key}/${i - 1}`] }) }));
    return this.submitGroup(items, [...tasks.keys()], tasks[0]?.name, { ...o, atomic: true });
  }

  /**
   * Submits tasks that start together or not at all, as one group. Each task needs a name of its own. The tasks reach each
   * other as `TASK-RANK.NAME`, where NAME is the name of the job group. Without primary, all tasks are primary.
   * @param {string} name @param {readonly Task[]} tasks @param {JobGroupOptions} [o] @returns {Promise<Sweep<number>>}
   */
  async jobGroup(name, tasks, { primary = [], terminationDelay, ...o } = {}) {
    const unknown = primary.find((each) => !tasks.some((task) => task.name === each));
    if (unknown !== undefined) throw new TypeError(`primary: the job group has no task ${JSON.stringify(unknown)}`);
    const items = tasks.map((task) => {
      const auxiliary = primary.length > 0 && !primary.includes(task.name || "");
      return { ...task, job_group: name, ...(auxiliary && { auxiliary, termination_delay: terminationDelay }) };
    });
    return this.submitGroup(items, [...tasks.keys()], name, { ...o, atomic: true });
  }

  /** Submits tasks as one group, by default with a new name. @template Point @param {Item[]} items @param {Point[]} points @param {string | null | undefined} base @param {BatchOptions} o @returns {Promise<Sweep<Point>>} */
  async submitGroup(items, points, base, o) {
    if (!items.length) throw new TypeError("there are no tasks to submit");
    if (o.key && !o.group) throw new TypeError("key is given without group: give the group too, because a new group would be another submission");
    const group = o.group || newGroupName(base || "");
    const results = await this.submitAll(items, { ...o, group });
    return { group, tasks: points.map((point, i) => ({ point, task_id: results[i].task_id })) };
  }

  /** The Kubernetes objects that the server would create for a task; submits nothing. @param {Task | string} task @returns {Promise<Schemas["Preview"]>} */
  preview(task) { return this.json("POST", "/tasks/preview", { body: task, type: typeOf(task), safe: true }); }

  /** @param {string} id @param {{signal?: AbortSignal}} [o] @returns {Promise<TaskStatus>} */
  async status(id, { signal, ...others } = {}) {
    rejectOthers(others, "the option of status is signal");
    return this.jsonOf("task_id", id, "GET", taskPath(id), { signal });
  }

  /** The submitted task, without the values of its secrets. @param {string} id @returns {Promise<Task>} */
  spec(id) { return this.json("GET", taskPath(id, "/spec")); }

  /** The CPUs and the memory that the nodes of a task use. @param {string} id @returns {Promise<Schemas["TopTask"]>} */
  async top(id) { return this.jsonOf("task_id", id, "GET", taskPath(id, "/top")); }

  /** @param {string} id */
  async stop(id) { await this.jsonOf("task_id", id, "POST", taskPath(id, "/stop"), { key: newKey() }); }

  /** Stops the tasks of a group that are not over. @param {string} name @returns {Promise<number>} the number of tasks */
  async stopGroup(name) {
    segment(name); // an empty name would mean all tasks
    return (await this.json("POST", "/tasks/stop", { query: { group: name }, key: newKey() })).count;
  }

  /** Stops all tasks of the user, or those that match all filters. @param {StopFilters} [filters] @returns {Promise<number>} the number of tasks */
  async stopAll({ allUsers, ...filters } = {}) {
    const query = filterQuery({ ...filters, allUsers });
    for (const [name, value] of [...Object.entries(filters), ...Object.entries(filters.not ?? {})]) {
      if ([value].flat().every((v) => v === undefined || v === "")) throw new TypeError(`${name} has no value: give a value, or omit the filter, without which the server would stop more tasks`);
    }
    return (await this.json("POST", "/tasks/stop", { query, key: newKey() })).count;
  }

  /** The tasks that match all filters, newest first, page by page. @param {Filters} [filters] @returns {AsyncGenerator<TaskStatus, void, undefined>} */
  list(filters = {}) { return this.pages("/tasks", "tasks", queryOf(filters), filters.signal); }

  /** The same tasks in the short form. @param {Filters} [filters] @returns {AsyncGenerator<Schemas["Row"], void, undefined>} */
  rows(filters = {}) { return this.pages("/tasks", "tasks", { ...queryOf(filters), view: "row" }, filters.signal); }

  /** Waits until the task is over. The error has the reason WaitTimeout after timeout seconds. @param {string} id @param {WaitOptions} [o] @returns {Promise<TaskStatus>} */
  async wait(id, o = {}) {
    const read = (/** @type {AbortSignal} */ signal) => this.status(id, { signal });
    const status = await within(o, `task ${id} is not over`, read, described, async (signal) => {
      for (;;) {
        const now = await read(signal);
        if (isOver(now)) return now;
        await lastEvent(this.taskEvents(id, { signal }));
      }
    });
    if (o.check && status.status !== "completed") throw new ApiError(`task ${id} is ${described(status)}`, { reason: "TaskFailed", body: status });
    return status;
  }

  /** The stored outputs of one node of a task, a gzipped tar file. @param {string} id @param {number} [node] @param {{signal?: AbortSignal}} [o] */
  async download(id, node = 0, { signal, ...others } = {}) {
    rejectOthers(others, "the option of download is signal");
    return readOutputs(this, taskPath(id, `/outputs/${node}`), { signal });
  }

  /** The lines of the log of a task, without delay, until the log ends. Lines of tasks of several nodes begin with `node-RANK | `. @param {string} id @param {import("./logs.js").LogOptions} [o] */
  logs(id, { follow, node, attempt, tail, since, timestamps, signal, ...others } = {}) {
    rejectOthers(others, "the options of a log are follow, node, attempt, tail, since, timestamps and signal");
    return readLog(this, taskPath(id, "/logs"), { follow, node, attempt, tail, since: ageOf(since), timestamps, signal });
  }

  /** Lines of the log of one node by number: `101-200`, `101-`, or `-100` for the last 100 lines. @param {string} id @param {string} lines @param {{node?: number, attempt?: number, timestamps?: boolean}} [o] @returns {Promise<string[]>} */
  async logLines(id, lines, { node, attempt, timestamps, ...others } = {}) {
    rejectOthers(others, "the options of logLines are node, attempt and timestamps");
    const text = await (await this.request("GET", taskPath(id, "/logs"), { query: { node, attempt, timestamps, lines } })).text();
    return text ? text.replace(/\n$/, "").split("\n") : [];
  }

  /** The events of all tasks of the user or of a group, from now on or after an event. @param {{group?: string, allUsers?: boolean, after?: string, signal?: AbortSignal}} [o] */
  events({ group, allUsers, after, signal, ...others } = {}) {
    rejectOthers(others, "the options of events are group, allUsers, after and signal");
    return new EventStream(this, "/events", { query: { group, all_users: allUsers }, after, signal });
  }

  /** The events of a task, from the first one until the task is over. @param {string} id @param {{after?: string, signal?: AbortSignal}} [o] */
  taskEvents(id, { after, signal, ...others } = {}) {
    rejectOthers(others, "the options of taskEvents are after and signal");
    return new EventStream(this, taskPath(id, "/events"), { after, task: id, signal });
  }

  /** The events of a group, from now on or after an event, until all tasks of the group are over. @param {string} name @param {{after?: string, signal?: AbortSignal}} [o] */
  groupEvents(name, { after, signal, ...others } = {}) {
    rejectOthers(others, "the options of groupEvents are after and signal");
    return new EventStream(this, "/events", { query: { group: name }, after, group: name, signal });
  }

  /** The groups, newest first. @param {{allUsers?: boolean, name?: string, status?: Phase}} [o] @returns {AsyncGenerator<GroupStatus, void, undefined>} */
  groups({ allUsers, name, status, ...others } = {}) {
    rejectOthers(others, "the options of groups are allUsers, name and status");
    return this.pages("/groups", "groups", { all_users: allUsers, name, status, limit: page });
  }

  /** The state of a group. @param {string} name @param {{user?: string, signal?: AbortSignal}} [o] @returns {Promise<GroupStatus>} */
  async group(name, { user, signal, ...others } = {}) {
    rejectOthers(others, "the options of group are user and signal");
    return this.jsonOf("group", name, "GET", "/groups/" + segment(name), { query: { user }, signal });
  }

  /** Waits until all tasks of a group are over. The error has the reason WaitTimeout after timeout seconds. @param {string} name @param {WaitOptions} [o] @returns {Promise<GroupStatus>} */
  async waitGroup(name, o = {}) {
    const read = (/** @type {AbortSignal} */ signal) => this.group(name, { signal });
    const group = await within(o, `group ${name} is not over`, read, counted, async (signal) => {
      for (;;) {
        const now = await read(signal);
        if (!unfinished(now)) return now;
        await lastEvent(this.groupEvents(name, { signal }));
      }
    });
    if (o.check && group.status !== "completed") throw new ApiError(`group ${name} is ${group.status}: ${counted(group)}`, { reason: "GroupFailed", body: group });
    return group;
  }

  /** Counts of the tasks. @param {{allUsers?: boolean}} [o] @returns {Promise<Schemas["Summary"]>} */
  async summary({ allUsers, ...others } = {}) {
    rejectOthers(others, "the option of summary is allUsers");
    return this.json("GET", "/summary", { query: { all_users: allUsers } });
  }

  /** What the machines offer. @returns {Promise<Schemas["Capacity"]>} */
  capacity() { return this.json("GET", "/capacity"); }

  /** What ended tasks have used. @param {{since?: string, by?: UsageKey | readonly UsageKey[], group?: string, allUsers?: boolean}} [o] @returns {Promise<Schemas["UsageReport"]>} */
  async usage({ since, by, group, allUsers, ...others } = {}) {
    rejectOthers(others, "the options of usage are since, by, group and allUsers");
    return this.json("GET", "/usage", { query: { since, by: by === undefined ? by : [by].flat().join(","), group, all_users: allUsers } });
  }

  /** The user, with limits and usage. @returns {Promise<Schemas["Whoami"]>} */
  whoami() { return this.json("GET", "/whoami"); }

  /** @param {{allUsers?: boolean, name?: string, status?: "Pending" | "Bound" | "Lost" | "Failed"}} [o] @returns {AsyncGenerator<Schemas["VolumeStatus"], void, undefined>} */
  volumes({ allUsers, name, status, ...others } = {}) {
    rejectOthers(others, "the options of volumes are allUsers, name and status");
    return this.pages("/volumes", "volumes", { all_users: allUsers, name, status, limit: page });
  }

  /** @param {Schemas["Volume"]} volume @param {{key?: string}} [o] @returns {Promise<Schemas["Created"]>} */
  async createVolume(volume, { key = newKey(), ...others } = {}) {
    rejectOthers(others, "the option of createVolume is key");
    return this.json("POST", "/volumes/create", { body: volume, key });
  }

  /** @param {string} id @param {{force?: boolean}} [o] */
  async deleteVolume(id, { force, ...others } = {}) {
    rejectOthers(others, "the option of deleteVolume is force");
    await this.json("DELETE", "/volumes/" + segment(id), { query: { force }, key: newKey() });
  }
}

/** The combinations of the values of a grid. The last variable changes first. @template {Grid} G @param {G} axes @returns {GridPoint<G>[]} */
export function grid(axes) {
  /** @type {any[]} */
  let all = [{}];
  for (const [name, axis] of Object.entries(axes)) {
    if (!(Symbol.iterator in Object(axis))) throw new TypeError(`${name} has the value ${axis}: give a list of values, for example [${axis}]`);
    const values = typeof axis === "string" ? [axis] : [...axis];
    all = all.flatMap((point) => values.map((value) => ({ ...point, [name]: value })));
  }
  return all;
}

/** @param {string} id @param {string} [rest] */
const taskPath = (id, rest = "") => `/tasks/${segment(id)}${rest}`;

/** @param {Task | string} task */
const typeOf = (task) => (typeof task === "string" ? "application/yaml" : "application/json");

/** @param {any} point @returns {Record<string, string>} */
function stringsOf(point) {
  if (typeof point !== "object" || !point) throw new TypeError(`the point ${point} is no object of variables: pass a function that returns its task`);
  return Object.fromEntries(Object.entries(point).map(([name, value]) => [name, String(value)]));
}

/**
 * Returns the task of a point, whose annotations contain the point, unless they have no room for it.
 * @param {Task} task @param {Record<string, string>} point @returns {Task}
 */
function withPoint(task, point) {
  const made = { ...task, envs: { ...task.envs, ...point } };
  const text = new TextDecoder().decode(new TextEncoder().encode(Object.entries(point).map(([name, value]) => `${name}=${value}`).join(" ")).slice(0, 256)).replace(/\uFFFD+$/, "");
  const annotations = { "k8s-cli/point": text, ...task.annotations };
  const fits = Object.keys(annotations).length <= 64 && new TextEncoder().encode(JSON.stringify(annotations)).length <= 4096;
  return fits ? { ...made, annotations } : made;
}

/** @param {GroupOptions} o */
function groupQuery({ group, maxParallel, failFast, notify, key: _, signal: __, ...others }) {
  rejectOthers(others, "the options of a group are group, maxParallel, failFast, notify and key");
  return { group, max_parallel: maxParallel, fail_fast: failFast, notify };
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

/** @param {string} name */
function newGroupName(name) {
  const base = name.replace(/[^A-Za-z0-9_.-]+/g, "-").slice(0, 40).replace(/^[-_.]+|[-_.]+$/g, "") || "sweep";
  return base + "-" + Array.from(crypto.getRandomValues(new Uint8Array(5)), (b) => (b % 36).toString(36)).join("");
}

/** @param {Filters & {limit?: never}} f */
function queryOf({ pageSize = page, sort, signal: _, limit, ...filters }) {
  if (limit !== undefined) throw new TypeError("limit: the client reads all pages; leave the loop after enough tasks, or set pageSize for the size of a page");
  return { ...filterQuery(filters, ", sort, pageSize, signal"), sort, limit: pageSize };
}

/** @param {Conditions & Scope & {not?: Conditions}} filters @param {string} [more] other options of the request @returns {Record<string, any>} */
function filterQuery({ allUsers, user, since, before, not, ...conditions }, more = "") {
  const query = { ...conditionQuery(conditions, `, allUsers, user, since, before${more} and not`), all_users: allUsers, user, since, before };
  const excluded = Object.entries(conditionQuery(not ?? {})).map(([name, value]) => ["not_" + name, value]);
  return { ...query, ...Object.fromEntries(excluded) };
}

/** @param {Conditions} conditions @param {string} [more] @returns {Record<string, any>} */
function conditionQuery({ status, name, namePrefix, nameContains, label, annotation, point, group, gpus, reason, machine, exit, ...others }, more = "") {
  rejectOthers(others, `the filters are status, name, namePrefix, nameContains, label, annotation, point, group, gpus, reason, machine, exit${more}`);
  return { status, name, name_prefix: namePrefix, name_contains: nameContains, label, annotation, point, group, gpus, reason, machine, exit };
}

const seconds = { s: 1, m: 60, h: 3600, d: 86400, w: 604800 };

/** An age in seconds. @param {string | number | undefined} since an age or a time @returns {number | undefined} */
function ageOf(since) {
  if (typeof since !== "string") return since;
  if (/^\d+$/.test(since)) return Number(since);
  if (/^(\d+(\.\d+)?[smhdw])+$/.test(since)) return [...since.matchAll(/([\d.]+)([smhdw])/g)].reduce((sum, [, n, unit]) => sum + Number(n) * seconds[/** @type {keyof typeof seconds} */ (unit)], 0);
  const time = /^\d{4}-\d\d-\d\dT/.test(since) ? Date.parse(since) : NaN;
  if (Number.isNaN(time)) throw new TypeError(`since: ${JSON.stringify(since)} is neither an age, for example 90s or 3h, nor a time in RFC 3339`);
  return Math.max((Date.now() - time) / 1000, 0.001);
}

/** Reads a stream to its end, or until events were missed. @param {EventStream} stream */
async function lastEvent(stream) {
  stream.patient = true;
  try {
    while (await stream.next());
  } catch (err) {
    if (!(err instanceof ApiError) || err.status !== 410) throw err;
  } finally { stream.close(); }
}

/** A status with its reason in words. @param {TaskStatus} task */
function described({ status, metadata: { reason, message } }) {
  const why = [reason, message].filter(Boolean).join(": ");
  return status + (why && ` (${why})`);
}

/** The numbers of tasks of a group in words. @param {GroupStatus} group */
const counted = ({ by_status: counts }) => Object.entries(counts).filter(([, n]) => n).map(([status, n]) => `${n} ${status}`).join(", ");

/**
 * Waits for act. The error of a timeout says in which state the object is then.
 * @template T @param {WaitOptions} o @param {string} what @param {(signal: AbortSignal) => Promise<T>} read @param {(state: T) => string} words @param {(signal: AbortSignal) => Promise<T>} act @returns {Promise<T>}
 */
async function within({ timeout, check: _, signal, ...others }, what, read, words, act) {
  rejectOthers(others, "the options of a wait are timeout, check and signal");
  const late = new AbortController(), timer = timeout === undefined ? undefined : setTimeout(() => late.abort(), 1000 * timeout);
  try {
    return await act(signal ? AbortSignal.any([late.signal, signal]) : late.signal);
  } catch (err) {
    if (!late.signal.aborted || signal?.aborted || err instanceof ApiError) throw err;
    const brief = AbortSignal.timeout(1000 * statePatience);
    const state = await read(signal ? AbortSignal.any([brief, signal]) : brief).catch(() => null); // the server may be away
    throw new ApiError(`${what} after ${timeout} s${state ? `; it is ${words(state)}` : ""}`, { reason: "WaitTimeout", body: state ?? undefined });
  } finally { clearTimeout(timer); }
}
