// Stories of the client against real servers. K8S_CLI_TEST_SERVERS has their URLs; the Go test
// TestTypeScriptClient starts them. The stories run at the same time, since they mostly wait for
// the cluster.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isOver } from "../events.js";
import { ApiError, Client } from "../index.js";
import { BreakingProxy } from "./proxy.mjs";

const servers = JSON.parse(process.env.K8S_CLI_TEST_SERVERS || "{}");
const control = process.env.K8S_CLI_TEST_CONTROL || ""; // URL that kills and restarts the server "mortal"
const unschedulable = { cpus: 100_000 }; // resources of a task that stays pending
const small = { cpus: 0.1 };
const numbers = (n) => `for i in $(seq 1 ${n}); do echo line $i; [ $((i % 20)) -ne 0 ] || sleep 0.05; done`;
const lines = (n) => Array.from({ length: n }, (_, i) => `line ${i + 1}`);

/** @template T @param {AsyncIterable<T>} items @returns {Promise<T[]>} */
async function all(items) {
  const list = [];
  for await (const item of items) list.push(item);
  return list;
}

/** What a story has: clients of its own user, also with connections that break. */
class Scene {
  constructor(number) {
    this.user = `story-${number}-${process.pid}@example.com`;
    /** @type {BreakingProxy[]} */ this.proxies = [];
  }

  client(url = servers.main) { return new Client({ url, user: this.user }); }

  /** @param {number[]} cuts @returns {Promise<[Client, BreakingProxy]>} */
  async broken(cuts, server = "main") {
    const proxy = await new BreakingProxy(servers[server], cuts).open();
    this.proxies.push(proxy);
    return [this.client(proxy.url), proxy];
  }

  /** Kills the server "mortal", starts it again on its log, and leads the proxy to it. @param {BreakingProxy} proxy */
  async restart(proxy) {
    const response = await fetch(control, { method: "POST" });
    proxy.retarget(await response.text());
  }
}

/** @type {Record<string, (s: Scene) => Promise<void>>} */
const stories = {
  "a task runs, and its status, log, events and spec are those of the task": async (s) => {
    const c = s.client();
    const { task_id: id } = await c.submit({ name: "hello", run: "echo hi $WHO", envs: { WHO: "ann" }, resources: small });
    assert.deepEqual(await all(c.logs(id)), ["hi ann"]);
    const status = await c.wait(id, { check: true });
    assert.deepEqual([status.name, status.status, status.metadata.user], ["hello", "completed", s.user]);
    assert.equal((await c.spec(id)).run, "echo hi $WHO");
    assert.equal((await c.top(id)).nodes.length, 1);
    const phases = (await all(c.taskEvents(id))).filter((e) => e.type === "phase").map((e) => e.status);
    assert.deepEqual([phases[0], phases.at(-1)], ["pending", "completed"]);
    assert.deepEqual(await c.logLines(id, "-1"), ["hi ann"]);
    assert.equal((await c.usage()).total.tasks, 1);
    assert.equal((await c.summary()).by_status.completed, 1);
    assert.equal((await c.whoami()).user, s.user);
    assert.ok((await c.capacity()).nodes.length > 0);
  },

  "a submission whose response is lost creates one task": async (s) => {
    const [c, proxy] = await s.broken([1, 1]);
    const { task_id: id } = await c.submit("run: 'true'\nresources: {cpus: 100000}\n");
    assert.deepEqual((await all(s.client().list())).map((t) => t.task_id), [id]);
    assert.equal(proxy.breaks, 2);
    assert.equal(await c.stopAll(), 1);
  },

  "a batch whose response is lost creates each task once, and the list has it page by page": async (s) => {
    const [c, proxy] = await s.broken([40]);
    const results = await c.submitAll(Array.from({ length: 20 }, () => ({ run: "true", resources: unschedulable })));
    const ids = results.map((r) => r.task_id);
    assert.deepEqual((await all(s.client().list({ sort: "created", pageSize: 7 }))).map((t) => t.task_id), ids);
    assert.deepEqual((await all(s.client().rows({ sort: "created" }))).map((r) => r.id), ids);
    assert.equal(proxy.breaks, 1);
    await c.stopAll();
  },

  "a sweep is a group, whose end the client awaits": async (s) => {
    const c = s.client();
    const sweep = await c.map({ name: "sweep", run: "echo $LR $SKYPILOT_JOB_RANK/$SKYPILOT_NUM_JOBS", resources: small }, { LR: [0.1, 0.01] }, { maxParallel: 1 });
    const group = await c.waitGroup(sweep.group, { check: true });
    assert.deepEqual([group.total, group.by_status.completed], [2, 2]);
    assert.deepEqual(await Promise.all(sweep.tasks.map(async (t) => (await all(c.logs(t.task_id))).join())), ["0.1 0/2", "0.01 1/2"]);
    assert.deepEqual((await all(c.groups())).map((g) => g.group), [sweep.group]);
    assert.deepEqual((await all(c.list({ group: sweep.group }))).length, 2);
  },

  "the tasks of a chain run one after the other, and the events of the chain end with it": async (s) => {
    const c = s.client();
    const chain = await c.chain([{ run: "echo one", resources: small }, { run: "exit 3", resources: small }, { run: "echo three", resources: small }]);
    const over = (await all(c.groupEvents(chain.group, { after: "0" }))).filter((e) => isOver(e)).map((e) => [e.task_id, e.status]);
    assert.deepEqual(over, chain.tasks.map((t, i) => [t.task_id, ["completed", "failed", "failed"][i]]));
    assert.equal((await c.status(chain.tasks[2].task_id)).metadata.reason, "DependencyFailed");
    assert.equal((await c.waitGroup(chain.group)).first_failure?.task_id, chain.tasks[1].task_id);
    await assert.rejects(c.chain([{ run: "true" }, /** @type {any} */ ({ run: "true", runn: "x" })]), { reason: "UnknownField" });
  },

  "the tasks of a job group start together, and the auxiliary one ends after the primary one": async (s) => {
    const c = s.client(), tasks = [{ name: "trainer", run: "true", resources: small }, { name: "buffer", run: "sleep 600", resources: small }];
    const made = await c.jobGroup("rl", tasks, { primary: ["trainer"], terminationDelay: "1s" });
    const [trainer, buffer] = await Promise.all(made.tasks.map((t) => c.wait(t.task_id)));
    assert.deepEqual([trainer.status, buffer.metadata.job_group, buffer.metadata.job_group_role], ["completed", "rl", "auxiliary"]);
  },

  "a sweep that is submitted again with its key is the same sweep": async (s) => {
    const c = s.client(), o = { group: "again", key: "k", maxParallel: 1 };
    const submit = () => c.map({ run: "true", resources: unschedulable }, { LR: [0.1, 0.01] }, o);
    assert.deepEqual(await submit(), await submit());
    assert.equal((await c.group("again")).total, 2);
    assert.equal(await c.stopGroup("again"), 2);
  },

  "outputs are downloaded, also if the connection breaks": async (s) => {
    const [c, proxy] = await s.broken([50_000, 10_000]), direct = s.client();
    const { task_id: id } = await direct.submit({ run: "mkdir out && head -c 200000 /dev/urandom >out/noise", resources: small, outputs: ["out"] });
    const [stored] = (await direct.wait(id, { check: true })).metadata.outputs ?? [];
    const bytes = await c.download(id);
    assert.deepEqual([bytes.length, proxy.breaks], [stored.bytes, 2]);
    assert.deepEqual(Buffer.from(bytes), Buffer.from(await direct.download(id, 0)));
    await assert.rejects(c.download(id, 1), { reason: "OutputsNotFound" });
  },

  "errors name the status, the reason and the field": async (s) => {
    const c = s.client();
    await assert.rejects(c.submit({ run: "true", resources: { cpus: "abc" } }), { status: 422, reason: "Invalid", field: "resources.cpus" });
    await assert.rejects(c.status("zzzzzzzz"), { status: 404, reason: "TaskNotFound" });
    await assert.rejects(c.group("none"), { status: 404, reason: "GroupNotFound" });
    await assert.rejects(c.submitAll([{ run: "true", resources: unschedulable }, { run: "" }]), (err) => err instanceof ApiError && err.reason === "BatchFailed" && !!err.body[0].task_id);
    await c.submit({ run: "true", resources: unschedulable }, { key: "k1" });
    await assert.rejects(c.submit({ run: "false" }, { key: "k1" }), { status: 409, reason: "KeyReused" });
    assert.equal((await c.preview({ run: "true" })).objects[0].kind, "Job");
    await c.stopAll();
  },

  "a wait ends after its timeout, and a task that fails is an error on request": async (s) => {
    const c = s.client();
    const { task_id: id } = await c.submit({ run: "exit 3", resources: small }, { group: "g", failFast: true });
    const { task_id: waits } = await c.submit({ run: "true" }, { after: id, group: "g" });
    await assert.rejects(c.wait(id, { check: true }), { reason: "TaskFailed" });
    assert.equal((await c.wait(waits)).metadata.reason, "DependencyFailed");
    await assert.rejects(c.waitGroup("g", { check: true }), { reason: "GroupFailed" });
    const { task_id: never } = await c.submit({ run: "true", resources: unschedulable });
    await assert.rejects(c.wait(never, { timeout: 0.3 }), { reason: "WaitTimeout" });
    await c.stop(never);
    assert.equal((await c.wait(never)).status, "stopped");
  },

  "a log whose connection breaks many times has each line once, in order": async (s) => {
    const { task_id: id } = await s.client().submit({ run: numbers(300), resources: small });
    await s.client().wait(id);
    const [c, proxy] = await s.broken([500, 1000, 2500, 700, 4000, 300]);
    assert.deepEqual(await all(c.logs(id)), lines(300));
    assert.equal(proxy.breaks, 6);
  },

  "a log of two nodes that is followed while connections break has each line once, in order": async (s) => {
    const [c, proxy] = await s.broken([300, 600, 1500, 900, 2000]);
    const { task_id: id } = await s.client().submit({ run: numbers(200), resources: small, num_nodes: 2 });
    const got = await all(c.logs(id));
    for (const rank of [0, 1]) assert.deepEqual(got.filter((l) => l.startsWith(`node-${rank} | `)), lines(200).map((l) => `node-${rank} | ${l}`));
    assert.equal(got.length, 400);
    assert.equal(proxy.breaks, 5);
    assert.equal((await all(s.client().logs(id, { node: 1, tail: 5, follow: false }))).length, 5);
    assert.match((await all(s.client().logs(id, { node: 0, timestamps: true })))[0], /^node-0 \| 20\S+Z line 1$/);
  },

  "a server that is killed and restarted in the middle of a log costs no line and repeats none, and requests wait for it": async (s) => {
    const [c, proxy] = await s.broken([], "mortal");
    const { task_id: id } = await c.submit({ run: "for i in $(seq 1 60); do echo line $i; sleep 0.1; done", resources: small });
    const got = [];
    for await (const line of c.logs(id)) if (got.push(line) === 20) assert.equal((await Promise.all([c.status(id), s.restart(proxy)]))[0].task_id, id);
    assert.deepEqual(got, lines(60));
    assert.equal((await c.wait(id)).status, "completed");
  },

  "an event stream whose connection breaks has each event once, in order": async (s) => {
    const [c, proxy] = await s.broken([700, 900]), direct = s.client();
    const stream = await c.events().open();
    const tasks = await direct.submitAll(Array.from({ length: 4 }, () => ({ run: "true", resources: unschedulable })), { group: "mine" });
    await direct.stopGroup("mine");
    const got = [], over = new Set();
    for await (const e of stream) {
      if (e.id) got.push(e.id);
      if (e.status === "stopped" && over.add(e.task_id).size === tasks.length) break;
    }
    const { events } = await direct.json("GET", "/events", { query: { last_event_id: "0" } });
    assert.deepEqual(got, events.map((e) => e.id).slice(0, got.length));
    assert.equal(proxy.breaks, 2);
    const { task_id: active } = await direct.submit({ run: "true", resources: unschedulable });
    await assert.rejects(direct.taskEvents(active, { after: "999999.1" }).next(), { status: 410, reason: "EventsExpired" });
    await direct.stop(active);
  },

  "volumes are created, listed and deleted": async (s) => {
    const c = s.client();
    const { volume_id: id } = await c.createVolume({ name: "data-ts", size: "1Gi" });
    assert.deepEqual((await all(c.volumes())).map((v) => v.name), ["data-ts"]);
    await c.deleteVolume(id);
  },
};

if (servers.main) {
  const running = Object.entries(stories).map(([name, tell], i) => {
    const scene = new Scene(i), end = tell(scene).finally(() => { for (const p of scene.proxies) p.close(); });
    end.catch(() => {}); // its test reports the error
    return { name, end };
  });
  for (const { name, end } of running) test(name, () => end);
} else {
  test("stories", { skip: "K8S_CLI_TEST_SERVERS names no servers" }, () => {});
}
