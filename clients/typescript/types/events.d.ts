export function isOver(object: {
    status: string;
} | null | undefined): boolean;
export function unfinished({ by_status: n }: GroupStatus): number;
/**
 * The events of all tasks, of a group or of one task, as an async iterable. After a break of the connection, the stream
 * resumes on any pod of the server and delivers each stored event once. The stream of one task ends when the task is
 * over, and the stream of one group ends when all tasks of the group are over. The error has status 410 if events were
 * missed during an interruption.
 */
export class EventStream {
    /** @param {import("./requests.js").Requests} requests @param {string} path @param {{query?: Record<string, import("./requests.js").Value>, after?: string, task?: string, group?: string, signal?: AbortSignal}} [o] task or group names the object with whose end the stream ends */
    constructor(requests: import("./requests.js").Requests, path: string, { query, after, task, group, signal }?: {
        query?: Record<string, import("./requests.js").Value>;
        after?: string;
        task?: string;
        group?: string;
        signal?: AbortSignal;
    });
    requests: import("./requests.js").Requests;
    path: string;
    query: Record<string, import("./requests.js").Value> | undefined;
    task: string | undefined;
    group: string | undefined;
    left: number;
    signal: AbortSignal | undefined;
    patient: boolean;
    /** Id of the last event, from which another stream can go on. */
    lastID: string;
    opened: boolean;
    ended: boolean;
    /** @type {TaskEvent[]} */ ready: TaskEvent[];
    /** @type {{reader: ReadableStreamDefaultReader<Uint8Array>, parser: EventParser, decoder: {decode(part: Uint8Array, o: {stream: boolean}): string}} | null} */
    connection: {
        reader: ReadableStreamDefaultReader<Uint8Array>;
        parser: EventParser;
        decoder: {
            decode(part: Uint8Array, o: {
                stream: boolean;
            }): string;
        };
    } | null;
    /** Opens the connection, and returns the stream, which has every event that happens after open has returned. @returns {Promise<this>} */
    open(): Promise<this>;
    /** @returns {Promise<TaskEvent | null>} the next event; null after the last event of a task or group */
    next(): Promise<TaskEvent | null>;
    /** @param {TaskEvent} event */
    deliver(event: TaskEvent): TaskEvent;
    /** Reads how many tasks of the group are not over. If all are over, the stream ends after the events so far. @param {string} name */
    count(name: string): Promise<void>;
    /** @param {NonNullable<EventStream["connection"]>} connection */
    read({ reader, parser, decoder }: NonNullable<EventStream["connection"]>): Promise<void>;
    /** Takes an event that arrives, or the id of a keep-alive. @param {TaskEvent | ""} event @param {string} id */
    take(event: TaskEvent | "", id: string): void;
    end(): void;
    /** Opens the connection. After a break, the stream tries again until the timeout of the client, or until signal if it is patient. */
    connect(): Promise<undefined>;
    /** Closes the connection. */
    close(): void;
    [Symbol.asyncIterator](): AsyncGenerator<TaskEvent, void, unknown>;
}
export type Schemas = import("./api.js").components["schemas"];
/**
 * an event of a task or of a volume
 */
export type TaskEvent = Schemas["Event"] & ({
    kind: "task";
    task_id: string;
    status: Schemas["Phase"];
} | {
    kind: "volume";
    volume_id: string;
    status: Schemas["VolumeStatus"]["status"];
});
export type GroupStatus = Schemas["Group"];
import { EventParser } from "./sse.js";
