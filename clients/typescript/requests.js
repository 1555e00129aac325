// Requests: addresses, credentials and retries.
import { ApiError, checkAnswer, connectionFailed, errorOf, isRedirect, redirected } from "./errors.js";
import { pauseBeforeRetry, sleep } from "./retry.js";

/** @typedef {string | number | boolean | undefined | readonly (string | number)[]} Value */
/** @typedef {{query?: Record<string, Value>, body?: unknown, type?: string, headers?: Record<string, string>, key?: string, safe?: boolean, stream?: boolean, limit?: number, signal?: AbortSignal}} RequestOptions body is text, or data that is sent as JSON; safe says that a repetition of the request has no effect; limit is the longest time in seconds for the response, of a stream for its headers */
/** @typedef {{url?: string, user?: string, token?: string | (() => string | Promise<string>), fetch?: typeof fetch, timeout?: number, allowPlainHTTP?: boolean}} ClientOptions */

const loopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** Sends requests in the name of one user. */
export class Requests {
  /** @param {ClientOptions} [o] */
  constructor({ url = globalThis.location?.origin, user, token, fetch: send, timeout = 60, allowPlainHTTP = false, ...others } = {}) {
    rejectOthers(others, "the options of a client are url, user, token, fetch, timeout and allowPlainHTTP");
    const { href, protocol, hostname } = serverURL(url);
    if (token && protocol === "http:" && !loopback.test(hostname) && !allowPlainHTTP) {
      throw new TypeError(`${url} is plain HTTP, which shows the token to the network: use https, or set allowPlainHTTP`);
    }
    /** URL of the server. */
    this.url = href.replace(/\/+$/, "");
    /** Seconds after which a request without a response fails, and for which the client repeats requests. */
    this.timeout = timeout;
    /** Whether the server has responded to a request. */
    this.reached = false;
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
   * Sends a request, and sends it again if the server is overloaded, or if the repetition has no effect and the connection
   * breaks or the server restarts. Fails with ApiError.
   * @param {string} method @param {string} path @param {RequestOptions} [o] @returns {Promise<Response>}
   */
  async request(method, path, o = {}) {
    const deadline = Date.now() + 1000 * this.timeout, safe = o.safe ?? (method === "GET" || !!o.key);
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.once(method, path, o.stream ? o : { ...o, limit: (deadline - Date.now()) / 1000 });
      } catch (err) {
        const pause = pauseBeforeRetry(err, attempt, safe, this.reached);
        if (pause === null || Date.now() + 1000 * pause > deadline) throw err;
        await sleep(pause, o.signal);
      }
    }
  }

  /** Sends a request once. @param {string} method @param {string} path @param {RequestOptions} o */
  async once(method, path, { query, body, type, headers, key, stream, limit = Infinity, signal }) {
    const url = this.address(path, query), text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    const all = { ...(await this.credentials()), ...headers, ...(key && { "Idempotency-Key": key }), ...(text !== undefined && { "Content-Type": type || "application/json" }) };
    const late = new AbortController(), timer = limit === Infinity ? undefined : setTimeout(() => late.abort(new Error("no response in time")), 1000 * limit);
    /** @type {Response} */
    let response;
    try {
      response = await this.fetch(url, { method, headers: all, body: text, credentials: "same-origin", redirect: "manual", signal: signal ? AbortSignal.any([late.signal, signal]) : late.signal });
      if (response.status < 500) this.reached = true;
      if (!isRedirect(response) && !(response.ok && stream)) response = await whole(response);
    } catch (err) {
      if (signal?.aborted) throw signal.reason;
      throw connectionFailed(this.url, err);
    } finally { clearTimeout(timer); }
    if (isRedirect(response)) throw redirected(this.url, response);
    if (!response.ok) throw await errorOf(response);
    return response;
  }

  /** @param {string} method @param {string} path @param {RequestOptions} [o] @returns {Promise<any>} */
  async json(method, path, o) {
    const response = await this.request(method, path, o);
    return response.status === 204 ? null : response.json();
  }

  /** The data of a response about one object, whose name is in a field. @param {string} field @param {string} asked @param {string} method @param {string} path @param {RequestOptions} [o] @returns {Promise<any>} */
  async jsonOf(field, asked, method, path, o) {
    const found = await this.json(method, path, o);
    checkAnswer(this.url, field, asked, found[field]);
    return found;
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

/**
 * The next part of the body of a response.
 * @param {ReadableStreamDefaultReader<Uint8Array>} reader @param {string} url @param {number} silence seconds without data after which the connection counts as broken @param {AbortSignal} [signal]
 * @returns {Promise<{done: false, value: Uint8Array} | {done: true, value?: undefined}>} not a type of the DOM library, which programs for Node do not have
 */
export async function readPart(reader, url, silence, signal) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const late = new Promise((_, reject) => { if (silence < Infinity) timer = setTimeout(() => reject(new Error(`no data for ${silence} s`)), 1000 * silence); });
  try {
    return /** @type {any} */ (await Promise.race([reader.read(), late]));
  } catch (err) {
    throw signal?.aborted ? signal.reason : connectionFailed(url, err);
  } finally { clearTimeout(timer); }
}

/** @param {string | undefined} url */
function serverURL(url) {
  if (!url) throw new TypeError("url is missing: give the URL of the server, for example http://localhost:8000");
  try {
    const found = new URL(url.includes("://") ? url : "http://" + url);
    if (/^https?:$/.test(found.protocol) && !found.search && !found.hash) return found;
  } catch {} // not a URL
  throw new TypeError(`url ${JSON.stringify(url)} is not the URL of a server: give for example http://localhost:8000`);
}

/**
 * Rejects unknown options and filters, which programs in JavaScript have no compiler to find. The error names the option
 * that the caller may mean, for example namePrefix for name_prefix, or all options.
 * @param {object} others @param {string} known a clause with the names of the options
 */
export function rejectOthers(others, known) {
  const [unknown] = Object.keys(others);
  if (unknown === undefined) return;
  const plain = (/** @type {string} */ name) => name.replaceAll("_", "").toLowerCase();
  const meant = known.match(/\w+/g)?.find((name) => plain(name) === plain(unknown));
  throw new TypeError(`there is no option ${JSON.stringify(unknown)} here; ${meant ? `write ${meant}` : known}`);
}

/** A part of a path. @param {string} text */
export function segment(text) {
  if (!text || text === "." || text === "..") throw new ApiError(`"${text}" is no id and no name`, { reason: "Invalid" });
  return encodeURIComponent(text);
}
