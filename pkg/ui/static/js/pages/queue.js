// Tasks that wait: for their turn, or for the cluster.
import { html, useEffect } from "../html.js";
import { get, server } from "../api.js";
import { count, duration, number, plural } from "../format.js";
import { Age, Failure, Loading, Notice, useData } from "../parts.js";
import { queueReasons, sentence, taskReasons } from "../reasons.js";
import { scope } from "../scope.js";
import { useStore } from "../store.js";
import { useLive } from "./capacity.js";

/** @typedef {import("../types").components["schemas"]["TaskStatus"]} TaskStatus */
/** @typedef {import("../types").components["schemas"]["Summary"]} Summary */

const first = 20;
const some = 50; // tasks of a reason whose messages are compared

/** @typedef {{reason: string, tasks: number, oldest: TaskStatus[]}} Wait tasks that wait for one reason */

/** The different messages of the tasks, with the number of tasks of each. @param {Wait} w @returns {[string, number][]} */
function messages(w) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { metadata: { message } } of w.oldest) if (message) counts.set(message, (counts.get(message) || 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]).slice(0, 3);
}

/** @param {boolean} all @param {AbortSignal} signal */
async function load(all, signal) {
  const query = { all_users: all, status: "pending", sort: "created" };
  const [summary, next] = await Promise.all([
    get("/summary", { query: { all_users: all }, signal }),
    get("/tasks", { query: { ...query, reason: queueReasons, limit: first }, signal }),
  ]);
  /** @type {TaskStatus[]} */
  const tasks = next.data.tasks;
  tasks.sort((a, b) => (a.metadata.position || 1e9) - (b.metadata.position || 1e9));
  // The reasons of the summary are also those of failed tasks, so each one is counted among the pending tasks.
  const others = Object.keys(summary.data.by_reason).filter((r) => !queueReasons.includes(r)).slice(0, 40);
  const waits = await Promise.all(others.map(async (reason) => {
    const { data, headers } = await get("/tasks", { query: { ...query, reason, limit: some }, signal });
    return { reason, tasks: Number(headers.get("X-Total-Count")), oldest: /** @type {TaskStatus[]} */ (data.tasks) };
  }));
  return { summary: /** @type {Summary} */ (summary.data), tasks, queued: Number(next.headers.get("X-Total-Count")), waits: waits.filter((w) => w.oldest.length).sort((a, b) => b.tasks - a.tasks) };
}

export function QueuePage() {
  const { session } = useStore(server), { all: wanted } = useStore(scope);
  const all = wanted && !!(session?.all_users || session?.admin);
  const { data, error, reload } = useData((signal) => load(all, signal), [all]);
  useLive(reload, 3000);
  useEffect(() => { document.title = "Queue · k8s-cli"; }, []);
  const head = html`<header class="page-head"><h1>Queue</h1><p class="dim">${all ? "Tasks of all users" : "Your tasks"}</p></header>`;
  if (!data) return html`<div class="page">${head}${error ? html`<${Failure} error=${error} retry=${reload} />` : html`<${Loading} />`}</div>`;
  const { summary, tasks, queued, waits } = data;
  const { backlog } = summary;
  return html`<div class="page">${head}
    <div class="cards">
      <section class="card stat"><h2>Wait for their turn</h2><p class="big-number">${count(backlog.tasks)}<small> ${backlog.tasks === 1 ? "task" : "tasks"}</small></p><p class="dim small">Their Jobs do not exist yet</p></section>
      <section class="card stat"><h2>Longest wait</h2><p class="big-number">${backlog.oldest ? html`<${Age} at=${Date.parse(backlog.oldest)} />` : "–"}</p><p class="dim small">${backlog.oldest ? "since the submission of the oldest" : "No task waits for its turn"}</p></section>
      <section class="card stat"><h2>Measured rate</h2><p class="big-number">${backlog.tasks_per_second ? number(backlog.tasks_per_second) : "–"}<small>${backlog.tasks_per_second ? " tasks/s" : ""}</small></p><p class="dim small">${rateText(backlog)}</p></section>
      <section class="card stat"><h2>Pending in total</h2><p class="big-number">${count(summary.by_status.pending || 0)}</p><p class="dim small"><a href="/ui/?status=pending">Show them in the list</a></p></section>
    </div>
    <section class="card"><h2>Whose turn it is</h2>
      ${tasks.length === 0 ? html`<${Notice} title="No task waits for its turn" icon="queue"><p>The server creates the Jobs of a new task at once.</p><//>`
      : html`<div class="scroll-x"><table class="plain"><thead><tr><th class="right">Position</th><th>Task</th>${all && html`<th>User</th>`}<th>Submitted</th><th>Waits because</th></tr></thead>
        <tbody>${tasks.map((t) => html`<tr key=${t.task_id}><td class="right num"><b>${t.metadata.position ? count(t.metadata.position) : "–"}</b></td><td><a class="clip" href=${"/ui/tasks/" + t.task_id}>${t.name}</a> <code class="id">${t.task_id}</code></td>
          ${all && html`<td>${t.metadata.user}</td>`}<td><${Age} at=${Date.parse(t.created_at)} suffix=" ago" /></td><td>${t.metadata.message || sentence(t.metadata.reason || "") || t.metadata.reason}</td></tr>`)}</tbody></table></div>
        ${queued > tasks.length && html`<p class="dim">The oldest ${tasks.length} of ${plural(queued, "task")}. The server takes turns between users.</p>`}`}</section>
    <${Waits} title="Wait for the cluster" none="No task waits for the cluster." waits=${waits.filter((w) => !taskReasons.includes(w.reason))} />
    <${Waits} title="Wait for other tasks" none="" waits=${waits.filter((w) => taskReasons.includes(w.reason))} />
    ${all && summary.by_user && html`<${Users} byUser=${summary.by_user} />`}</div>`;
}

/** @param {{title: string, none: string, waits: Wait[]}} p */
function Waits({ title, none, waits }) {
  if (!waits.length && !none) return null;
  return html`<section class="card"><h2>${title}</h2>
      ${waits.length === 0 ? html`<p class="dim">${none}</p>` : html`<ul class="reasons">${waits.map((w) => html`<li key=${w.reason}><a href=${`/ui/?q=${encodeURIComponent("reason:" + w.reason)}&status=pending`}><b class="num">${count(w.tasks)}</b>
        <span><span>${sentence(w.reason) || w.reason}</span><small><code>${w.reason}</code> · the oldest was submitted <${Age} at=${Date.parse(w.oldest[0].created_at)} suffix=" ago" /></small>${messages(w).map(([text, n], _, all) => html`<small key=${text}>${all.length > 1 ? `${count(n)} of the oldest ${count(w.oldest.length)}: ` : ""}${text}</small>`)}</span></a></li>`)}</ul>`}</section>`;
}

/** @param {Summary["backlog"]} b */
function rateText(b) {
  if (!b.tasks_per_second) return "The server has created no Jobs recently";
  return b.tasks ? `At this rate the queue is empty in ${duration((1000 * b.tasks) / b.tasks_per_second)}` : "Tasks whose Jobs were created";
}

/** @param {{byUser: Record<string, Record<string, number>>}} p */
function Users({ byUser }) {
  const users = Object.entries(byUser).sort((a, b) => (b[1].pending || 0) - (a[1].pending || 0)).slice(0, 50);
  return html`<section class="card"><h2>Users</h2><div class="scroll-x"><table class="plain"><thead><tr><th>User</th><th class="right">Pending</th><th class="right">Running</th></tr></thead>
    <tbody>${users.map(([user, n]) => html`<tr key=${user}><td><a href=${`/ui/?q=${encodeURIComponent(`user:${user}`)}`}>${user}</a></td><td class="right num">${count(n.pending || 0)}</td><td class="right num">${count(n.running || 0)}</td></tr>`)}</tbody></table></div></section>`;
}

