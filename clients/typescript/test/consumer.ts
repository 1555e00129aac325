// What programs in TypeScript see of the types; generate.mjs compiles this file.
import { ApiError, Client, EventStream, grid } from "k8s-cli-client";
import type { Filters, GroupStatus, Item, Output, Phase, Row, Schemas, SubmitOptions, Sweep, Task, TaskEvent, TaskStatus } from "k8s-cli-client";
import type { paths } from "k8s-cli-client/api";

// Correct programs.
const client = new Client({ url: "127.0.0.1:8000", token: () => "secret" });
const options: SubmitOptions = { group: "g", maxParallel: 2, after: ["x"], notify: "https://hooks.example.com/x" };
const task: Task = { name: "train", run: "true", envs: { LR: 0.1 }, resources: { cpus: "2+", accelerators: { H100: 8 } }, workdir: { url: "https://example.com/x.git" } };
const { task_id: id }: { task_id: string } = await client.submit(task, options);
await client.submit("run: echo hi\n");
const status: TaskStatus = await client.wait(id, { check: true });
const phase: Phase = status.status;
const literal: "pending" | "running" | "completed" | "failed" | "stopped" = phase;
await client.submit({ run: "true", annotations: { commit: "4f2a91c" } });
const commit: string | undefined = status.metadata.annotations?.commit;
const outputs: Output[] = status.metadata.outputs ?? [];
const archive = new Blob([await client.download(id, outputs[0].node)]);
await client.stopAll({ status: "pending", before: "1h", not: { label: ["keep"] } });
const filters: Filters = { status: ["failed", "stopped"], sort: "-ended", annotation: "run=7" };
for await (const row of client.rows(filters)) { const found: Row = row; found.name.toUpperCase(); }
for await (const each of client.list({ status: "failed", label: ["team"] })) each.metadata.nodes[0].exit_code?.toFixed();
for await (const line of client.logs(id, { node: 0, since: "3h" })) line.trim();
const stream: EventStream = await client.events({ group: "g" }).open();
for await (const event of client.groupEvents("g")) { const found: TaskEvent = event; found.task_id?.trim(); }
for await (const event of stream) {
  if (event.kind === "task") { const of: string = event.task_id, now: Phase = event.status; of.concat(now); }
  else if (event.status === "Deleted") event.volume_id.trim();
}
const items: Item[] = [{ run: "1", idempotency_key: "a" }, { run: "2", after: ["a"], max_parallel: 2 }];
await client.submitAll(items, { atomic: true, key: "k" });
const numbers: Sweep<number> = await client.map((n: number) => ({ run: `echo ${n}` }), [1, 2]);
const sweep = await client.map({ run: "./train" }, { LR: [0.1, 0.01], MODEL: "small" }, { maxParallel: 2, key: "k", group: "g" });
const lr: number = sweep.tasks[0].point.LR, model: string = sweep.tasks[0].point.MODEL;
await client.map((point) => ({ run: `train ${point.LR.toFixed(3)}` }), { LR: [0.1, 0.01] });
await client.map({ run: "./train" }, [{ LR: 0.1 }, { LR: 0.01 }]);
const chain: Sweep<number> = await client.chain([{ run: "1" }, { run: "2" }], { notify: "https://hooks.example.com/x" });
await client.jobGroup("rl", [{ name: "train", run: "1" }, { name: "cache", run: "2" }], { primary: ["train"], terminationDelay: "30s" });
const group: GroupStatus = await client.waitGroup(chain.group);
const failed: number = group.by_status.failed ?? 0;
await client.submit({ run: "true", num_nodes: 2 });
await client.submit({ run: "true", num_nodes: "2" });
await client.usage({ by: ["day", "user"] });
const points: { LR: number }[] = grid({ LR: [0.1, 0.01] });
const err = new ApiError("detail", { status: 422, field: "run" });
type Limits = Schemas["Whoami"]["limits"];
type Found = paths["/tasks/{id}"]["get"]["responses"][200]["content"]["application/json"];
const same: Found = status;

// Mistakes, none of which compiles.
// @ts-expect-error a field that does not exist
await client.submit({ runn: 1 });
// @ts-expect-error a filter that a stop does not have
await client.stopAll({ machine: "m" });
// @ts-expect-error a field that does not exist, beside one that does
await client.submit({ run: "true", nmae: "train" });
// @ts-expect-error a field of another type
await client.submit({ run: ["true"] });
// @ts-expect-error a field of the resources that does not exist
await client.submit({ run: "true", resources: { cpuz: 1 } });
// @ts-expect-error a field of an item is no field of a task: after is an option
await client.submit({ run: "true", after: ["x"] });
// @ts-expect-error an option that does not exist
await client.submit({ run: "true" }, { maxParalell: 2 });
// @ts-expect-error an option in the spelling of the API
await client.submit({ run: "true" }, { max_parallel: 2 });
// @ts-expect-error a status that does not exist
client.list({ status: "faild" });
// @ts-expect-error one of several statuses that does not exist
client.list({ status: ["failed", "canceled"] });
// @ts-expect-error an order that does not exist
client.rows({ sort: "age" });
// @ts-expect-error a filter that does not exist
client.list({ colour: "red" });
// @ts-expect-error a status of a group that does not exist
client.groups({ status: "done" });
// @ts-expect-error a misspelt field of an item
await client.submitAll([{ run: "true", afterr: ["x"] }]);
// @ts-expect-error an item has several predecessors
await client.submitAll([{ run: "true", after: "x" }]);
// @ts-expect-error a field of another type in a sweep
await client.map({ run: 5 }, { LR: [0.1] });
// @ts-expect-error a misspelt field in a sweep
await client.map({ run: "true", env: { A: "1" } }, { LR: [0.1] });
// @ts-expect-error a number is no list of values
await client.map({ run: "true" }, { LR: 0.1 });
// @ts-expect-error a sweep with a function whose task has a field of another type
await client.map((n: number) => ({ run: n }), [1, 2]);
// @ts-expect-error a sweep with a function whose task has a misspelt field
await client.map((n: number): Task => ({ run: `echo ${n}`, nmae: "train" }), [1, 2]);
// @ts-expect-error a sweep with a function that takes other points
await client.map((n: string) => ({ run: n }), [1, 2]);
// @ts-expect-error a variable that the grid does not have
await client.map((point) => ({ run: `train ${point.lr}` }), { LR: [0.1] });
// @ts-expect-error a misspelt field in a chain
await client.chain([{ run: "1" }, { ruN: "2" }]);
// @ts-expect-error one task is no chain
await client.chain({ run: "1" });
// @ts-expect-error a misspelt option of a job group
await client.jobGroup("rl", [{ name: "train", run: "1" }], { primaries: ["train"] });
// @ts-expect-error a key of a report that does not exist
await client.usage({ by: "team" });
// @ts-expect-error a number of nodes that is no number
await client.submit({ run: "true", num_nodes: "two" });
// @ts-expect-error the same in a batch
await client.submitAll([{ run: "true", num_nodes: "two" }]);
// @ts-expect-error a count of a status that does not exist
(await client.group("g")).by_status.done;
// @ts-expect-error the same for all tasks
(await client.summary()).by_status.done;
for await (const event of stream) {
  // @ts-expect-error a status that no event has
  if (event.status === "faild") break;
  // @ts-expect-error a status of a volume, in an event of a task
  if (event.kind === "task" && event.status === "Bound") break;
}
// @ts-expect-error a misspelt option of a wait
await client.wait(id, { timeOut: 1 });
// @ts-expect-error a misspelt option of a log
client.logs(id, { folow: false });
// @ts-expect-error an option of a stream of all events
client.taskEvents(id, { group: "g" });
// @ts-expect-error a status is no number
const wrong: number = status.status;
// @ts-expect-error a rank is a number
await client.download(id, "0");
// @ts-expect-error a misspelt option of the client
new Client({ url: "127.0.0.1:8000", usr: "ann" });
// @ts-expect-error a field of a status that does not exist
status.metadata.exit_code;

export type { Limits };
export { archive, err, failed, group, literal, lr, model, numbers, points, same, stream, wrong };
