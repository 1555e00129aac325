// Downloads the outputs of a node, and resumes the download after breaks of the connection.
import { ApiError } from "./errors.js";
import { readPart } from "./requests.js";
import { pauseBeforeRetry, sleep } from "./retry.js";

/**
 * @param {import("./requests.js").Requests} requests @param {string} path @param {{signal?: AbortSignal}} o
 * @returns {Promise<Uint8Array<ArrayBuffer>>} the archive, whose SHA-256 is checked where the platform has WebCrypto
 */
export async function readOutputs(requests, path, { signal }) {
  /** @type {Uint8Array[]} */
  let parts = [];
  let size = 0, tag = "", failures = 0, moved = Date.now(); // moved is when the last data arrived
  for (;;) {
    try {
      const headers = size && tag ? { Range: `bytes=${size}-`, "If-Range": tag } : undefined;
      const response = await requests.once("GET", path, { headers, stream: true, limit: requests.timeout, signal });
      const rest = response.status === 206 && response.headers.get("Content-Range")?.startsWith(`bytes ${size}-`);
      if (!rest) [parts, size, tag] = [[], 0, response.headers.get("ETag") || ""];
      const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
      try {
        for (;;) {
          const { done, value } = await readPart(reader, requests.url, requests.timeout, signal);
          if (done) break;
          parts.push(value);
          size += value.length;
          [failures, moved] = [0, Date.now()];
        }
      } finally { reader.cancel().catch(() => {}); }
      break;
    } catch (err) {
      const pause = pauseBeforeRetry(err, failures++, true, requests.reached);
      if (pause === null || (Date.now() - moved) / 1000 + pause > requests.timeout) throw err;
      await sleep(pause, signal);
    }
  }
  const bytes = new Uint8Array(size);
  parts.reduce((at, part) => (bytes.set(part, at), at + part.length), 0);
  await check(bytes, tag);
  return bytes;
}

/** @param {Uint8Array<ArrayBuffer>} bytes @param {string} tag the ETag, which contains the SHA-256 */
async function check(bytes, tag) {
  const wanted = /[0-9a-f]{64}/.exec(tag)?.[0];
  if (!wanted || !crypto.subtle) return; // a page over plain HTTP has no WebCrypto
  const found = Array.from(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)), (b) => b.toString(16).padStart(2, "0")).join("");
  if (found !== wanted) throw new ApiError(`the SHA-256 of the outputs is ${found}, and the server has ${wanted}: download them again`, { reason: "ChecksumMismatch" });
}
