// Reads the log of a task, and resumes it after breaks of the connection without loss or repeats.
import { LogPosition } from "./cursor.js";
import { ApiError, connectionFailed, isUnavailable } from "./errors.js";
import { pauseBeforeRetry, resumePause, sleep, steady } from "./retry.js";

/** @typedef {{follow?: boolean, node?: number, attempt?: number, tail?: number, since?: number, timestamps?: boolean, signal?: AbortSignal}} LogOptions since is in seconds */

/**
 * @param {import("./requests.js").Requests} requests @param {string} path @param {LogOptions} o
 * @returns {AsyncGenerator<string, void, undefined>} the lines without their newlines
 */
export async function* readLog(requests, path, { follow = true, node, attempt, tail, since, timestamps = false, signal }) {
  const position = new LogPosition(), asked = Date.now();
  let began = false, failures = 0, down = 0;
  for (;;) {
    const lines = position.lines, opened = Date.now();
    const age = since !== undefined && began ? since + (opened - asked) / 1000 : since;
    const query = { tail, since: age === undefined ? undefined : age.toFixed(3) + "s", node, attempt, timestamps, follow: follow ? undefined : "false" };
    try {
      const response = await requests.once("GET", path, { query, headers: { "X-Log-Resume": position.token() }, stream: true, signal });
      began = true;
      position.begin(response.headers.get("X-Log-Resumable") === "true");
      for await (const line of linesOf(response, requests.url, signal)) {
        const shown = position.accept(line, timestamps);
        if (shown !== null) yield shown;
      }
      return;
    } catch (err) {
      const pause = !began ? pauseBeforeRetry(err, failures, true) : position.canResume() && isUnavailable(err) ? resumePause(failures) : null;
      if (pause === null) throw began ? broken(err) : err;
      const now = Date.now();
      if (began && (position.lines > lines || now - opened > 1000 * steady)) failures = down = 0;
      down ||= now;
      if ((now - down) / 1000 + (began ? 0 : pause) > requests.timeout) throw began ? broken(err) : err;
      failures++;
      await sleep(pause, signal);
    }
  }
}

/** @param {unknown} err */
function broken(err) {
  if (!(err instanceof ApiError) || err.reason !== "ConnectionFailed") return err;
  return new ApiError("the log broke off, and the server cannot resume it: read the log again", { reason: "LogBroken", cause: err });
}

/** The lines of a response; a line without its newline counts only at the end of the log. @param {Response} response @param {string} url @param {AbortSignal} [signal] */
async function* linesOf(response, url, signal) {
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader(), decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((err) => { throw signal?.aborted ? signal.reason : connectionFailed(url, err); });
      if (done) break;
      const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = /** @type {string} */ (lines.pop());
      yield* lines;
    }
    rest += decoder.decode();
    if (rest) yield rest;
  } finally { reader.cancel().catch(() => {}); }
}
