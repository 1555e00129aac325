// When to send a request again, and how long to wait before.
import { ApiError, isBroken } from "./errors.js";

const firstPause = 0.1; // seconds after the first broken connection; doubles with each attempt
const maxPause = 2; // longest pause between two attempts
const maxBreaks = 5; // broken connections in a row after which the client gives up on a server that never responded
const restarting = [502, 503, 504]; // statuses of a proxy in front of a server that restarts

/** Seconds after which a connection that broke counts as one that worked. */
export const steady = 5;

/** A new Idempotency-Key: the repetition of a request with the same key has no effect and gets the first response. */
export const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(18)), (b) => b.toString(16).padStart(2, "0")).join("");

/**
 * @param {unknown} err @param {number} attempt @param {boolean} safe whether a repetition of the request has no effect
 * @param {boolean} reached whether the server has responded before; then the server may only restart
 * @returns {number | null} seconds to wait before the request is sent again, or null if it is not sent again
 */
export function pauseBeforeRetry(err, attempt, safe, reached) {
  if (!(err instanceof ApiError)) return null;
  if (err.retryAfter > 0 && (err.status === 429 || (err.status === 503 && safe))) return err.retryAfter;
  if (!safe) return null;
  if (reached) return err.reason === "ConnectionFailed" || restarting.includes(err.status) ? resumePause(attempt) : null;
  return isBroken(err) && attempt < maxBreaks ? firstPause * 2 ** attempt : null;
}

/** @param {number} attempt @returns {number} seconds to wait before a request or a stream is repeated */
export const resumePause = (attempt) => Math.min(maxPause, firstPause * 2 ** Math.min(attempt, 10));

/** Waits for the pause and a random part of up to a half, which spreads the retries of many clients. @param {number} seconds @param {AbortSignal} [signal] @returns {Promise<void>} */
export function sleep(seconds, signal) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const abort = () => { clearTimeout(timer); reject(signal?.reason); };
    const timer = setTimeout(() => { signal?.removeEventListener("abort", abort); resolve(); }, 1000 * seconds * (1 + Math.random() / 2));
    signal?.addEventListener("abort", abort, { once: true });
  });
}
