// What users do with tasks: stop them, and run them again.
import { html, useRef, useState } from "./html.js";
import { newKey, send, taskPath } from "./api.js";
import { plural } from "./format.js";
import { Dialog, Icon, toast } from "./parts.js";

const parallel = 6;

/** @param {string} s */
export const isActive = (s) => s === "pending" || s === "running";

/**
 * Stops tasks one by one, a few at once.
 * @param {string[]} ids
 * @param {(done: number) => void} progress
 * @param {AbortSignal} signal
 * @returns {Promise<{id: string, error: string}[]>} the tasks that could not be stopped
 */
export async function stopTasks(ids, progress, signal) {
  /** @type {{id: string, error: string}[]} */
  const failed = [];
  let next = 0, done = 0;
  const work = async () => {
    while (next < ids.length && !signal.aborted) {
      const id = ids[next++];
      try {
        await send(taskPath(id, "/stop"), { signal });
      } catch (err) {
        if (!signal.aborted) failed.push({ id, error: /** @type {Error} */ (err).message });
      }
      progress(++done);
    }
  };
  await Promise.all(Array.from({ length: Math.min(parallel, ids.length) }, work));
  return failed;
}

/** Parameters of a list that the server takes for a stop; the others depend on the state of the cluster. */
const filters = ["all_users", "user", "group", "status", "name", "name_prefix", "name_contains", "label", "point", "gpus", "since", "before"];
const ofCluster = ["not_reason", "not_machine", "not_exit"];

/** @param {Record<string, any>} params of GET /tasks @returns {Record<string, any> | null} the same tasks as parameters of a stop; null if the server cannot stop by these */
export function stopFilter({ sort, ...params }) {
  return Object.keys(params).every((name) => filters.includes(name) || (name.startsWith("not_") && !ofCluster.includes(name))) ? params : null;
}

/** Stops all tasks that a filter selects, with one request. @param {{filter: Record<string, any>, total: number, onClose: (stopped: boolean) => void}} p */
export function StopAllDialog({ filter, total, onClose }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const key = useRef(newKey());
  const stop = async () => {
    setBusy(true);
    try {
      const { count: stopped } = await send("/tasks/stop", { query: filter, key: key.current });
      toast(`Stopped ${plural(stopped, "task")}.`, "good");
      onClose(true);
    } catch (err) { setError(/** @type {Error} */ (err).message); setBusy(false); }
  };
  return html`<${Dialog} title="Stop all tasks of this list?" onClose=${() => onClose(false)}>
    <p>The list has ${plural(total, "task")}. The server stops those that are not over, also those that come before it has the request. A stopped task does not start again.</p>
    ${filter.all_users && html`<p class="warn-text"><${Icon} name="warning" /> Tasks of other users may be among them.</p>`}
    ${error && html`<p class="field-error" role="alert"><${Icon} name="warning" />${error}</p>`}
    <p class="buttons"><button class="button" autofocus onClick=${() => onClose(false)}>Cancel</button><button class="button danger" disabled=${busy} onClick=${stop}><${Icon} name="stop" />Stop all</button></p><//>`;
}

/** @param {{tasks: {id: string, name: string, status: string, user?: string}[], me?: string, onClose: (stopped: boolean) => void}} p */
export function StopDialog({ tasks, me, onClose }) {
  const [active] = useState(() => tasks.filter((t) => isActive(t.status))); // when the user was asked
  const [done, setDone] = useState(-1);
  const abort = useRef(new AbortController());
  const others = new Set(active.map((t) => t.user).filter((u) => u && u !== me));
  const stop = async () => {
    setDone(0);
    const failed = await stopTasks(active.map((t) => t.id), setDone, abort.current.signal);
    const stopped = active.length - failed.length;
    if (abort.current.signal.aborted) toast("The page stopped sending requests. The list shows which tasks were stopped.");
    else if (failed.length) toast(`Stopped ${plural(stopped, "task")}. ${plural(failed.length, "task")} could not be stopped:`, "bad", failed.slice(0, 5).map((f) => `${f.id}: ${f.error}`));
    else toast(`Stopped ${plural(stopped, "task")}.`, "good");
    onClose(stopped > 0);
  };
  const cancel = () => { abort.current.abort(); if (done < 0) onClose(false); };
  if (!active.length) {
    return html`<${Dialog} title="Nothing to stop" onClose=${() => onClose(false)}><p>${tasks.length === 1 ? "The task has ended." : "The selected tasks have ended."}</p>
      <p class="buttons"><button class="button" autofocus onClick=${() => onClose(false)}>Close</button></p><//>`;
  }
  const one = active.length === 1 ? active[0] : null;
  return html`<${Dialog} title=${one ? `Stop the task ${one.name}?` : `Stop ${plural(active.length, "task")}?`} onClose=${cancel}>
    <p>${one ? html`The server deletes the Jobs of the task <code>${one.id}</code>. ` : "The server deletes the Jobs of these tasks. "}A stopped task does not start again.</p>
    ${tasks.length > active.length && html`<p class="dim">${plural(tasks.length - active.length, "other selected task")} already ended.</p>`}
    ${others.size > 0 && html`<p class="warn-text"><${Icon} name="warning" /> ${others.size === 1 ? `Tasks of the user ${[...others][0]} are among them.` : `Tasks of ${others.size} other users are among them.`}</p>`}
    ${done >= 0 && html`<p role="status">${done} of ${plural(active.length, "task")} done</p><progress max=${active.length} value=${done} aria-label="Progress"></progress>`}
    <p class="buttons"><button class="button" autofocus onClick=${cancel}>${done < 0 ? "Cancel" : "Stop sending"}</button>
      <button class="button danger" disabled=${done >= 0} onClick=${stop}><${Icon} name="stop" />Stop ${plural(active.length, "task")}</button></p><//>`;
}

/** @param {string} yaml @param {string} key @param {Record<string, string|number|boolean|undefined>} [query] the group and its limits */
export function submitFile(yaml, key = newKey(), query) {
  return send("/tasks/submit", { body: yaml, type: "application/yaml", key, query });
}
