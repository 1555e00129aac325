// Errors of requests.

/** @typedef {{status?: number, reason?: string, field?: string, retryAfter?: number, body?: any, cause?: unknown}} Details */

/**
 * An error response of the server, or the failure of a request without a response. The message
 * is a sentence for people; `reason` is one word for programs.
 */
export class ApiError extends Error {
  /** @param {string} detail @param {Details} [o] */
  constructor(detail, { status = 0, reason = "", field = "", retryAfter = 0, body, cause } = {}) {
    super(detail, cause === undefined ? undefined : { cause });
    this.name = "ApiError";
    /** Status of the response; 0 without a response. */
    this.status = status;
    /** Why the request failed, for example `LimitReached`; `ConnectionFailed`, `Redirected`, `WrongAnswer`, `ChecksumMismatch`, `LogBroken`, `WaitTimeout`, `TaskFailed`, `GroupFailed` and `BatchFailed` are reasons of the client. */
    this.reason = reason;
    /** The wrong field or parameter; empty if the error is about the whole request. */
    this.field = field;
    /** What failed and what to do, in a sentence. */
    this.detail = detail;
    /** Seconds after which the server accepts the request again; 0 if the server does not say so. */
    this.retryAfter = retryAfter;
    /** The body of the response, or what the error is about: a task, a group, or the results of a batch. */
    this.body = body;
  }
}

/** @param {Response} response an error response @returns {Promise<ApiError>} */
export async function errorOf(response) {
  const text = await response.text().catch(() => "");
  const at = { status: response.status, retryAfter: secondsOf(response.headers.get("Retry-After")) };
  try {
    const body = JSON.parse(text);
    return new ApiError(body.detail || text, { ...at, reason: body.reason, field: body.field, body });
  } catch {
    return new ApiError(text.slice(0, 300) || `The server responded with status ${response.status}.`, at);
  }
}

/** Whether a response leads to another address. In a browser, such a response has no status. @param {Response} response */
export const isRedirect = (response) => response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400 && response.status !== 304);

/** The error of a request whose response is a redirect: another host must not get the body and the headers. @param {string} url @param {Response} response */
export function redirected(url, response) {
  const to = response.headers.get("Location") || "another address";
  return new ApiError(`${url} redirects to ${to}, and no redirect is followed: give that URL as the server's if you trust it`, { status: response.status, reason: "Redirected" });
}

/** @param {string | null} retryAfter seconds or a date @returns {number} */
function secondsOf(retryAfter) {
  if (!retryAfter) return 0;
  const seconds = /^\d+$/.test(retryAfter) ? Number(retryAfter) : (Date.parse(retryAfter) - Date.now()) / 1000;
  return seconds > 0 ? seconds : 0;
}

/** The failure of a request to which no server responded. @param {string} url @param {unknown} cause */
export function connectionFailed(url, cause) {
  const why = /** @type {any} */ (cause)?.cause?.message || /** @type {any} */ (cause)?.message || cause;
  return new ApiError(`${url} does not respond: ${why}`, { reason: "ConnectionFailed", cause });
}

/**
 * Whether a connection broke, and did not fail to be established. A browser gives both failures the same error.
 * @param {ApiError} err
 */
export function isBroken(err) {
  const code = /** @type {any} */ (err.cause)?.cause?.code;
  return err.reason === "ConnectionFailed" && (code === undefined || ["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"].includes(code));
}

/** Throws an error if a response is about another object than the request. @param {string} url @param {string} field @param {string} asked @param {unknown} found */
export function checkAnswer(url, field, asked, found) {
  if (found !== asked) throw new ApiError(`${url} was asked about ${field} "${asked}" and answered about "${found}": check the proxies between the client and the server`, { reason: "WrongAnswer" });
}

/** Whether the server or the connection to it may work again later. @param {unknown} err */
export const isUnavailable = (err) => err instanceof ApiError && (err.reason === "ConnectionFailed" || err.status === 429 || err.status >= 500);
