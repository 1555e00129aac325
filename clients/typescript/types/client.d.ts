/** The combinations of the values of a grid. The last variable changes first. @template {Grid} G @param {G} axes @returns {GridPoint<G>[]} */
export function grid<G extends Grid>(axes: G): GridPoint<G>[];
/**
 * A client of one server in the name of one user. The methods fail with ApiError.
 *
 * A browser needs neither user nor token: the session of the dashboard identifies the user.
 */
export class Client extends Requests {
    /** Submits a task, given as its fields or as the text of a task file. When submit returns, the server has stored the task. A repeated submission with the same key has no effect. @param {Task | string} task @param {SubmitOptions} [o] @returns {Promise<Submitted>} */
    submit(task: Task | string, { key, after, afterAny, signal, ...group }?: SubmitOptions): Promise<Submitted>;
    /**
     * Submits many tasks, in one request for each 5,000 tasks. The error has the reason BatchFailed and the results if the
     * server rejects some of the tasks. With key, the keys of the tasks are `KEY/0`, `KEY/1` and so on.
     * @param {readonly Item[]} items @param {BatchOptions} [o] @returns {Promise<Submitted[]>}
     */
    submitAll(items: readonly Item[], { key, atomic, signal, ...group }?: BatchOptions): Promise<Submitted[]>;
    /** Submits a batch, and repeats the request while the server is too busy for some of the tasks. @param {string[]} texts @param {Record<string, any>} query @param {AbortSignal} [signal] @returns {Promise<any[]>} */
    batch(texts: string[], query: Record<string, any>, signal?: AbortSignal): Promise<any[]>;
    /**
     * Submits one task for each point, as one group. points is a grid such as `{LR: [0.1, 0.01], SEED: [1, 2]}`, or an
     * iterable. A function returns the task of a point; otherwise, points are objects of environment variables.
     * SKYPILOT_JOB_RANK and SKYPILOT_NUM_JOBS tell each task its number and the number of tasks.
     * @template {Grid | Iterable<unknown>} Points
     * @param {Task | ((point: PointOf<Points>) => Task)} task @param {Points} points @param {BatchOptions} [o]
     * @returns {Promise<Sweep<PointOf<Points>>>}
     */
    map<Points extends Grid | Iterable<unknown>>(task: Task | ((point: PointOf<Points>) => Task), points: Points, o?: BatchOptions): Promise<Sweep<PointOf<Points>>>;
    /** Submits tasks as one group, of which each starts when the task before has completed. The server accepts all tasks or none. @param {readonly Task[]} tasks @param {ChainOptions} [o] @returns {Promise<Sweep<number>>} */
    chain(tasks: readonly Task[], o?: ChainOptions): Promise<Sweep<number>>;
    /**
     * Submits tasks that start together or not at all, as one group. Each task needs a name of its own. The tasks reach each
     * other as `TASK-RANK.NAME`, where NAME is the name of the job group. Without primary, all tasks are primary.
     * @param {string} name @param {readonly Task[]} tasks @param {JobGroupOptions} [o] @returns {Promise<Sweep<number>>}
     */
    jobGroup(name: string, tasks: readonly Task[], { primary, terminationDelay, ...o }?: JobGroupOptions): Promise<Sweep<number>>;
    /** Submits tasks as one group, by default with a new name. @template Point @param {Item[]} items @param {Point[]} points @param {string | null | undefined} base @param {BatchOptions} o @returns {Promise<Sweep<Point>>} */
    submitGroup<Point>(items: Item[], points: Point[], base: string | null | undefined, o: BatchOptions): Promise<Sweep<Point>>;
    /** The Kubernetes objects that the server would create for a task; submits nothing. @param {Task | string} task @returns {Promise<Schemas["Preview"]>} */
    preview(task: Task | string): Promise<Schemas["Preview"]>;
    /** @param {string} id @param {{signal?: AbortSignal}} [o] @returns {Promise<TaskStatus>} */
    status(id: string, { signal, ...others }?: {
        signal?: AbortSignal;
    }): Promise<TaskStatus>;
    /** The submitted task, without the values of its secrets. @param {string} id @returns {Promise<Task>} */
    spec(id: string): Promise<Task>;
    /** The CPUs and the memory that the nodes of a task use. @param {string} id @returns {Promise<Schemas["TopTask"]>} */
    top(id: string): Promise<Schemas["TopTask"]>;
    /** @param {string} id */
    stop(id: string): Promise<void>;
    /** Stops the tasks of a group that are not over. @param {string} name @returns {Promise<number>} the number of tasks */
    stopGroup(name: string): Promise<number>;
    /** Stops all tasks of the user, or those that match all filters. @param {StopFilters} [filters] @returns {Promise<number>} the number of tasks */
    stopAll({ allUsers, ...filters }?: StopFilters): Promise<number>;
    /** The tasks that match all filters, newest first, page by page. @param {Filters} [filters] @returns {AsyncGenerator<TaskStatus, void, undefined>} */
    list(filters?: Filters): AsyncGenerator<TaskStatus, void, undefined>;
    /** The same tasks in the short form. @param {Filters} [filters] @returns {AsyncGenerator<Schemas["Row"], void, undefined>} */
    rows(filters?: Filters): AsyncGenerator<Schemas["Row"], void, undefined>;
    /** Waits until the task is over. The error has the reason WaitTimeout after timeout seconds. @param {string} id @param {WaitOptions} [o] @returns {Promise<TaskStatus>} */
    wait(id: string, o?: WaitOptions): Promise<TaskStatus>;
    /** The stored outputs of one node of a task, a gzipped tar file. @param {string} id @param {number} [node] @param {{signal?: AbortSignal}} [o] */
    download(id: string, node?: number, { signal, ...others }?: {
        signal?: AbortSignal;
    }): Promise<Uint8Array<ArrayBuffer>>;
    /** The lines of the log of a task, without delay, until the log ends. Lines of tasks of several nodes begin with `node-RANK | `. @param {string} id @param {import("./logs.js").LogOptions} [o] */
    logs(id: string, { follow, node, attempt, tail, since, timestamps, signal, ...others }?: import("./logs.js").LogOptions): AsyncGenerator<string, void, undefined>;
    /** Lines of the log of one node by number: `101-200`, `101-`, or `-100` for the last 100 lines. @param {string} id @param {string} lines @param {{node?: number, attempt?: number, timestamps?: boolean}} [o] @returns {Promise<string[]>} */
    logLines(id: string, lines: string, { node, attempt, timestamps, ...others }?: {
        node?: number;
        attempt?: number;
        timestamps?: boolean;
    }): Promise<string[]>;
    /** The events of all tasks of the user or of a group, from now on or after an event. @param {{group?: string, allUsers?: boolean, after?: string, signal?: AbortSignal}} [o] */
    events({ group, allUsers, after, signal, ...others }?: {
        group?: string;
        allUsers?: boolean;
        after?: string;
        signal?: AbortSignal;
    }): EventStream;
    /** The events of a task, from the first one until the task is over. @param {string} id @param {{after?: string, signal?: AbortSignal}} [o] */
    taskEvents(id: string, { after, signal, ...others }?: {
        after?: string;
        signal?: AbortSignal;
    }): EventStream;
    /** The events of a group, from now on or after an event, until all tasks of the group are over. @param {string} name @param {{after?: string, signal?: AbortSignal}} [o] */
    groupEvents(name: string, { after, signal, ...others }?: {
        after?: string;
        signal?: AbortSignal;
    }): EventStream;
    /** The groups, newest first. @param {{allUsers?: boolean, name?: string, status?: Phase}} [o] @returns {AsyncGenerator<GroupStatus, void, undefined>} */
    groups({ allUsers, name, status, ...others }?: {
        allUsers?: boolean;
        name?: string;
        status?: Phase;
    }): AsyncGenerator<GroupStatus, void, undefined>;
    /** The state of a group. @param {string} name @param {{user?: string, signal?: AbortSignal}} [o] @returns {Promise<GroupStatus>} */
    group(name: string, { user, signal, ...others }?: {
        user?: string;
        signal?: AbortSignal;
    }): Promise<GroupStatus>;
    /** Waits until all tasks of a group are over. The error has the reason WaitTimeout after timeout seconds. @param {string} name @param {WaitOptions} [o] @returns {Promise<GroupStatus>} */
    waitGroup(name: string, o?: WaitOptions): Promise<GroupStatus>;
    /** Counts of the tasks. @param {{allUsers?: boolean}} [o] @returns {Promise<Schemas["Summary"]>} */
    summary({ allUsers, ...others }?: {
        allUsers?: boolean;
    }): Promise<Schemas["Summary"]>;
    /** What the machines offer. @returns {Promise<Schemas["Capacity"]>} */
    capacity(): Promise<Schemas["Capacity"]>;
    /** What ended tasks have used. @param {{since?: string, by?: UsageKey | readonly UsageKey[], group?: string, allUsers?: boolean}} [o] @returns {Promise<Schemas["UsageReport"]>} */
    usage({ since, by, group, allUsers, ...others }?: {
        since?: string;
        by?: UsageKey | readonly UsageKey[];
        group?: string;
        allUsers?: boolean;
    }): Promise<Schemas["UsageReport"]>;
    /** The user, with limits and usage. @returns {Promise<Schemas["Whoami"]>} */
    whoami(): Promise<Schemas["Whoami"]>;
    /** @param {{allUsers?: boolean, name?: string, status?: "Pending" | "Bound" | "Lost" | "Failed"}} [o] @returns {AsyncGenerator<Schemas["VolumeStatus"], void, undefined>} */
    volumes({ allUsers, name, status, ...others }?: {
        allUsers?: boolean;
        name?: string;
        status?: "Pending" | "Bound" | "Lost" | "Failed";
    }): AsyncGenerator<Schemas["VolumeStatus"], void, undefined>;
    /** @param {Schemas["Volume"]} volume @param {{key?: string}} [o] @returns {Promise<Schemas["Created"]>} */
    createVolume(volume: Schemas["Volume"], { key, ...others }?: {
        key?: string;
    }): Promise<Schemas["Created"]>;
    /** @param {string} id @param {{force?: boolean}} [o] */
    deleteVolume(id: string, { force, ...others }?: {
        force?: boolean;
    }): Promise<void>;
}
export type Schemas = import("./api.js").components["schemas"];
/**
 * a task whose number of nodes is a number, also as text
 */
export type Numbered<T> = Omit<T, "num_nodes"> & {
    num_nodes?: number | `${number}` | null;
};
/**
 * the fields of a task file
 */
export type Task = Numbered<Schemas["Task"]>;
/**
 * the fields of a task, and those of an item of a batch
 */
export type Item = Numbered<Schemas["Item"]>;
export type TaskStatus = Schemas["TaskStatus"];
export type Submitted = Schemas["Submitted"];
export type GroupStatus = import("./events.js").GroupStatus;
export type Phase = Schemas["Phase"];
export type UsageKey = "day" | "user" | "group";
export type ListQuery = NonNullable<import("./api.js").operations["listTasks"]["parameters"]["query"]>;
/**
 * maxParallel is the number of tasks of the group that may be active; with failFast, the first failure stops the others; notify is a URL for the phase changes; a repetition with the same key has no effect
 */
export type GroupOptions = {
    group?: string;
    maxParallel?: number;
    failFast?: boolean;
    notify?: string;
    key?: string;
    signal?: AbortSignal;
};
/**
 * after and afterAny are ids or keys of tasks that must complete, or end, before the task starts
 */
export type SubmitOptions = GroupOptions & {
    after?: string | readonly string[];
    afterAny?: string | readonly string[];
};
/**
 * with atomic, the server accepts all tasks or none
 */
export type BatchOptions = GroupOptions & {
    atomic?: boolean;
};
export type ChainOptions = {
    group?: string;
    notify?: string;
    key?: string;
    signal?: AbortSignal;
};
/**
 * primary are the names of tasks; when they have completed, the server ends the others after terminationDelay, for example 30s
 */
export type JobGroupOptions = ChainOptions & {
    primary?: readonly string[];
    terminationDelay?: string;
};
export type Texts = string | readonly string[];
/**
 * label and annotation are KEY=VALUE or KEY; point is NAME=VALUE of a sweep; gpus is COUNT, NAME or NAME:COUNT
 */
export type StopConditions = {
    status?: Phase | readonly Phase[];
    name?: string;
    namePrefix?: string;
    nameContains?: Texts;
    label?: Texts;
    annotation?: Texts;
    point?: Texts;
    group?: string;
    gpus?: string | number | readonly (string | number)[];
};
export type Conditions = StopConditions & {
    reason?: Texts;
    machine?: Texts;
    exit?: number | readonly number[];
};
/**
 * since and before are an age or a time
 */
export type Scope = {
    allUsers?: boolean;
    user?: string;
    since?: string;
    before?: string;
};
/**
 * not excludes the tasks that one of its values alone selects
 */
export type Filters = Conditions & Scope & {
    not?: Conditions;
    sort?: ListQuery["sort"];
    pageSize?: number;
    signal?: AbortSignal;
};
export type StopFilters = StopConditions & Scope & {
    not?: StopConditions;
};
/**
 * timeout is in seconds; with check, a task that did not complete is an error
 */
export type WaitOptions = {
    timeout?: number;
    check?: boolean;
    signal?: AbortSignal;
};
/**
 * the values of each variable; a string is one value
 */
export type Grid = Record<string, string | Iterable<string | number | boolean>>;
export type GridPoint<G> = { [Name in keyof G]: G[Name] extends string ? string : G[Name] extends Iterable<infer Value> ? Value : never; };
export type PointOf<Points> = Points extends Iterable<infer Point> ? Point : GridPoint<Points>;
export type Sweep<Point> = {
    group: string;
    tasks: {
        point: Point;
        task_id: string;
    }[];
};
import { Requests } from "./requests.js";
import { EventStream } from "./events.js";
