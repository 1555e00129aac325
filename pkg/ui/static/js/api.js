// Requests to the server. All state about the connection, the age of the data and the user is
// in the store `server`, so that every page can say in words what is wrong.
import { createStore } from "./store.js";

/** @typedef {import("./types").components["schemas"]} Schemas */

/**
 * @typedef {object} ServerState
 * @property {{what: string, age: number, at: number} | null} stale the last read may be out of date
 * @property {string[]} degraded sentences of /readyz
 * @property {number} unreachableSince time of the last response, 0 while the server responds
 * @property {boolean} needsLogin
 * @property {import("./session.js").Session | null} session null until the server has answered
 * @property {"off" | "connecting" | "live" | "retrying"} stream state of the stream of events
 */

/** @type {ServerState} */
const initial = { stale: null, degraded: [], unreachableSince: 0, needsLogin: false, session: null, stream: "off" };
export const server = createStore(initial);

/** An error response. The message is the sentence of the server. */
export class ApiError extends Error {
  /** @param {number} status @param {string} detail @param {any} [body] */
  constructor(status, detail, body) {
    super(detail);
    this.status = status;
    this.body = body;
  }
}

/** The server did not respond. */
export class Unreachable extends ApiError {
  constructor() { super(0, "The server does not respond. The page tries again."); }
}

const origin = location.origin;

let answeredAt = Date.now();

// A hidden page sends nothing, so that time does not count.
document.addEventListener("visibilitychange", () => { answeredAt = Date.now(); });

/** Records that the server responded. */
export function responded() {
  answeredAt = Date.now();
  if (server.get().unreachableSince) server.patch({ unreachableSince: 0 });
}

/** Records that the server did not respond; the time counts from its last response. */
export function unreachable() {
  if (!server.get().unreachableSince) server.patch({ unreachableSince: answeredAt });
}

// Without HTTPS, the session has a key besides its cookie, which other ports of this address cannot read.
const keyName = "k8s-cli-session-key";
/** The key of the session, "" over HTTPS. */
export const sessionKey = () => localStorage.getItem(keyName) || "";
/** @param {string} key */
export const setSessionKey = (key) => (key ? localStorage.setItem(keyName, key) : localStorage.removeItem(keyName));

const fromLogin = /^#session_key=(\w+)$/.exec(location.hash); // after a login at the issuer
if (fromLogin) {
  setSessionKey(fromLogin[1]);
  history.replaceState(history.state, "", location.pathname + location.search);
}

/**
 * @param {string} path
 * @param {Record<string, string|number|boolean|string[]|undefined>} [query]
 */
export function url(path, query = {}) {
  const u = new URL(path, origin);
  for (const [name, value] of Object.entries(query)) {
    for (const v of Array.isArray(value) ? value : [value]) {
      if (v !== undefined && v !== "" && v !== false) u.searchParams.append(name, String(v));
    }
  }
  return u.pathname + u.search;
}

/** @param {string} id */
export const taskPath = (id, rest = "") => `/tasks/${encodeURIComponent(id)}${rest}`;

/**
 * Sends a request and records what the response says about the state of the server.
 * @param {string} path
 * @param {RequestInit} [options]
 */
export async function request(path, options = {}) {
  const headers = new Headers(options.headers);
  headers.set("X-Requested-With", "k8s-cli-ui");
  if (sessionKey()) headers.set("X-Session-Key", sessionKey());
  /** @type {Response} */
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...options, headers });
  } catch (err) {
    if (options.signal?.aborted) throw err;
    unreachable();
    throw new Unreachable();
  }
  record(response, options.method || "GET");
  if (response.ok || response.status === 304) return response;
  throw await failure(response);
}

/** @param {Response} response @param {string} method */
function record(response, method) {
  responded();
  const state = server.get();
  if (response.status === 401) server.patch({ needsLogin: true });
  if (method !== "GET" || !response.ok) return;
  const stale = /^(log|cluster); age=(\d+)$/.exec(response.headers.get("X-Stale") || "");
  if (stale) server.patch({ stale: { what: stale[1], age: Number(stale[2]), at: Date.now() } });
  else if (state.stale && response.headers.has("ETag")) server.patch({ stale: null });
}

/** @param {Response} response */
async function failure(response) {
  const text = await response.text().catch(() => "");
  try {
    const body = JSON.parse(text);
    return new ApiError(response.status, body.detail || text, body);
  } catch {
    return new ApiError(response.status, text.slice(0, 300) || `The server responded with status ${response.status}.`);
  }
}

/**
 * @param {string} path
 * @param {{query?: Record<string, any>, signal?: AbortSignal}} [o]
 * @returns {Promise<{data: any, headers: Headers}>}
 */
export async function get(path, { query, signal } = {}) {
  const response = await request(url(path, query), { signal });
  return { data: await response.json(), headers: response.headers };
}

/**
 * @param {string} path
 * @param {{method?: string, query?: Record<string, any>, body?: string | object, type?: string, key?: string, signal?: AbortSignal}} [o]
 */
export async function send(path, { method = "POST", query, body, type, key, signal } = {}) {
  const text = typeof body === "string" ? body : body && JSON.stringify(body);
  /** @type {Record<string, string>} */
  const headers = {};
  if (text !== undefined) headers["Content-Type"] = type || "application/json";
  if (key) headers["Idempotency-Key"] = key;
  const response = await request(url(path, query), { method, body: text, headers, signal });
  return response.status === 204 ? null : response.json();
}

/** A key that makes the repetition of a submission harmless. */
export const newKey = () => "ui-" + crypto.getRandomValues(new Uint32Array(4)).join("-");
