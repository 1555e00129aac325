/** A part of a path. @param {string} text */
export function segment(text: string): string;
/** Sends requests in the name of one user. */
export class Requests {
    /** @param {ClientOptions} [o] */
    constructor({ url, user, token, fetch: send, timeout, allowPlainHTTP }?: ClientOptions);
    /** URL of the server. */
    url: string;
    /** Seconds after which a request without a response fails, and for which the client repeats requests. */
    timeout: number;
    user: string | undefined;
    token: string | (() => string | Promise<string>) | undefined;
    fetch: typeof fetch;
    /** @param {string} path @param {Record<string, Value>} [query] empty values are left out */
    address(path: string, query?: Record<string, Value>): string;
    credentials(): Promise<Record<string, string>>;
    /**
     * Sends a request, and sends it again if the server is overloaded, or if the connection breaks and the repetition has
     * no effect. Fails with ApiError.
     * @param {string} method @param {string} path @param {RequestOptions} [o] @returns {Promise<Response>}
     */
    request(method: string, path: string, o?: RequestOptions): Promise<Response>;
    /** Sends a request once. @param {string} method @param {string} path @param {RequestOptions} o */
    once(method: string, path: string, { query, body, type, headers, key, stream, signal }: RequestOptions): Promise<Response>;
    /** @param {string} method @param {string} path @param {RequestOptions} [o] @returns {Promise<any>} */
    json(method: string, path: string, o?: RequestOptions): Promise<any>;
    /**
     * The items of a list, page by page.
     * @param {string} path @param {string} field @param {Record<string, Value>} query @param {AbortSignal} [signal] @returns {AsyncGenerator<any, void, undefined>}
     */
    pages(path: string, field: string, query: Record<string, Value>, signal?: AbortSignal): AsyncGenerator<any, void, undefined>;
}
export type Value = string | number | boolean | undefined | readonly (string | number)[];
/**
 * body is text, or data that is sent as JSON; safe says that a repetition of the request has no effect
 */
export type RequestOptions = {
    query?: Record<string, Value>;
    body?: unknown;
    type?: string;
    headers?: Record<string, string>;
    key?: string;
    safe?: boolean;
    stream?: boolean;
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
