// A sweep: one task for each combination of values, and a table of the results.
// Run: K8S_CLI_API_URL=http://localhost:8000 K8S_CLI_USER=ann@example.com node sweep.mjs
import { Client } from "../index.js";

const client = new Client({ url: process.env.K8S_CLI_API_URL, user: process.env.K8S_CLI_USER });
const task = { name: "train", run: `echo "loss $(awk "BEGIN {print $LR * $EPOCHS}")"`, resources: { cpus: 0.1 } };

const sweep = await client.map(task, { LR: [0.1, 0.01], EPOCHS: [3, 10] }, { maxParallel: 2 });
console.log(`group ${sweep.group}: ${sweep.tasks.length} tasks`);
await client.waitGroup(sweep.group);

const results = await Promise.all(sweep.tasks.map(async ({ point, task_id }) => {
  const { status } = await client.status(task_id);
  const [last] = await client.logLines(task_id, "-1");
  return { ...point, status, last };
}));
console.table(results);
