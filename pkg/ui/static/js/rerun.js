// Runs tasks again: each one with its own task file, in its group, after the same tasks.
import { html, useState } from "./html.js";
import { get, newKey, send, taskPath } from "./api.js";
import { plural } from "./format.js";
import { Dialog, Icon, toast } from "./parts.js";

/** @typedef {{id: string, name: string, group?: string, after?: string[]}} Again after are ids of tasks; if such a task runs again too, its new task counts */

const parallel = 6;

/**
 * Submits tasks again.
 * @param {Again[]} tasks
 * @param {(done: number) => void} progress
 * @returns {Promise<{submitted: string[], failed: {id: string, error: string}[]}>}
 */
export async function runAgain(tasks, progress) {
  /** @type {Map<string, any>} */
  const specs = new Map();
  /** @type {{id: string, error: string}[]} */
  const failed = [];
  let next = 0;
  const work = async () => {
    while (next < tasks.length) {
      const { id } = tasks[next++];
      try {
        const { data } = await get(taskPath(id, "/spec"));
        if (Object.keys(data.secrets || {}).length) failed.push({ id, error: "The server does not return the values of its secrets. Run it again alone, and enter the values." });
        else specs.set(id, data);
      } catch (err) { failed.push({ id, error: /** @type {Error} */ (err).message }); }
      progress(specs.size + failed.length);
    }
  };
  await Promise.all(Array.from({ length: Math.min(parallel, tasks.length) }, work));
  if (!specs.size) return { submitted: [], failed };
  const key = newKey(), keyOf = (/** @type {string} */ id) => `${key}/${id}`;
  const chosen = tasks.filter((t) => specs.has(t.id));
  const items = chosen.map((t) => {
    const after = (t.after || []).map((id) => (specs.has(id) ? keyOf(id) : id));
    return { ...specs.get(t.id), idempotency_key: keyOf(t.id), ...(t.group && { group: t.group }), ...(after.length && { after }) };
  });
  const { results } = await send("/tasks/batch", { body: items, key });
  /** @type {string[]} */
  const submitted = [];
  results.forEach((/** @type {{task_id?: string, detail?: string}} */ r, /** @type {number} */ i) => {
    if (r.task_id) submitted.push(r.task_id);
    else failed.push({ id: chosen[i].id, error: r.detail || "The server rejects the task." });
  });
  return { submitted, failed };
}

/** @param {{tasks: Again[], onClose: (submitted: string[]) => void}} p */
export function AgainDialog({ tasks, onClose }) {
  const [done, setDone] = useState(-1);
  const [error, setError] = useState("");
  const run = async () => {
    setDone(0);
    try {
      const { submitted, failed } = await runAgain(tasks, setDone);
      if (failed.length) toast(`Submitted ${plural(submitted.length, "task")}. ${plural(failed.length, "task")} could not be submitted again:`, "bad", failed.slice(0, 5).map((f) => `${f.id}: ${f.error}`));
      else toast(`Submitted ${plural(submitted.length, "task")}.`, "good");
      onClose(submitted);
    } catch (err) { setError(/** @type {Error} */ (err).message); setDone(-1); }
  };
  return html`<${Dialog} title=${tasks.length === 1 ? `Run the task ${tasks[0].name} again?` : `Run ${plural(tasks.length, "task")} again?`} onClose=${() => onClose([])}>
    <p>Each new task has the task file of the original, a new ID, and the same group. The original tasks stay as they are.</p>
    ${error && html`<p class="field-error" role="alert"><${Icon} name="warning" />${error}</p>`}
    ${done >= 0 && html`<progress max=${tasks.length} value=${done} aria-label="Progress"></progress>`}
    <p class="buttons"><button class="button" autofocus onClick=${() => onClose([])}>Cancel</button><button class="button primary" disabled=${done >= 0} onClick=${run}><${Icon} name="again" />Run ${plural(tasks.length, "task")} again</button></p><//>`;
}
