/**
 * @param {unknown} err @param {number} attempt @param {boolean} safe whether a repetition of the request has no effect
 * @param {boolean} reached whether the server has responded before; then the server may only restart
 * @returns {number | null} seconds to wait before the request is sent again, or null if it is not sent again
 */
export function pauseBeforeRetry(err: unknown, attempt: number, safe: boolean, reached: boolean): number | null;
/** Waits for the pause and a random part of up to a half, which spreads the retries of many clients. @param {number} seconds @param {AbortSignal} [signal] @returns {Promise<void>} */
export function sleep(seconds: number, signal?: AbortSignal): Promise<void>;
/** Seconds after which a connection that broke counts as one that worked. */
export const steady: 5;
export function newKey(): string;
export function resumePause(attempt: number): number;
