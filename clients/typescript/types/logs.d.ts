/**
 * @param {import("./requests.js").Requests} requests @param {string} path @param {LogOptions & {since?: number}} o
 * @returns {AsyncGenerator<string, void, undefined>} the lines without their newlines
 */
export function readLog(requests: import("./requests.js").Requests, path: string, { follow, node, attempt, tail, since, timestamps, signal }: LogOptions & {
    since?: number;
}): AsyncGenerator<string, void, undefined>;
/**
 * since is an age in seconds or such as 3h, or a time in RFC 3339
 */
export type LogOptions = {
    follow?: boolean;
    node?: number;
    attempt?: number;
    tail?: number;
    since?: string | number;
    timestamps?: boolean;
    signal?: AbortSignal;
};
