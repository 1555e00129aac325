/**
 * @param {import("./requests.js").Requests} requests @param {string} path @param {LogOptions} o
 * @returns {AsyncGenerator<string, void, undefined>} the lines without their newlines
 */
export function readLog(requests: import("./requests.js").Requests, path: string, { follow, node, attempt, tail, since, timestamps, signal }: LogOptions): AsyncGenerator<string, void, undefined>;
/**
 * since is in seconds
 */
export type LogOptions = {
    follow?: boolean;
    node?: number;
    attempt?: number;
    tail?: number;
    since?: number;
    timestamps?: boolean;
    signal?: AbortSignal;
};
