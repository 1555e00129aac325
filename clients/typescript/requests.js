// Requests: addresses, credentials and retries.
import { ApiError, connectionFailed, errorOf, isRedirect, redirected } from "./errors.js";
import { pauseBeforeRetry, sleep } from "./retry.js";

/** @typedef {string | number | boolean | undefined | readonly (string | number)[]} Value */
/** @typedef {{query?: Record<string, Value>, body?: unknown, type?: string, headers?: Record<string, string>, key?: string, safe?: boolean, stream?: boolean, signal?: AbortSignal}} RequestOptions body is text, or data that is sent as JSON; safe says that a repetition of the request has no effect */
/** @typedef {{url?: string, user?: string, token?: string | (() => string | Promise<string>), fetch?: typeof fetch, timeout?: number, allowPlainHTTP?: boolean}} ClientOptions */

const loopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** Sends requests in the name of one user. */
export class Requests {
  /** @param {ClientOptions} [o] */
  constructor({ url = globalThis.location?.origin, user, token, fetch: send, timeout = 60, allowPlainHTTP = false } = {}) {
    if (!url) throw new TypeError("url is missing, for example http://localhost:8000");
    const { protocol, hostname } = new URL(url);
    if (token && protocol === "http:" && !loopback.test(hostname) && !allowPlainHTTP) {
      throw new TypeError(`${url} is plain HTTP, which shows the token to the network: use https, or set allowPlainHTTP`);
    }
    /** URL of the server. */
    this.url = url.replace(/\/+$/, "");
    /** Seconds after which a request without a response fails, and for which the client repeats requests. */
    this.timeout = timeout;
    this.user = user;
    this.token = token;
    this.fetch = send || ((/** @type {any} */ input, /** @type {any} */ init) => globalThis.fetch(input, init));
  }

  /** @param {string} path @param {Record<string, Value>} [query] empty values are left out */
  address(path, query = {}) {
    const search = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      for (const v of Array.isArray(value) ? value : [value]) if (v !== undefined && v !== "" && v !== false) search.append(name, String(v));
    }
    const text = search.toString();
    return this.url + path + (text && "?" + text);
  }

  async credentials() {
    /** @type {Record<string, string>} */
    const headers = {};
    const token = typeof this.token === "function" ? await this.token() : this.token;
    if (token) headers.Authorization = "Bearer " + token;
    else if (this.user) headers["X-User"] = this.user;
    else headers["X-Requested-With"] = "k8s-cli-client"; // the session of a browser: the server rejects writes without this header
    return headers;
  }

  /**
   * Sends a request, and sends it again if the server is overloaded, or if the connection breaks and the repetition has
   * no effect. Fails with ApiError.
   * @param {string} method @param {string} path @param {RequestOptions} [o] @returns {Promise<Response>}
   */
  async request(method, path, o = {}) {
    const began = Date.now(), safe = o.safe ?? (method === "GET" || !!o.key);
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.once(method, path, o);
      } catch (err) {
        const pause = pauseBeforeRetry(err, attempt, safe);
        if (pause === null || (Date.now() - began) / 1000 + pause > this.timeout) throw err;
        await sleep(pause, o.signal);
      }
    }
  }

  /** Sends a request once. @param {string} method @param {string} path @param {RequestOptions} o */
  async once(method, path, { query, body, type, headers, key, stream, signal }) {
    const url = this.address(path, query), text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    const all = { ...(await this.credentials()), ...headers, ...(key && { "Idempotency-Key": key }), ...(text !== undefined && { "Content-Type": type || "application/json" }) };
    const limit = stream ? undefined : AbortSignal.timeout(1000 * this.timeout);
    /** @type {Response} */
    let response;
    try {
      response = await this.fetch(url, { method, headers: all, body: text, credentials: "same-origin", redirect: "manual", signal: limit && signal ? AbortSignal.any([limit, signal]) : signal || limit });
      if (response.ok && !stream) response = await whole(response);
    } catch (err) {
      if (signal?.aborted) throw signal.reason;
      throw connectionFailed(this.url, err);
    }
    if (isRedirect(response)) throw redirected(this.url, response);
    if (!response.ok) throw await errorOf(response);
    return response;
  }

  /** @param {string} method @param {string} path @param {RequestOptions} [o] @returns {Promise<any>} */
  async json(method, path, o) {
    const response = await this.request(method, path, o);
    return response.status === 204 ? null : response.json();
  }

  /**
   * The items of a list, page by page.
   * @param {string} path @param {string} field @param {Record<string, Value>} query @param {AbortSignal} [signal] @returns {AsyncGenerator<any, void, undefined>}
   */
  async *pages(path, field, query, signal) {
    let cursor = "";
    do {
      const response = await this.request("GET", path, { query: { ...query, cursor }, signal });
      yield* (await response.json())[field];
      cursor = response.headers.get("X-Next-Cursor") || "";
    } while (cursor);
  }
}

/** Reads a response to its end, so that a connection that breaks in between is an error of the request. @param {Response} response */
async function whole(response) {
  const { status, headers } = response;
  return new Response(status === 204 || status === 304 ? null : await response.arrayBuffer(), { status, headers });
}

/** A part of a path. @param {string} text */
export function segment(text) {
  if (!text || text === "." || text === "..") throw new ApiError(`"${text}" is no id and no name`, { reason: "Invalid" });
  return encodeURIComponent(text);
}
