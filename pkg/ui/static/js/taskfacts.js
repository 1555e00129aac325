// What a task comes after, how long it may run, its annotations, and on which ports it listens.
import { html } from "./html.js";
import { get, taskPath } from "./api.js";
import { duration, local, utc } from "./format.js";
import { Copy, Status, useData } from "./parts.js";
import { clock, useStore } from "./store.js";

/** @typedef {import("./types").components["schemas"]["TaskStatus"]} Task */
/** @typedef {import("./events.js").Event} Event */

const id = "[a-z0-9]{8}";
const form = new RegExp(`^(?:task|the task waits for the end of) (${id}(?:, ${id})*)\\b`);
const naming = ["WaitsForTask", "DependencyFailed", "GroupFailed"]; // reasons whose messages begin with ids of tasks

/** @param {string | undefined} reason @param {string | undefined} message @returns {string[]} ids of the tasks that the message names */
export const idsIn = (reason, message) => (naming.includes(reason || "") ? form.exec(message || "")?.[1].split(", ") || [] : []);

/** A message in which the ids of tasks are links. @param {{reason?: string, message?: string}} p */
export function Message({ reason, message = "" }) {
  const ids = idsIn(reason, message);
  if (!ids.length) return message;
  return message.split(new RegExp(`\\b(${ids.join("|")})\\b`)).map((part) => (ids.includes(part) ? html`<a href=${"/ui/tasks/" + part}><code>${part}</code></a>` : part));
}

const mostBefore = 20; // predecessors whose status the page reads

/** The tasks that the task comes after, with their status. @param {{task: Task, events: Event[]}} p */
export function After({ task, events }) {
  const all = events.find((e) => e.after)?.after || [], ids = all.slice(0, mostBefore);
  const { data } = useData((signal) => Promise.all(ids.map((before) => get(taskPath(before), { signal }).then((r) => /** @type {Task | null} */ (r.data), () => null))), [ids, task.updated_at, task.metadata.message]);
  if (!ids.length) return null;
  const more = all.length - ids.length;
  return html`<section class="card"><h2>Comes after</h2><ul class="before">${ids.map((before, i) => html`<li key=${before}>${data?.[i] ? html`<${Status} status=${data[i]?.status} />` : ""}<a class="wrap-any" href=${"/ui/tasks/" + before}>${data?.[i]?.name || before}</a> <code class="id">${before}</code></li>`)}
    ${more > 0 && html`<li class="dim">and ${more} more</li>`}</ul></section>`;
}

/** @param {{task: Task}} p */
export function TimeLimit({ task }) {
  const now = useStore(clock), { max_duration: limit, deadline } = task.metadata;
  if (!limit) return null;
  const at = Date.parse(deadline || "");
  return html`<div><dt>Time limit</dt><dd>${limit}${deadline ? html`, <time class="num" dateTime=${deadline} title=${`${local(at)}\n${utc(at)}`}>${at > now ? `${duration(at - now)} left` : "reached"}</time>` : ""}</dd></div>`;
}

/** The user's own metadata. @param {{task: Task}} p */
export function Annotations({ task }) {
  const all = Object.entries(task.metadata.annotations || {}).sort(([a], [b]) => (a < b ? -1 : 1));
  if (!all.length) return null;
  return html`<div><dt>Annotations</dt><dd>${all.map(([key, value], i) => html`${i ? ", " : ""}<span class="wrap-any" key=${key}>${key}=${value}</span>`)}</dd></div>`;
}

/** @param {{task: Task}} p */
export function Ports({ task }) {
  const ports = task.metadata.ports || [];
  if (!ports.length) return null;
  // Without a port, the command forwards all ports except ranges.
  const first = ports.every((p) => p.includes("-")) ? " " + ports[0].split("-")[0] : "";
  const command = `k8s-cli jobs port-forward ${task.task_id}${first}`;
  return html`<section class="card"><h2>Ports</h2><p>The task listens on ${ports.map((p, i) => html`${i ? ", " : ""}<b class="num">${p}</b>`)}.${task.status === "running" ? " Connect to the task from a terminal of your computer:" : " Programs can connect while the task runs."}</p>
    ${task.status === "running" && html`<pre class="terminal">${command}</pre><p><${Copy} text=${command} label="Copy the command" /></p>`}</section>`;
}
