// What needs no server, or only one answer of a server.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { createServer as listen } from "node:net";
import { test } from "node:test";
import { ApiError, Client, grid } from "../index.js";
import { LogPosition } from "../cursor.js";
import { EventParser, later } from "../sse.js";

/** A server that gives the answers in turn, and then the last one again. @param {((request: any, response: any) => void)[]} answers @param {(client: Client, requests: any[]) => Promise<void>} act */
async function stub(answers, act, options = {}) {
  const requests = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (data) => { body += data; });
    request.on("end", () => { requests.push({ method: request.method, url: request.url, headers: request.headers, body, at: Date.now() }); answers[Math.min(requests.length, answers.length) - 1](request, response); });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  try {
    await act(new Client({ url: `http://127.0.0.1:${/** @type {any} */ (server.address()).port}`, user: "ann", ...options }), requests);
  } finally { server.closeAllConnections(); server.close(); }
}

const json = (status, body, headers = {}) => (_, response) => { response.writeHead(status, { "Content-Type": "application/json", ...headers }); response.end(JSON.stringify(body)); };
const submitted = json(200, { task_id: "lex9x817", status: "submitted", message: "" });
const busy = json(503, { detail: "busy", reason: "Unavailable" }, { "Retry-After": "1" });

test("a rejected submission is repeated after the pause that the server asks for, with the same key", () => stub([json(429, { detail: "slow down", reason: "LimitReached" }, { "Retry-After": "1" }), busy, submitted], async (client, requests) => {
  const { task_id: id } = await client.submit({ run: "true" }, { group: "g", maxParallel: 2, failFast: true, after: ["a", "b"] });
  assert.equal(id, "lex9x817");
  assert.equal(requests.length, 3);
  assert.equal(new Set(requests.map((r) => r.headers["idempotency-key"])).size, 1);
  assert.ok(requests[1].at - requests[0].at >= 990 && requests[2].at - requests[1].at >= 990);
  assert.equal(requests[0].url, "/tasks/submit?group=g&max_parallel=2&fail_fast=true&after=a&after=b");
  assert.equal(requests[0].headers["x-user"], "ann");
}));

test("no redirect is followed, because another host would get the body", () => stub([submitted], async (elsewhere, received) => {
  for (const status of [301, 307, 308]) {
    await stub([(_, response) => { response.writeHead(status, { Location: `${elsewhere.url}/tasks/submit` }); response.end(); }], async (client) => {
      await assert.rejects(client.submit({ run: "true", secrets: { PW: "hush" } }), { status, reason: "Redirected" });
    });
  }
  assert.equal(received.length, 0);
}));

test("a request whose repetition has an effect is not repeated", () => stub([busy], async (client, requests) => {
  await assert.rejects(client.stopAll(), { status: 503, reason: "Unavailable", retryAfter: 1 });
  assert.equal(requests.length, 1);
}));

test("the client does not wait longer than its timeout", () => stub([json(503, { detail: "busy", reason: "Unavailable" }, { "Retry-After": "100" })], async (client, requests) => {
  await assert.rejects(client.summary(), { status: 503, retryAfter: 100 });
  assert.equal(requests.length, 1);
}));

test("a connection that breaks in the middle of a response is repeated", () => stub([(_, response) => { response.writeHead(200, { "Content-Length": "100" }); response.write("{"); setTimeout(() => response.destroy(), 20); }, submitted], async (client, requests) => {
  assert.equal((await client.submit("run: true\n")).task_id, "lex9x817");
  assert.equal(requests.length, 2);
  assert.equal(requests[1].headers["content-type"], "application/yaml");
}));

test("an error has the status, the reason, the field and the sentence of the server", () => stub([json(422, { detail: "cpus: \"many\" is no number", reason: "Invalid", field: "resources.cpus" })], async (client) => {
  const err = await client.submit({ run: "true" }).catch((e) => e);
  assert.ok(err instanceof ApiError);
  assert.deepEqual([err.status, err.reason, err.field, err.detail, err.message], [422, "Invalid", "resources.cpus", "cpus: \"many\" is no number", "cpus: \"many\" is no number"]);
}));

test("an error page of a proxy is an error too", () => stub([(_, response) => { response.writeHead(502); response.end("<html>Bad Gateway"); }], async (client) => {
  await assert.rejects(client.summary(), { status: 502, reason: "", detail: "<html>Bad Gateway" });
}));

test("no server is an error of the connection", async () => {
  const client = new Client({ url: "http://127.0.0.1:1", user: "ann" });
  await assert.rejects(client.stopAll(), { status: 0, reason: "ConnectionFailed" });
});

test("a list reads one page after the other", () => stub([json(200, { tasks: [{ task_id: "a" }, { task_id: "b" }] }, { "X-Next-Cursor": "c1" }), json(200, { tasks: [{ task_id: "c" }] })], async (client, requests) => {
  const ids = [];
  for await (const task of client.list({ status: ["failed", "stopped"], namePrefix: "t", pageSize: 2 })) ids.push(task.task_id);
  assert.deepEqual(ids, ["a", "b", "c"]);
  assert.deepEqual(requests.map((r) => r.url), ["/tasks?status=failed&status=stopped&name_prefix=t&limit=2", "/tasks?status=failed&status=stopped&name_prefix=t&limit=2&cursor=c1"]);
}));

test("a token is sent to a server on this machine or over TLS only", async () => {
  assert.throws(() => new Client({ url: "http://example.com", token: "t" }), /plain HTTP/);
  new Client({ url: "http://example.com", token: "t", allowPlainHTTP: true });
  await stub([json(200, {})], async (client, requests) => {
    await client.summary();
    assert.equal(requests[0].headers.authorization, "Bearer secret");
    assert.equal(requests[0].headers["x-user"], undefined);
  }, { token: async () => "secret" });
});

test("an id cannot change the path", async () => {
  const client = new Client({ url: "http://127.0.0.1:1", user: "ann" });
  await assert.rejects(async () => client.status(".."), { reason: "Invalid" });
  await assert.rejects(client.stopGroup(""), { reason: "Invalid" });
  assert.equal(client.address("/tasks/" + encodeURIComponent("a/b?c")), "http://127.0.0.1:1/tasks/a%2Fb%3Fc");
});

test("an abort ends a request and a pause", () => stub([busy], async (client) => {
  const abort = new AbortController();
  setTimeout(() => abort.abort(new Error("enough")), 100);
  await assert.rejects(client.submit({ run: "true" }, { signal: abort.signal }), /enough/);
}));

test("a grid is all combinations", () => {
  assert.deepEqual(grid({ LR: [0.1, 0.01], SEED: [1] }), [{ LR: 0.1, SEED: 1 }, { LR: 0.01, SEED: 1 }]);
});

test("a sweep is one group, and its tasks know their numbers", () => stub([json(200, { results: [{ task_id: "a" }, { task_id: "b" }] })], async (client, requests) => {
  const sweep = await client.map({ name: "my sweep", run: "x", envs: { A: "1" } }, { LR: [0.1, 0.01] }, { maxParallel: 1 });
  assert.match(sweep.group, /^my-sweep-[a-z0-9]{5}$/);
  assert.deepEqual(sweep.tasks, [{ point: { LR: 0.1 }, task_id: "a" }, { point: { LR: 0.01 }, task_id: "b" }]);
  assert.deepEqual(JSON.parse(requests[0].body)[1].envs, { A: "1", LR: "0.01", SKYPILOT_JOB_RANK: "1", SKYPILOT_NUM_JOBS: "2" });
  assert.equal(requests[0].url, `/tasks/batch?group=${sweep.group}&max_parallel=1`);
}));

test("a batch with rejected tasks is an error with all results", () => stub([json(200, { results: [{ task_id: "a" }, { code: 422, detail: "run is empty", reason: "Invalid", field: "run" }] })], async (client) => {
  await assert.rejects(client.submitAll([{ run: "true" }, { run: "" }]), (err) => err instanceof ApiError && err.reason === "BatchFailed" && err.status === 422 && err.field === "run" && err.body[0].task_id === "a");
}));

test("events arrive whole from any pieces of the stream", () => {
  const text = "id: 12.1\ndata: {\"a\":1}\n\n: keep-alive\n\nid: 12.2\r\n\r\ndata: one\ndata:  two\n\n";
  for (const size of [1, 2, 7, text.length]) {
    const parser = new EventParser(), got = [];
    for (let i = 0; i < text.length; i += size) parser.push(text.slice(i, i + size), (data, id) => got.push([id, data]));
    assert.deepEqual(got, [["12.1", "{\"a\":1}"], ["12.2", ""], ["", "one\n two"]]);
  }
  assert.deepEqual([later("12.2", "12.1"), later("13.0", "12.9"), later("12.1", "12.1"), later("9.1", "12.1")], [true, true, false, false]);
});

const at = (second, text, fraction = "") => `2026-11-22T10:00:${String(second).padStart(2, "0")}${fraction}Z ${text}`;

test("a resumed log repeats no line and loses none, also with equal times and equal lines", () => {
  const all = [at(1, "a"), at(2, "same"), at(2, "same"), at(3, "b", ".5"), at(3, "late", ".1"), at(3, "same"), at(4, "c"), at(9, "d")];
  for (let cut = 1; cut < all.length; cut++) {
    const position = new LogPosition(), got = [];
    const read = (lines) => { position.begin(true); for (const line of lines) { const shown = position.accept(line, true); if (shown !== null) got.push(shown); } };
    read(all.slice(0, cut));
    const since = Number(position.token().split("@")[1]);
    read(all.filter((line) => Math.floor(Date.parse(line.split(" ")[0]) / 1000) >= since));
    assert.deepEqual(got, all, `cut after ${cut} lines`);
  }
});

test("the lines of each node have their own position, and lose their times", () => {
  const position = new LogPosition();
  assert.equal(position.token(), "start");
  position.begin(true);
  assert.equal(position.accept(`node-1 | ${at(5, "x")}`, false), "node-1 | x");
  assert.equal(position.accept(`node-0 | ${at(7, "")}`, false), "node-0 | ");
  const second = Date.parse("2026-11-22T10:00:00Z") / 1000;
  assert.equal(position.token(), `0@${second + 6},1@${second + 4}`);
  assert.ok(position.canResume());
  assert.throws(() => position.accept("no time", false), /without its time/);
});

/** A server of one log, which closes each connection after a response, as the real one does. @param {string} log @param {number[]} cuts the number of bytes of each response in turn; later responses are whole @param {(client: Client, tokens: string[]) => Promise<void>} act */
async function serveLog(log, cuts, act, resumable = "true") {
  const tokens = /** @type {string[]} */ ([]);
  const server = listen((socket) => socket.on("error", () => {}).once("data", (head) => {
    const token = /x-log-resume: (\S+)/i.exec(String(head))?.[1] || "", since = Number(token.split("@")[1] || 0);
    const body = log.split(/(?<=\n)/).filter((line) => !(Date.parse(line.split(" ")[0]) / 1000 < since)).join("");
    const cut = tokens.push(token) <= cuts.length ? cuts[tokens.length - 1] : Infinity;
    const chunks = `${Math.min(cut, body.length).toString(16)}\r\n${body.slice(0, cut)}\r\n` + (cut === Infinity ? "0\r\n\r\n" : "");
    socket.end(`HTTP/1.1 200 OK\r\nX-Log-Resumable: ${resumable}\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n${body ? chunks : "0\r\n\r\n"}`);
  }));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  try {
    await act(new Client({ url: `http://127.0.0.1:${/** @type {any} */ (server.address()).port}`, user: "ann" }), tokens);
  } finally { server.close(); }
}

const whole = [at(1, "one"), at(5, "two"), at(9, "three"), at(9, "three")].map((line) => line + "\n").join(""), shown = ["one", "two", "three", "three"];
const second = whole.indexOf("\n") + 1, length = whole.length;

for (const [name, cuts, requests] of /** @type {[string, number[], number][]} */ ([
  ["nowhere", [], 2],
  ["in the text of a line", [second + 23, length - 3], 4],
  ["in the time of a line", [second + 5], 3],
  ["before a newline", [second - 1, length - 1], 4],
  ["after a newline", [second], 3],
  ["after the last line", [length], 2],
  ["before the lines that the client already has end", [second * 2, 10], 4],
  ["before the first line", [3, 0], 4],
])) {
  test(`a log whose connection ends ${name} has each line once`, () => serveLog(whole, cuts, async (client, tokens) => {
    for (const follow of [true, false]) {
      tokens.length = 0;
      const got = [];
      for await (const line of client.logs("a", { follow })) got.push(line);
      assert.deepEqual(got, shown, `follow ${follow}`);
      assert.equal(tokens.length, requests, `${tokens}`);
    }
  }));
}

test("the last line of a log may have no newline", () => serveLog(whole + at(9, "end"), [length + 10], async (client) => {
  const got = [];
  for await (const line of client.logs("a")) got.push(line);
  assert.deepEqual(got, [...shown, "end"]);
}));

test("a log that breaks off at the same place again and again is an error", () => serveLog(whole, Array(9).fill(10), async (client) => {
  await assert.rejects(client.logs("a").next(), { reason: "LogBroken" });
}));

test("a log that cannot be resumed is read once", () => serveLog("no time\n", [], async (client, tokens) => {
  const got = [];
  for await (const line of client.logs("a")) got.push(line);
  assert.deepEqual([got, tokens.length], [["no time"], 1]);
}, "false"));

test("a log without follow ends although the task writes lines", () => {
  const line = (/** @type {number} */ n) => `${new Date(Date.now() + 1000 * n).toISOString()} line\n`;
  const answer = (/** @type {number} */ n) => (/** @type {any} */ _, /** @type {any} */ response) => { response.writeHead(200, { "X-Log-Resumable": "true" }); response.end(all.slice(0, n).join("")); };
  const all = [line(-3), line(-2), line(5), line(6)];
  return stub([answer(1), answer(2), answer(3), answer(4)], async (client, requests) => {
    const got = [];
    for await (const text of client.logs("a", { follow: false })) got.push(text);
    assert.deepEqual([got.length, requests.length], [3, 3]);
  });
});

test("a log that the server removes after its end is complete", () => stub([(_, response) => { response.writeHead(200, { "X-Log-Resumable": "true" }); response.end(whole); }, json(404, { detail: "no log", reason: "LogNotFound" })], async (client, requests) => {
  const got = [];
  for await (const line of client.logs("a")) got.push(line);
  assert.deepEqual([got, requests.length], [shown, 2]);
}));
