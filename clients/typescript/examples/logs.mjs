// Follows the log of a task while the task runs.
// Run: K8S_CLI_API_URL=http://localhost:8000 K8S_CLI_USER=ann@example.com node logs.mjs
import { Client } from "../index.js";

const client = new Client({ url: process.env.K8S_CLI_API_URL, user: process.env.K8S_CLI_USER });
const { task_id: id } = await client.submit({
  name: "count",
  run: "for i in 1 2 3; do echo line $i; sleep 1; done",
  resources: { cpus: 0.1 },
});
for await (const line of client.logs(id)) console.log(line);
const { status } = await client.wait(id);
console.log(`${id} is ${status}`);
