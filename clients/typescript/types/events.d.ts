export function isOver(object: {
    status: string;
} | null | undefined): boolean;
/**
 * The events of all tasks, of a group or of one task, as an async iterable. After a break of the connection, the stream
 * resumes on any pod of the server and delivers each stored event once. The stream of one task ends when the task is
 * over. The error has status 410 if events were missed during an interruption.
 */
export class EventStream {
    /** @param {import("./requests.js").Requests} requests @param {string} path @param {{query?: Record<string, import("./requests.js").Value>, after?: string, one?: boolean, signal?: AbortSignal}} [o] */
    constructor(requests: import("./requests.js").Requests, path: string, { query, after, one, signal }?: {
        query?: Record<string, import("./requests.js").Value>;
        after?: string;
        one?: boolean;
        signal?: AbortSignal;
    });
    requests: import("./requests.js").Requests;
    path: string;
    query: Record<string, import("./requests.js").Value> | undefined;
    one: boolean;
    signal: AbortSignal | undefined;
    /** Id of the last event, from which another stream can go on. */
    lastID: string;
    opened: boolean;
    ended: boolean;
    /** @type {Event[]} */ ready: Event[];
    /** @type {{reader: ReadableStreamDefaultReader<Uint8Array>, abort: AbortController, parser: EventParser, decoder: TextDecoder} | null} */
    connection: {
        reader: ReadableStreamDefaultReader<Uint8Array>;
        abort: AbortController;
        parser: EventParser;
        decoder: TextDecoder;
    } | null;
    /** Opens the connection. The stream has every event that happens after open has returned. */
    open(): Promise<void>;
    /** @returns {Promise<Event | null>} the next event; null after the last event of a task */
    next(): Promise<Event | null>;
    /** @param {NonNullable<EventStream["connection"]>} connection */
    read({ reader, abort, parser, decoder }: NonNullable<EventStream["connection"]>): Promise<void>;
    /** @param {string} data @param {string} id */
    accept(data: string, id: string): void;
    /** Opens the connection. After a break, the stream tries again until the timeout of the client. */
    connect(): Promise<void>;
    /** Closes the connection. */
    close(): void;
    [Symbol.asyncIterator](): AsyncGenerator<{
        annotations?: {
            [key: string]: string;
        };
        attempt?: import("#api").components["schemas"]["Attempt"];
        group?: string;
        id?: string;
        kind: "task" | "volume";
        message?: string;
        name: string;
        nodes?: {
            exit_code?: number;
            rank: number;
            reason?: string;
            status: import("#api").components["schemas"]["Phase"];
        }[];
        num_nodes?: number;
        reason?: string;
        resources?: {
            cpus?: string;
            gpus?: string;
            memory?: string;
        };
        status: string;
        task_id?: string;
        time: import("#api").components["schemas"]["Time"];
        type: "phase" | "progress" | "restart";
        user: string;
        volume_id?: string;
    }, void, unknown>;
}
export type Event = import("#api").components["schemas"]["Event"];
import { EventParser } from "./sse.js";
