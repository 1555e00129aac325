/**
 * @param {import("./requests.js").Requests} requests @param {string} path @param {{signal?: AbortSignal}} o
 * @returns {Promise<Uint8Array<ArrayBuffer>>} the archive, whose SHA-256 is checked where the platform has WebCrypto
 */
export function readOutputs(requests: import("./requests.js").Requests, path: string, { signal }: {
    signal?: AbortSignal;
}): Promise<Uint8Array<ArrayBuffer>>;
