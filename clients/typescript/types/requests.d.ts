/**
 * The next part of the body of a response.
 * @param {ReadableStreamDefaultReader<Uint8Array>} reader @param {string} url @param {number} silence seconds without data after which the connection counts as broken @param {AbortSignal} [signal]
 * @returns {Promise<{done: false, value: Uint8Array} | {done: true, value?: undefined}>} not a type of the DOM library, which programs for Node do not have
 */
export function readPart(reader: ReadableStreamDefaultReader<Uint8Array>, url: string, silence: number, signal?: AbortSignal): Promise<{
    done: false;
    value: Uint8Array;
} | {
    done: true;
    value?: undefined;
}>;
/**
 * Rejects unknown options and filters, which programs in JavaScript have no compiler to find. The error names the option
 * that the caller may mean, for example namePrefix for name_prefix, or all options.
 * @param {object} others @param {string} known a clause with the names of the options
 */
export function rejectOthers(others: object, known: string): void;
/** A part of a path. @param {string} text */
export function segment(text: string): string;
/** Sends requests in the name of one user. */
export class Requests {
    /** @param {ClientOptions} [o] */
    constructor({ url, user, token, fetch: send, timeout, allowPlainHTTP, ...others }?: ClientOptions);
    /** URL of the server. */
    url: string;
    /** Seconds after which a request without a response fails, and for which the client repeats requests. */
    timeout: number;
    /** Whether the server has responded to a request. */
    reached: boolean;
    user: string | undefined;
    token: string | (() => string | Promise<string>) | undefined;
    fetch: typeof fetch;
    /** @param {string} path @param {Record<string, Value>} [query] empty values are left out */
    address(path: string, query?: Record<string, Value>): string;
    credentials(): Promise<Record<string, string>>;
    /**
     * Sends a request, and sends it again if the server is overloaded, or if the repetition has no effect and the connection
     * breaks or the server restarts. Fails with ApiError.
     * @param {string} method @param {string} path @param {RequestOptions} [o] @returns {Promise<Response>}
     */
    request(method: string, path: string, o?: RequestOptions): Promise<Response>;
    /** Sends a request once. @param {string} method @param {string} path @param {RequestOptions} o */
    once(method: string, path: string, { query, body, type, headers, key, stream, limit, signal }: RequestOptions): Promise<Response>;
    /** @param {string} method @param {string} path @param {RequestOptions} [o] @returns {Promise<any>} */
    json(method: string, path: string, o?: RequestOptions): Promise<any>;
    /** The data of a response about one object, whose name is in a field. @param {string} field @param {string} asked @param {string} method @param {string} path @param {RequestOptions} [o] @returns {Promise<any>} */
    jsonOf(field: string, asked: string, method: string, path: string, o?: RequestOptions): Promise<any>;
    /**
     * The items of a list, page by page.
     * @param {string} path @param {string} field @param {Record<string, Value>} query @param {AbortSignal} [signal] @returns {AsyncGenerator<any, void, undefined>}
     */
    pages(path: string, field: string, query: Record<string, Value>, signal?: AbortSignal): AsyncGenerator<any, void, undefined>;
}
export type Value = string | number | boolean | undefined | readonly (string | number)[];
/**
 * body is text, or data that is sent as JSON; safe says that a repetition of the request has no effect; limit is the longest time in seconds for the response, of a stream for its headers
 */
export type RequestOptions = {
    query?: Record<string, Value>;
    body?: unknown;
    type?: string;
    headers?: Record<string, string>;
    key?: string;
    safe?: boolean;
    stream?: boolean;
    limit?: number;
    signal?: AbortSignal;
};
export type ClientOptions = {
    url?: string;
    user?: string;
    token?: string | (() => string | Promise<string>);
    fetch?: typeof fetch;
    timeout?: number;
    allowPlainHTTP?: boolean;
};
