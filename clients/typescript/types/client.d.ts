/** The combinations of the values of a grid. @param {Record<string, readonly any[]>} values @returns {Record<string, any>[]} */
export function grid(values: Record<string, readonly any[]>): Record<string, any>[];
/**
 * A client of one server in the name of one user. The methods fail with ApiError.
 *
 * A browser needs neither user nor token: the session of the dashboard identifies the user.
 */
export class Client extends Requests {
    /** Submits a task. When submit returns, the server has stored the task. A repeated submission with the same key has no effect. @param {Task} task @param {SubmitOptions} [o] @returns {Promise<Schemas["Submitted"]>} */
    submit(task: Task, { key, group, maxParallel, failFast, after, afterAny, signal }?: SubmitOptions): Promise<Schemas["Submitted"]>;
    /**
     * Submits many tasks, in one request for each 5,000 tasks. The error has the reason BatchFailed and the results if the
     * server rejects some of the tasks. With atomic, the server accepts all tasks or none.
     * @param {Item[]} items @param {GroupOptions & {atomic?: boolean, signal?: AbortSignal}} [o] @returns {Promise<Schemas["Submitted"][]>}
     */
    submitAll(items: Item[], { group, maxParallel, failFast, atomic, signal }?: GroupOptions & {
        atomic?: boolean;
        signal?: AbortSignal;
    }): Promise<Schemas["Submitted"][]>;
    /** Submits a batch, and repeats the request while the server is too busy for some of the tasks. @param {string[]} texts @param {Record<string, any>} query @param {AbortSignal} [signal] @returns {Promise<any[]>} */
    batch(texts: string[], query: Record<string, any>, signal?: AbortSignal): Promise<any[]>;
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
    map<Point = Record<string, any>>(task: Record<string, any> | ((point: Point) => Record<string, any>), points: Record<string, readonly any[]> | Iterable<Point>, { group, maxParallel, failFast, signal }?: GroupOptions & {
        signal?: AbortSignal;
    }): Promise<Sweep<Point>>;
    /** The Kubernetes objects that the server would create for a task; submits nothing. @param {Task} task @returns {Promise<Schemas["Preview"]>} */
    preview(task: Task): Promise<Schemas["Preview"]>;
    /** @param {string} id @returns {Promise<TaskStatus>} */
    status(id: string): Promise<TaskStatus>;
    /** The submitted task. @param {string} id @returns {Promise<Record<string, any>>} */
    spec(id: string): Promise<Record<string, any>>;
    /** @param {string} id */
    stop(id: string): Promise<void>;
    /** Stops the tasks of a group that are not over. @param {string} name @returns {Promise<number>} the number of tasks */
    stopGroup(name: string): Promise<number>;
    /** Stops all tasks of the user. @param {{allUsers?: boolean}} [o] @returns {Promise<number>} the number of tasks */
    stopAll({ allUsers }?: {
        allUsers?: boolean;
    }): Promise<number>;
    /** The tasks that match all filters, newest first, page by page. @param {Filters} [filters] @returns {AsyncGenerator<TaskStatus, void, undefined>} */
    list(filters?: Filters): AsyncGenerator<TaskStatus, void, undefined>;
    /** The same tasks in the short form. @param {Filters} [filters] @returns {AsyncGenerator<Schemas["Row"], void, undefined>} */
    rows(filters?: Filters): AsyncGenerator<Schemas["Row"], void, undefined>;
    /** Waits until the task is over. The error has the reason WaitTimeout after timeout seconds. @param {string} id @param {WaitOptions} [o] @returns {Promise<TaskStatus>} */
    wait(id: string, { timeout, check, signal }?: WaitOptions): Promise<TaskStatus>;
    /** The lines of the log of a task, without delay, until the log ends. Lines of tasks of several nodes begin with `node-RANK | `. @param {string} id @param {import("./logs.js").LogOptions} [o] */
    logs(id: string, o?: import("./logs.js").LogOptions): AsyncGenerator<string, void, undefined>;
    /** Lines of the log of one node by number: `101-200`, `101-`, or `-100` for the last 100 lines. @param {string} id @param {string} lines @param {{node?: number, attempt?: number, timestamps?: boolean}} [o] @returns {Promise<string[]>} */
    logLines(id: string, lines: string, o?: {
        node?: number;
        attempt?: number;
        timestamps?: boolean;
    }): Promise<string[]>;
    /** The events of all tasks of the user or of a group, from now on or after an event. @param {{group?: string, allUsers?: boolean, after?: string, signal?: AbortSignal}} [o] */
    events({ group, allUsers, after, signal }?: {
        group?: string;
        allUsers?: boolean;
        after?: string;
        signal?: AbortSignal;
    }): EventStream;
    /** The events of a task, from the first one until the task is over. @param {string} id @param {{after?: string, signal?: AbortSignal}} [o] */
    taskEvents(id: string, { after, signal }?: {
        after?: string;
        signal?: AbortSignal;
    }): EventStream;
    /** The groups, newest first. @param {{allUsers?: boolean, name?: string, status?: string}} [o] @returns {AsyncGenerator<Group, void, undefined>} */
    groups({ allUsers, name, status }?: {
        allUsers?: boolean;
        name?: string;
        status?: string;
    }): AsyncGenerator<Group, void, undefined>;
    /** The state of a group. @param {string} name @param {{user?: string}} [o] @returns {Promise<Group>} */
    group(name: string, { user }?: {
        user?: string;
    }): Promise<Group>;
    /** Waits until all tasks of a group are over. @param {string} name @param {WaitOptions} [o] @returns {Promise<Group>} */
    waitGroup(name: string, { timeout, check, signal }?: WaitOptions): Promise<Group>;
    /** @param {string} name @param {AbortSignal} signal @returns {Promise<Group>} */
    untilOver(name: string, signal: AbortSignal): Promise<Group>;
    /** Counts of the tasks. @param {{allUsers?: boolean}} [o] @returns {Promise<Schemas["Summary"]>} */
    summary({ allUsers }?: {
        allUsers?: boolean;
    }): Promise<Schemas["Summary"]>;
    /** What the machines offer. @returns {Promise<Schemas["Capacity"]>} */
    capacity(): Promise<Schemas["Capacity"]>;
    /** What ended tasks have used. @param {{since?: string, by?: string | string[], group?: string, allUsers?: boolean}} [o] @returns {Promise<Schemas["UsageReport"]>} */
    usage({ since, by, group, allUsers }?: {
        since?: string;
        by?: string | string[];
        group?: string;
        allUsers?: boolean;
    }): Promise<Schemas["UsageReport"]>;
    /** The user, with limits and usage. @returns {Promise<Schemas["Whoami"]>} */
    whoami(): Promise<Schemas["Whoami"]>;
    /** @param {{allUsers?: boolean, name?: string, status?: string}} [o] @returns {AsyncGenerator<Schemas["VolumeStatus"], void, undefined>} */
    volumes({ allUsers, name, status }?: {
        allUsers?: boolean;
        name?: string;
        status?: string;
    }): AsyncGenerator<Schemas["VolumeStatus"], void, undefined>;
    /** @param {Schemas["Volume"]} volume @param {{key?: string}} [o] @returns {Promise<Schemas["Created"]>} */
    createVolume(volume: Schemas["Volume"], { key }?: {
        key?: string;
    }): Promise<Schemas["Created"]>;
    /** @param {string} id @param {{force?: boolean}} [o] */
    deleteVolume(id: string, { force }?: {
        force?: boolean;
    }): Promise<void>;
}
export type Schemas = import("#api").components["schemas"];
export type TaskStatus = Schemas["TaskStatus"];
export type Group = Schemas["Group"];
/**
 * the text of a task file, or its fields
 */
export type Task = string | Record<string, any>;
export type GroupOptions = {
    group?: string;
    maxParallel?: number;
    failFast?: boolean;
};
/**
 * after and afterAny are ids or keys of tasks
 */
export type SubmitOptions = GroupOptions & {
    key?: string;
    after?: string | string[];
    afterAny?: string | string[];
    signal?: AbortSignal;
};
/**
 * the fields of a task, and those of an item of a batch
 */
export type Item = Record<string, any> & {
    idempotency_key?: string;
    group?: string;
    max_parallel?: number;
    fail_fast?: boolean;
    after?: string[];
    after_any?: string[];
};
export type Filters = {
    allUsers?: boolean;
    user?: string;
    status?: string | string[];
    name?: string;
    namePrefix?: string;
    nameContains?: string;
    label?: string | string[];
    reason?: string | string[];
    group?: string;
    since?: string;
    sort?: string;
    pageSize?: number;
    signal?: AbortSignal;
};
/**
 * timeout is in seconds; with check, a task that did not complete is an error
 */
export type WaitOptions = {
    timeout?: number;
    check?: boolean;
    signal?: AbortSignal;
};
export type Sweep<Point> = {
    group: string;
    tasks: {
        point: Point;
        task_id: string;
    }[];
};
import { Requests } from "./requests.js";
import { EventStream } from "./events.js";
