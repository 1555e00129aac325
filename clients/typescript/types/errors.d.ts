/** @param {Response} response an error response @returns {Promise<ApiError>} */
export function errorOf(response: Response): Promise<ApiError>;
/** The error of a request whose response is a redirect: another host must not get the body and the headers. @param {string} url @param {Response} response */
export function redirected(url: string, response: Response): ApiError;
/** The failure of a request to which no server responded. @param {string} url @param {unknown} cause */
export function connectionFailed(url: string, cause: unknown): ApiError;
/**
 * Whether a connection broke, and did not fail to be established. A browser gives both failures the same error.
 * @param {ApiError} err
 */
export function isBroken(err: ApiError): boolean;
/** Throws an error if a response is about another object than the request. @param {string} url @param {string} field @param {string} asked @param {unknown} found */
export function checkAnswer(url: string, field: string, asked: string, found: unknown): void;
/** @typedef {{status?: number, reason?: string, field?: string, retryAfter?: number, body?: any, cause?: unknown}} Details */
/**
 * An error response of the server, or the failure of a request without a response. The message
 * is a sentence for people; `reason` is one word for programs.
 */
export class ApiError extends Error {
    /** @param {string} detail @param {Details} [o] */
    constructor(detail: string, { status, reason, field, retryAfter, body, cause }?: Details);
    /** Status of the response; 0 without a response. */
    status: number;
    /** Why the request failed, for example `LimitReached`; `ConnectionFailed`, `Redirected`, `WrongAnswer`, `ChecksumMismatch`, `LogBroken`, `WaitTimeout`, `TaskFailed`, `GroupFailed` and `BatchFailed` are reasons of the client. */
    reason: string;
    /** The wrong field or parameter; empty if the error is about the whole request. */
    field: string;
    /** What failed and what to do, in a sentence. */
    detail: string;
    /** Seconds after which the server accepts the request again; 0 if the server does not say so. */
    retryAfter: number;
    /** The body of the response, or what the error is about: a task, a group, or the results of a batch. */
    body: any;
}
export function isRedirect(response: Response): boolean;
export function isUnavailable(err: unknown): boolean;
export type Details = {
    status?: number;
    reason?: string;
    field?: string;
    retryAfter?: number;
    body?: any;
    cause?: unknown;
};
