// What programs in TypeScript see of the types; generate.mjs compiles this file.
import { ApiError, Client, grid } from "k8s-cli-client";

const client = new Client({ url: "http://localhost:8000", token: () => "secret" });
const { task_id: id }: { task_id: string } = await client.submit({ run: "true" }, { group: "g", maxParallel: 2, after: ["x"] });
const status: "pending" | "running" | "completed" | "failed" | "stopped" = (await client.wait(id, { check: true })).status;
// @ts-expect-error a status is no number
const wrong: number = status;
for await (const row of client.rows({ status: ["failed"] })) row.name.toUpperCase();
for await (const line of client.logs(id, { node: 0 })) line.trim();
for await (const event of client.events({ group: "g" })) event.task_id?.trim();
const sweep = await client.map((n: number) => ({ run: `echo ${n}` }), [1, 2]);
const point: number = sweep.tasks[0].point;
// @ts-expect-error there is no such filter
client.list({ colour: "red" });
const err = new ApiError("detail", { status: 422, field: "run" });
export { err, grid, point, wrong };
