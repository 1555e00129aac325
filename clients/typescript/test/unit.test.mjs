// What needs no server, or only one answer of a server.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { createServer as listen } from "node:net";
import { test } from "node:test";
import { ApiError, Client, grid } from "../index.js";
import { LogPosition } from "../cursor.js";
import { pauseBeforeRetry } from "../retry.js";
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
const sse = (text) => (_, response) => { response.writeHead(200, { "Content-Type": "text/event-stream" }); response.write(text); };
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

test("an option that does not exist is an error, also in JavaScript", () => stub([submitted], async (client, requests) => {
  for (const act of [() => client.submit({ run: "true" }, { grup: "g" }), () => client.submitAll([{ run: "true" }], { maxParalel: 1 }), () => client.map({ run: "true" }, { N: [1] }, { after: "x" }), () => client.chain([{ run: "true" }], { failfast: true })]) {
    await assert.rejects(act, { name: "TypeError", message: /^there is no option "\w+" here; / });
  }
  for (const act of [() => client.usage({ Since: "3h" }), () => client.summary({ all_users: true }), () => client.group("g", { User: "a" }), () => client.status("a", { Signal: 1 }), () => client.download("a", 0, { Signal: 1 }), () => client.logLines("a", "-1", { Node: 0 }), () => client.createVolume({}, { Key: "k" }), () => client.deleteVolume("v", { Force: true })]) {
    await assert.rejects(act, { name: "TypeError", message: /^there is no option "\w+" here; write \w+$/ });
  }
  assert.throws(() => client.groups({ nmae: "x" }), { name: "TypeError", message: 'there is no option "nmae" here; the options of groups are allUsers, name and status' });
  assert.throws(() => client.volumes({ all_users: true }), { name: "TypeError", message: 'there is no option "all_users" here; write allUsers' });
  assert.throws(() => new Client({ url: "http://localhost", allow_plain_http: true }), { name: "TypeError", message: 'there is no option "allow_plain_http" here; write allowPlainHTTP' });
  assert.throws(() => client.list({ limit: 2 }), { name: "TypeError", message: /^limit: the client reads all pages/ });
  assert.equal(requests.length, 0);
}));

test("a filter that does not exist is an error, and stops nothing", () => stub([], async (client, requests) => {
  for (const [unknown, meant] of [["name_prefix", "namePrefix"], ["name_contains", "nameContains"], ["all_users", "allUsers"]]) {
    const filters = { group: "g", [unknown]: "x" }, error = { name: "TypeError", message: `there is no option "${unknown}" here; write ${meant}` };
    await assert.rejects(client.stopAll(filters), error);
    for (const act of [() => client.list(filters), () => client.rows(filters)]) assert.throws(act, error);
  }
  await assert.rejects(client.stopAll({ not: { name_prefix: "x" } }), { name: "TypeError", message: 'there is no option "name_prefix" here; write namePrefix' });
  await assert.rejects(client.stopAll({ not: { allUsers: true } }), { name: "TypeError", message: /^there is no option "allUsers" here; the filters are status, / });
  await assert.rejects(client.stopAll({ page_size: 1 }), { name: "TypeError", message: /^there is no option "page_size" here; the filters are status, .* before and not$/ });
  assert.throws(() => client.list({ page_size: 1 }), { name: "TypeError", message: 'there is no option "page_size" here; write pageSize' });
  assert.equal(requests.length, 0);
}));

test("an option of a wait that does not exist is an error", () => stub([submitted], async (client, requests) => {
  for (const act of [() => client.wait("a", { timeOut: 1 }), () => client.waitGroup("g", { timeOut: 1 })]) {
    await assert.rejects(act, { name: "TypeError", message: 'there is no option "timeOut" here; write timeout' });
  }
  assert.equal(requests.length, 0);
}));

test("an option of a log or of a stream that does not exist is an error", () => stub([submitted], async (client, requests) => {
  const known = { logs: "a log are follow, node, attempt, tail, since, timestamps and signal", events: "events are group, allUsers, after and signal", taskEvents: "taskEvents are after and signal", groupEvents: "groupEvents are after and signal" };
  for (const [act, options] of [[() => client.logs("a", { folow: true }), known.logs], [() => client.events({ folow: true }), known.events], [() => client.taskEvents("a", { folow: true }), known.taskEvents], [() => client.groupEvents("g", { folow: true }), known.groupEvents]]) {
    assert.throws(act, { name: "TypeError", message: `there is no option "folow" here; the options of ${options}` });
  }
  assert.throws(() => client.logs("a", { since: "3 hours" }), { name: "TypeError", message: 'since: "3 hours" is neither an age, for example 90s or 3h, nor a time in RFC 3339' });
  assert.equal(requests.length, 0);
}));

test("the beginning of a log is an age or a time", () => stub([(_, response) => response.end()], async (client, requests) => {
  const begin = async (since) => {
    for await (const _ of client.logs("a", { since, follow: false }));
    return Number(new URL(client.url + requests.at(-1).url).searchParams.get("since")?.replace(/s$/, ""));
  };
  assert.deepEqual([await begin("3h"), await begin("1h1.5m"), await begin("2d"), await begin(90), await begin("90")], [10800, 3690, 172800, 90, 90]);
  const age = await begin(new Date(Date.now() - 3600_000).toISOString());
  assert.ok(age >= 3600 && age < 3700);
}));

test("a wait that ends too early says why the task waits", async () => {
  const task = { task_id: "a", status: "pending", metadata: { reason: "Unschedulable", message: "no machine" } };
  const group = { group: "g", by_status: { pending: 1, running: 0, failed: 2 } };
  /** A client whose streams stay silent, and whose server answers with a state, and then with the status later. @param {object} state */
  const waiting = (state, later = 200) => {
    let status = 200;
    return new Client({ url: "http://127.0.0.1:1", user: "ann", fetch: async (url, { signal }) => {
      if (!String(url).includes("/events")) return Response.json(state, { status });
      status = later;
      return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    } });
  };
  const late = await waiting(task).wait("a", { timeout: 0.05 }).catch((e) => e);
  assert.deepEqual([late.reason, late.message, late.body], ["WaitTimeout", "task a is not over after 0.05 s; it is pending (Unschedulable: no machine)", task]);
  await assert.rejects(waiting(group).waitGroup("g", { timeout: 0.05 }), { reason: "WaitTimeout", message: "group g is not over after 0.05 s; it is 1 pending, 2 failed" });
  await assert.rejects(waiting(task, 500).wait("a", { timeout: 0.05 }), { reason: "WaitTimeout", message: "task a is not over after 0.05 s" });
});

test("a wait outlasts the timeout of the client while the server is away", async () => {
  for (const act of [(client) => client.wait("a"), (client) => client.waitGroup("g")]) {
    const state = (status) => json(200, { task_id: "a", group: "g", status, by_status: { [status]: 1 } }), away = json(503, { detail: "the server is starting", reason: "Starting" });
    await stub([state("running"), (_, response) => response.end(), away, away, json(410, { detail: "events were missed" }), state("completed")], async (client, requests) => {
      assert.equal((await act(client)).status, "completed");
      assert.equal(requests.length, 6);
    }, { timeout: 0.5 });
  }
});

test("no redirect is followed, because another host would get the body", () => stub([submitted], async (elsewhere, received) => {
  for (const status of [301, 307, 308]) {
    await stub([(_, response) => { response.writeHead(status, { Location: `${elsewhere.url}/tasks/submit` }); response.end(); }], async (client) => {
      await assert.rejects(client.submit({ run: "true", secrets: { PW: "hush" } }), { status, reason: "Redirected" });
    });
  }
  assert.equal(received.length, 0);
}));

test("a request whose repetition has an effect is not repeated", () => stub([busy], async (client, requests) => {
  await assert.rejects(client.json("POST", "/tasks/stop"), { status: 503, reason: "Unavailable", retryAfter: 1 });
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

/** The URL of a port of this machine without a server. */
async function closedURL() {
  const server = listen();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
  const { port } = /** @type {any} */ (server.address());
  await new Promise((resolve) => server.close(() => resolve(undefined)));
  return `http://127.0.0.1:${port}`;
}

test("a request to a server that was never reached fails at once", async () => {
  let sent = 0;
  const client = new Client({ url: await closedURL(), user: "ann", fetch: (input, init) => { sent++; return fetch(input, init); } });
  await assert.rejects(client.stopAll(), { status: 0, reason: "ConnectionFailed" });
  await assert.rejects(client.status("a"), { status: 0, reason: "ConnectionFailed" });
  assert.equal(sent, 2);
});

const running = json(200, { task_id: "a", status: "running" }), stopped = json(200, { count: 2 });

test("requests whose repetition has no effect wait until a restarted server responds", () => stub([running, json(502, {}), json(503, {}), json(504, {}), running, stopped], async (client, requests) => {
  const down = await closedURL();
  let refused = 0; // requests that still fail
  client.fetch = (input, init) => fetch(refused-- > 0 ? String(input).replace(client.url, down) : input, init);
  await client.status("a");
  refused = 2;
  assert.equal((await client.status("a")).status, "running");
  assert.equal(requests.length, 5);
  refused = 1;
  assert.equal(await client.stopAll(), 2);
  refused = Infinity;
  client.timeout = 0.2;
  await assert.rejects(client.status("a"), { reason: "ConnectionFailed" });
}));

test("a client waits for a restarted server without a limit of attempts, but not for one that it never reached", () => {
  const refused = new ApiError("", { reason: "ConnectionFailed", cause: { cause: { code: "ECONNREFUSED" } } });
  const broken = new ApiError("", { reason: "ConnectionFailed", cause: { cause: { code: "UND_ERR_SOCKET" } } });
  assert.deepEqual([refused, broken].map((err) => pauseBeforeRetry(err, 100, true, true)), [2, 2]);
  assert.deepEqual([refused, broken].map((err) => pauseBeforeRetry(err, 0, true, false)), [null, 0.1]);
  assert.deepEqual([refused, broken].map((err) => pauseBeforeRetry(err, 100, true, false)), [null, null]);
  assert.deepEqual([refused, broken].map((err) => pauseBeforeRetry(err, 0, false, true)), [null, null]);
  assert.equal(pauseBeforeRetry(new ApiError("", { status: 500 }), 0, true, true), null);
});

test("a stop whose response is lost is repeated with the same key", async () => {
  /** @type {((client: Client) => Promise<unknown>)[]} */
  const stops = [(c) => c.stopAll(), (c) => c.stopGroup("g"), (c) => c.stop("a"), (c) => c.deleteVolume("v")];
  for (const stop of stops) {
    await stub([(_, response) => response.destroy(), json(200, { task_id: "a", count: 2 })], async (client, requests) => {
      assert.ok([2, undefined].includes(/** @type {any} */ (await stop(client))));
      assert.equal(requests.length, 2);
      assert.match(requests[0].headers["idempotency-key"], /^[0-9a-f]{36}$/);
      assert.equal(requests[0].headers["idempotency-key"], requests[1].headers["idempotency-key"]);
    });
  }
});

test("an answer about another object is an error", () => stub([json(200, { task_id: "b", group: "b" })], async (client) => {
  for (const call of [client.status("a"), client.stop("a"), client.group("a"), client.wait("a"), client.waitGroup("a")]) {
    await assert.rejects(call, { reason: "WrongAnswer", message: /about (task_id|group) "a" and answered about "b"/ });
  }
  await stub([sse(`id: 1.1\ndata: {"task_id": "b", "status": "running"}\n\n`)], (other) => assert.rejects(other.taskEvents("a").next(), { reason: "WrongAnswer" }));
  await stub([json(200, { results: [] })], (other) => assert.rejects(other.submitAll([{ run: "true" }]), { reason: "WrongAnswer" }));
}));

test("a URL needs no scheme, and an unusable one is an error with a sentence", () => stub([running], async (client) => {
  const other = new Client({ url: client.url.replace("http://", "") + "/", user: "ann" });
  assert.equal(other.url, client.url);
  assert.equal((await other.status("a")).status, "running");
  assert.equal(new Client({ url: "localhost:8000" }).url, "http://localhost:8000");
  assert.equal(new Client({ url: "https://h/base//" }).url, "https://h/base");
  assert.throws(() => new Client({}), { message: "url is missing: give the URL of the server, for example http://localhost:8000" });
  for (const url of ["http://", "ftp://h", "h:many", "http://h?x=1"]) {
    assert.throws(() => new Client({ url }), { name: "TypeError", message: `url "${url}" is not the URL of a server: give for example http://localhost:8000` });
  }
  assert.throws(() => new Client({ url: "example.com", token: "t" }), /plain HTTP/);
}));

test("a list reads one page after the other", () => stub([json(200, { tasks: [{ task_id: "a" }, { task_id: "b" }] }, { "X-Next-Cursor": "c1" }), json(200, { tasks: [{ task_id: "c" }] })], async (client, requests) => {
  const ids = [];
  for await (const task of client.list({ status: ["failed", "stopped"], namePrefix: "t", pageSize: 2 })) ids.push(task.task_id);
  assert.deepEqual(ids, ["a", "b", "c"]);
  assert.deepEqual(requests.map((r) => r.url), ["/tasks?status=failed&status=stopped&name_prefix=t&limit=2", "/tasks?status=failed&status=stopped&name_prefix=t&limit=2&cursor=c1"]);
}));

test("filters may be negated, and a filter without a value stops nothing", () => stub([json(200, { tasks: [] }), stopped], async (client, requests) => {
  for await (const _ of client.list({ exit: [0, 137], machine: "m", before: "1h", not: { status: "failed", namePrefix: "t", label: ["a", "b"] } }));
  assert.equal(await client.stopAll({ nameContains: ["a", "b"], gpus: 0, not: { group: "g" } }), 2);
  assert.deepEqual(requests.map((r) => r.url), [
    "/tasks?machine=m&exit=0&exit=137&before=1h&not_status=failed&not_name_prefix=t&not_label=a&not_label=b&limit=500",
    "/tasks/stop?name_contains=a&name_contains=b&gpus=0&not_group=g",
  ]);
  for (const filters of [{ status: undefined }, { label: "" }, { label: [] }, { label: [""] }, { not: { name: "" } }]) {
    await assert.rejects(client.stopAll(filters), /^TypeError: \w+ has no value: give a value, or omit the filter/);
  }
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
  assert.deepEqual(grid({ LR: [0.1, 0.01], SEED: new Set([1]) }), [{ LR: 0.1, SEED: 1 }, { LR: 0.01, SEED: 1 }]);
  assert.deepEqual(grid({ LR: "abc", SEED: [1, 2] }), [{ LR: "abc", SEED: 1 }, { LR: "abc", SEED: 2 }]);
  assert.throws(() => grid(/** @type {any} */ ({ LR: 0.1 })), { name: "TypeError", message: "LR has the value 0.1: give a list of values, for example [0.1]" });
});

test("a sweep is one group, and its tasks know their numbers", () => stub([json(200, { results: [{ task_id: "a" }, { task_id: "b" }] })], async (client, requests) => {
  const sweep = await client.map({ name: "my sweep", run: "x", envs: { A: "1" } }, { LR: [0.1, 0.01] }, { maxParallel: 1 });
  assert.match(sweep.group, /^my-sweep-[a-z0-9]{5}$/);
  assert.deepEqual(sweep.tasks, [{ point: { LR: 0.1 }, task_id: "a" }, { point: { LR: 0.01 }, task_id: "b" }]);
  assert.deepEqual(JSON.parse(requests[0].body)[1].envs, { A: "1", LR: "0.01", SKYPILOT_JOB_RANK: "1", SKYPILOT_NUM_JOBS: "2" });
  assert.deepEqual(JSON.parse(requests[0].body).map((/** @type {any} */ i) => i.annotations), [{ "k8s-cli/point": "LR=0.1" }, { "k8s-cli/point": "LR=0.01" }]);
  assert.equal(requests[0].url, `/tasks/batch?group=${sweep.group}&max_parallel=1`);
}));

test("a batch with rejected tasks is an error with all results", () => stub([json(200, { results: [{ task_id: "a" }, { code: 422, detail: "run is empty", reason: "Invalid", field: "run" }] })], async (client) => {
  await assert.rejects(client.submitAll([{ run: "true" }, { run: "" }]), (err) => err instanceof ApiError && err.reason === "BatchFailed" && err.status === 422 && err.field === "run" && err.body[0].task_id === "a" && err.message === "the server rejects 1 of 2 tasks; task 2: run is empty");
}));

const accepted = (/** @type {string[]} */ ...ids) => json(200, { results: ids.map((id) => ({ task_id: id })) });
const bodyOf = (/** @type {any} */ request) => JSON.parse(request.body);

test("a sweep, a batch and a submission have the options of a group", () => stub([accepted("a", "b")], async (client, requests) => {
  const o = { group: "g", maxParallel: 2, failFast: true, notify: "https://h/x" }, query = "group=g&max_parallel=2&fail_fast=true&notify=https%3A%2F%2Fh%2Fx";
  await client.map({ run: "x" }, { LR: [1, 2] }, { ...o, key: "k", atomic: true });
  await client.submitAll([{ run: "x" }, { run: "y", idempotency_key: "mine" }], { ...o, key: "k" });
  await client.submit({ run: "x" }, { ...o, key: "k" });
  assert.deepEqual(requests.map((r) => r.url), [`/tasks/batch?${query}&atomic=true`, `/tasks/batch?${query}`, `/tasks/submit?${query}`]);
  assert.deepEqual(bodyOf(requests[0]).map((/** @type {any} */ i) => i.idempotency_key), ["k/0", "k/1"]);
  assert.deepEqual(bodyOf(requests[1]).map((/** @type {any} */ i) => i.idempotency_key), ["k/0", "mine"]);
  assert.equal(requests[2].headers["idempotency-key"], "k");
  await assert.rejects(client.map({ run: "x" }, { LR: [1, 2] }, { key: "k" }), /key is given without group/);
  await assert.rejects(client.map({ run: "x" }, []), /no tasks to submit/);
}));

test("each task of a chain starts after the task before it", () => stub([accepted("a", "b", "c")], async (client, requests) => {
  const chain = await client.chain([{ name: "prepare", run: "1" }, { run: "2" }, { run: "3" }], { notify: "https://h/x" });
  assert.match(chain.group, /^prepare-[a-z0-9]{5}$/);
  assert.deepEqual(chain.tasks, [{ point: 0, task_id: "a" }, { point: 1, task_id: "b" }, { point: 2, task_id: "c" }]);
  const [first, second, third] = bodyOf(requests[0]);
  assert.deepEqual([first.after, second.after, third.after], [undefined, [first.idempotency_key], [second.idempotency_key]]);
  assert.equal(requests[0].url, `/tasks/batch?group=${chain.group}&notify=https%3A%2F%2Fh%2Fx&atomic=true`);
  await client.chain([{ run: "1" }, { run: "2" }, { run: "3" }], { group: "g", key: "nightly" });
  assert.deepEqual(bodyOf(requests[1]).map((/** @type {any} */ i) => [i.idempotency_key, i.after]), [["nightly/0", undefined], ["nightly/1", ["nightly/0"]], ["nightly/2", ["nightly/1"]]]);
  await assert.rejects(client.chain([]), /no tasks to submit/);
}));

test("the tasks of a job group start together, and those that are not primary end after the others", () => stub([accepted("a", "b")], async (client, requests) => {
  const tasks = [{ name: "train", run: "1" }, { name: "cache", run: "2" }];
  const made = await client.jobGroup("rl", tasks, { primary: ["train"], terminationDelay: "30s" });
  assert.match(made.group, /^rl-[a-z0-9]{5}$/);
  assert.deepEqual(made.tasks.map((t) => t.task_id), ["a", "b"]);
  assert.equal(requests[0].url, `/tasks/batch?group=${made.group}&atomic=true`);
  assert.deepEqual(bodyOf(requests[0]), [{ ...tasks[0], job_group: "rl" }, { ...tasks[1], job_group: "rl", auxiliary: true, termination_delay: "30s" }]);
  await client.jobGroup("rl", tasks, { group: "g" });
  assert.deepEqual(bodyOf(requests[1]), tasks.map((t) => ({ ...t, job_group: "rl" })));
  await assert.rejects(client.jobGroup("rl", tasks, { primary: ["trian"] }), /the job group has no task "trian"/);
}));

test("tasks are found by their annotations", () => stub([json(200, { tasks: [] })], async (client, requests) => {
  await client.list({ annotation: ["run=7", "owner"], label: "team=x" }).next();
  assert.equal(requests[0].url, "/tasks?label=team%3Dx&annotation=run%3D7&annotation=owner&limit=500");
}));

const final = (/** @type {number} */ n, /** @type {string} */ task) => ({ id: `${n}.1`, kind: "task", type: "phase", task_id: task, group: "g", status: "completed" });
const message = (/** @type {{id: string}} */ event) => `id: ${event.id}\ndata: ${JSON.stringify(event)}\n\n`;
const groupOf = (/** @type {number} */ running) => json(200, { group: "g", status: running ? "running" : "completed", by_status: { completed: 2 - running, running } });

test("the events of a group end with the group, and none is missing", () => stub([
  sse("id: 5.0\n\n"), groupOf(0), json(200, { events: [final(6, "a")] }, { "X-Next-Cursor": "6.1" }), json(200, { events: [final(7, "b")] }),
], async (client, requests) => {
  const got = [];
  for await (const event of await client.groupEvents("g").open()) got.push(event.task_id);
  assert.deepEqual(got, ["a", "b"]);
  assert.deepEqual(requests.map((r) => r.url), ["/events?group=g", "/groups/g", "/events?group=g&last_event_id=5.0", "/events?group=g&last_event_id=6.1"]);
}));

test("the events of a group go on while tasks are not over, also if the state counts an event that is yet to arrive", () => {
  /** @type {any} */ let stream;
  const state = (/** @type {number} */ running, /** @type {string} */ text) => (/** @type {any} */ request, /** @type {any} */ response) => { groupOf(running)(request, response); stream.write(text); };
  return stub([
    (_, response) => { stream = response; sse("id: 5.0\n\n")(_, response); },
    state(1, message(final(6, "a"))), // the state counts the end of the task a
    state(1, message(final(7, "b"))),
    groupOf(0), json(200, { events: [] }),
  ], async (client, requests) => {
    const got = [];
    for await (const event of client.groupEvents("g")) got.push(event.task_id);
    assert.deepEqual([got, requests.length], [["a", "b"], 5]);
  });
});

test("a wait for a group ends when the last event has arrived", () => stub([groupOf(1), sse("id: 5.0\n\n" + message(final(6, "b"))), groupOf(0), json(200, { events: [] }), groupOf(0)], async (client) => {
  assert.equal((await client.waitGroup("g", { check: true })).status, "completed");
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

test("a log whose connection is silent for longer than the pings of the server is resumed, and pings are no lines", () => {
  const answer = (/** @type {number} */ count) => (/** @type {any} */ request, /** @type {any} */ response) => { // more lines than count are not sent
    const since = Number(request.headers["x-log-resume"].split("@")[1] || 0);
    const lines = whole.split(/(?<=\n)/).filter((line) => Date.parse(line.split(" ")[0]) / 1000 >= since);
    response.writeHead(200, { "X-Log-Resumable": "true", "X-Log-Ping": "0.05" });
    response.write("\n" + lines.slice(0, count).join("\n") + "\n");
    if (count === Infinity) response.end();
  };
  return stub([answer(1), answer(0), () => {}, answer(Infinity)], async (client, requests) => {
    const got = [];
    for await (const line of client.logs("a")) got.push(line);
    assert.deepEqual([got, requests.length], [shown, 5]);
    assert.ok(requests.every((r) => r.headers["x-log-ping"] === "true"));
  });
});

test("an empty line of a server without pings is a line", () => serveLog("\nno time\n", [], async (client) => {
  const got = [];
  for await (const line of client.logs("a")) got.push(line);
  assert.deepEqual(got, ["", "no time"]);
}, "false"));

const archive = Buffer.from(Array.from({ length: 1000 }, (_, i) => i)), sum = createHash("sha256").update(archive).digest("hex");

/** Answers with a part of the archive, and breaks the connection before the end. @param {number} cut bytes of this response */
const outputs = (cut = Infinity, { ranges = true, tag = `"${sum}"`, bytes = archive } = {}) => (/** @type {any} */ request, /** @type {any} */ response) => {
  const from = ranges && request.headers["if-range"] === tag ? Number(/^bytes=(\d+)-$/.exec(request.headers.range)?.[1]) : 0;
  const rest = bytes.subarray(from);
  response.writeHead(from ? 206 : 200, { ETag: tag, Connection: "close", "Content-Length": rest.length, ...(from && { "Content-Range": `bytes ${from}-${bytes.length - 1}/${bytes.length}` }) });
  response.write(rest.subarray(0, cut), () => (cut < rest.length ? response.socket.end() : response.end()));
};

for (const [name, answers, ranges] of /** @type {[string, ((request: any, response: any) => void)[], (string | undefined)[]][]} */ ([
  ["from one response", [outputs()], [undefined]],
  ["from the byte at which a connection broke", [outputs(400), outputs(100), outputs()], [undefined, "bytes=400-", "bytes=500-"]],
  ["from the first byte if the server has no ranges", [outputs(400), outputs(Infinity, { ranges: false })], [undefined, "bytes=400-"]],
  ["from the first byte if the outputs are others by now", [outputs(400, { tag: '"other"' }), outputs()], [undefined, "bytes=400-"]],
  ["from the first byte if the server names no version", [outputs(400, { tag: "" }), outputs()], [undefined, undefined]],
])) {
  test(`outputs are downloaded ${name}`, () => stub(answers, async (client, requests) => {
    assert.deepEqual(Buffer.from(await client.download("a", 1)), archive);
    assert.deepEqual(requests.map((r) => r.headers.range), ranges);
    assert.equal(requests[0].url, "/tasks/a/outputs/1");
  }));
}

test("outputs with another checksum, and outputs that the server does not have, are errors", async () => {
  await stub([outputs(Infinity, { bytes: archive.subarray(1) })], (client) => assert.rejects(client.download("a"), { reason: "ChecksumMismatch" }));
  await stub([json(404, { detail: "no outputs", reason: "OutputsNotFound" })], (client) => assert.rejects(client.download("a"), { status: 404, reason: "OutputsNotFound" }));
});
