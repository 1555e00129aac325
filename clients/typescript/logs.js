// Reads the log of a task, and resumes it after breaks of the connection without loss or repeats.
import { LogPosition } from "./cursor.js";
import { ApiError, isUnavailable } from "./errors.js";
import { readPart } from "./requests.js";
import { pauseBeforeRetry, resumePause, sleep, steady } from "./retry.js";

/** @typedef {{follow?: boolean, node?: number, attempt?: number, tail?: number, since?: string | number, timestamps?: boolean, signal?: AbortSignal}} LogOptions since is an age in seconds or such as 3h, or a time in RFC 3339 */

const firstSilence = 45; // seconds until a response begins; a ping, at the latest, begins it
const maxPings = 3; // empty lines that the server did not send in time, after which the connection counts as broken
const maxIdle = 3; // repeated requests that bring nothing new, after which the log is over also if they do not repeat each line

/**
 * @param {import("./requests.js").Requests} requests @param {string} path @param {LogOptions & {since?: number}} o
 * @returns {AsyncGenerator<string, void, undefined>} the lines without their newlines
 */
export async function* readLog(requests, path, { follow = true, node, attempt, tail, since, timestamps = false, signal }) {
  const position = new LogPosition(), end = new End(position, follow), asked = Date.now();
  let began = false, failures = 0, down = 0, silence = Infinity; // seconds without data after which the connection counts as broken
  for (;;) {
    const lines = position.lines, sent = Date.now();
    let opened = Infinity;
    const age = since !== undefined && began ? since + (sent - asked) / 1000 : since;
    const query = { tail, since: age === undefined ? undefined : age.toFixed(3) + "s", node, attempt, timestamps, follow: follow ? undefined : "false" };
    try {
      const response = await requests.once("GET", path, { query, headers: { "X-Log-Resume": position.token(), "X-Log-Ping": "true" }, stream: true, limit: Math.min(silence, firstSilence), signal });
      began = true;
      opened = Date.now();
      position.begin(response.headers.get("X-Log-Resumable") === "true");
      const ping = position.resumable ? Number(response.headers.get("X-Log-Ping")) : 0; // seconds without a line after which the server sends an empty line
      silence = ping ? maxPings * ping : Infinity;
      let rest = "";
      for await (const line of linesOf(response, requests.url, silence, signal)) {
        if (ping && line === "\n") continue;
        if (line.endsWith("\n")) {
          const shown = position.accept(line.slice(0, -1), timestamps);
          if (shown !== null) yield shown;
        } else rest = line;
      }
      if (end.reached(position.lines > lines, rest, response)) break;
      failures = down = 0;
      if (end.checks > 1) await sleep(resumePause(0), signal);
    } catch (err) {
      if (end.isGone(err)) break;
      const pause = !began ? pauseBeforeRetry(err, failures, true, requests.reached) : position.canResume() && isUnavailable(err) ? resumePause(failures) : null;
      if (pause === null) throw began ? broken(err) : err;
      const now = Date.now();
      if (began && (position.lines > lines || now - opened > 1000 * steady)) failures = down = 0;
      down ||= now;
      if ((now - down) / 1000 + (began ? 0 : pause) > requests.timeout) throw began ? broken(err) : err;
      failures++;
      await sleep(pause, signal);
    }
  }
  const shown = end.rest ? position.accept(end.rest, timestamps) : null;
  if (shown !== null) yield shown;
}

/**
 * Recognises the end of a log. The server closes the connection after a log, and fetch of Node takes any end of such a
 * connection for the end of the response. A log is therefore over only if a repeated request brings nothing new.
 */
class End {
  /** @param {LogPosition} position @param {boolean} follow */
  constructor(position, follow) {
    this.position = position;
    this.follow = follow;
    this.checks = 0; // responses that ended without an error
    this.idle = 0;
    this.rest = ""; // text after the last newline of the newest of these responses
    this.until = Infinity; // second of the first of them; a log without follow need not have later lines
  }

  /** Whether the log is over. @param {boolean} grown whether the response brought a line @param {string} rest @param {Response} response */
  reached(grown, rest, response) {
    const same = !grown && rest === this.rest;
    this.rest = rest;
    if (!this.position.canResume()) return true;
    if (++this.checks === 1) {
      if (!this.follow) this.until = (Date.parse(response.headers.get("Date") || "") || Date.now()) / 1000;
      return false;
    }
    if (this.position.isWhole(rest) && (same || this.position.newest() > this.until)) return true;
    this.idle = same ? this.idle + 1 : 0;
    if (this.idle >= maxIdle && rest) throw broken();
    return this.idle >= maxIdle;
  }

  /** Whether a repeated request failed because the server has removed the log. @param {unknown} err */
  isGone(err) { return this.checks > 0 && err instanceof ApiError && (err.status === 404 || err.status === 410); }
}

/** @param {unknown} [err] */
function broken(err) {
  if (err !== undefined && (!(err instanceof ApiError) || err.reason !== "ConnectionFailed")) return err;
  return new ApiError("the log broke off, and the server cannot resume it: read the log again", { reason: "LogBroken", cause: err });
}

/** The lines of a response with their newlines; the last one may be a part of a line. @param {Response} response @param {string} url @param {number} silence as in readPart @param {AbortSignal} [signal] */
async function* linesOf(response, url, silence, signal) {
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader(), decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await readPart(reader, url, silence, signal);
      if (done) break;
      const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = /** @type {string} */ (lines.pop());
      for (const line of lines) yield line + "\n";
    }
    rest += decoder.decode();
    if (rest) yield rest;
  } finally { reader.cancel().catch(() => {}); }
}
