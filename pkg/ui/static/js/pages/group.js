// One group: its counts, its first failure, and the list of its tasks.
import { html, useEffect, useState } from "../html.js";
import { get, send, server } from "../api.js";
import { count, plural } from "../format.js";
import { End, PhaseBar, allInWords, inWords, share, useGroup } from "../groups.js";
import { NotFound } from "../notfound.js";
import { Order, eventsOf, steps } from "../order.js";
import { Age, Copy, Dialog, Elapsed, Failure, Icon, Loading, Status, toast } from "../parts.js";
import { sentence } from "../reasons.js";
import { AgainDialog } from "../rerun.js";
import { place } from "../router.js";
import { useStore } from "../store.js";
import { TasksPage } from "./tasks.js";

/** @typedef {import("../groups.js").Group} Group */

/**
 * The tasks of a group of the user, in the order in which they were submitted, with the tasks that they come after.
 * @param {string} group @param {string} status "" for all
 */
async function tasksOf(group, status) {
  const { data } = await get("/tasks", { query: { group, status, view: "row", sort: "created", limit: 1000 } });
  const after = new Map(steps(await eventsOf(group, false)).map((s) => [s.id, s.after]));
  return data.tasks.map((/** @type {import("../tasklist.js").Row} */ r) => ({ id: r.id, name: r.name, group, after: after.get(r.id) }));
}

/** @param {Group} g */
const unfinished = (g) => (g.by_status.pending || 0) + (g.by_status.running || 0);

/** @param {{id: string}} p */
export function GroupPage({ id: name }) {
  const { search } = useStore(place), { session } = useStore(server);
  const named = new URLSearchParams(search).get("user") || "", user = named === session?.user ? "" : named;
  const { data: group, error, reload } = useGroup(name, user);
  const [stopping, setStopping] = useState(false);
  const [again, setAgain] = useState(/** @type {import("../rerun.js").Again[] | null} */ (null));
  const runAgain = async (/** @type {string} */ status) => {
    try { setAgain(await tasksOf(name, status)); } catch (err) { toast(/** @type {Error} */ (err).message, "bad"); }
  };
  useEffect(() => { document.title = `${name} · k8s-cli`; }, [name]);
  if (error && !group) {
    const status = /** @type {any} */ (error).status;
    return status === 404 || status === 403 || status === 422 ? html`<${NotFound} />` : html`<div class="page"><${Failure} error=${error} retry=${reload} /></div>`;
  }
  if (!group) return html`<div class="page"><${Loading} /></div>`;
  const head = html`<${Head} group=${group} error=${error} other=${!!user} onStop=${() => setStopping(true)} onAgain=${runAgain} /><${Order} group=${name} user=${user} total=${group.total} counts=${group.by_status} />
    ${again && html`<${AgainDialog} tasks=${again} onClose=${() => { setAgain(null); reload(); }} />`}
    ${stopping && html`<${Stop} group=${group} onClose=${() => { setStopping(false); reload(); }} />`}`;
  return html`<${TasksPage} group=${{ name, user, counts: { all: group.total, ...group.by_status }, head }} />`;
}

/** @param {{group: Group, error: Error | null, other: boolean, onStop: () => void, onAgain: (status: string) => void}} p */
function Head({ group: g, error, other, onStop, onAgain }) {
  const f = g.first_failure, active = unfinished(g);
  return html`<header class="task-head"><p class="crumbs"><a href="/ui/groups">Groups</a></p>
      <div class="task-title"><h1 class="wrap-any">${g.group}</h1><${Status} status=${g.status} /></div>
      <dl class="inline"><div><dt>User</dt><dd>${g.user}${other ? html` <b class="tag">another user</b>` : ""}</dd></div><div><dt>Submitted</dt><dd><${Age} at=${Date.parse(g.submitted_at)} suffix=" ago" /></dd></div>
        ${g.started_at && html`<div><dt>Duration</dt><dd><${Elapsed} from=${Date.parse(g.started_at)} to=${g.ended_at ? Date.parse(g.ended_at) : undefined} /></dd></div>`}
        ${(g.ended_at || g.estimated_at) && html`<div><dt class="offscreen">End</dt><dd><${End} group=${g} /></dd></div>`}</dl>
      <div class="group-progress"><${PhaseBar} counts=${g.by_status} /><span class="num"><b>${share(g)}</b> ended</span><small>${allInWords(g)}</small></div>
      <div class="actions">${!other && html`<button class="button danger" disabled=${active === 0} onClick=${onStop}><${Icon} name="stop" />Stop the group</button>
        ${g.by_status.failed ? html`<button class="button" onClick=${() => onAgain("failed")}><${Icon} name="again" />Run the ${g.by_status.failed === 1 ? "failed task" : `${count(g.by_status.failed)} failed tasks`} again</button>` : ""}
        ${!active && html`<button class="button" onClick=${() => onAgain("")}><${Icon} name="again" />Run all again</button>`}`}
        <${Copy} text=${location.href} label="Copy link" /><${Copy} text=${other ? `k8s-cli jobs list --user ${g.user} --group ${g.group}` : "k8s-cli jobs groups " + g.group} label="Copy CLI command" /></div></header>
    ${error && html`<p class="field-error" role="alert"><${Icon} name="warning" />${error.message} The page shows the last data.</p>`}
    ${f && html`<section class="card why-box bad" aria-label="First failure"><h2>First failure <code class="reason">${f.reason || "Error"}</code></h2>
      <p><a class="wrap-any" href=${"/ui/tasks/" + f.task_id}>${f.name}</a>: <span class="wrap-any">${f.message || sentence(f.reason || "") || "failed"}</span> <span class="dim small"><${Age} at=${Date.parse(f.ended_at)} suffix=" ago" /> · <a href=${`/ui/tasks/${f.task_id}/logs`}>log</a></span></p></section>`}`;
}

/** @param {{group: Group, onClose: () => void}} p */
function Stop({ group, onClose }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const active = unfinished(group);
  const stop = async () => {
    setBusy(true);
    try {
      const { count: stopped } = await send("/tasks/stop", { query: { group: group.group } });
      toast(`Stopped ${plural(stopped, "task")} of the group ${group.group}.`, "good");
      onClose();
    } catch (err) { setError(/** @type {Error} */ (err).message); setBusy(false); }
  };
  return html`<${Dialog} title=${`Stop the group ${group.group}?`} onClose=${onClose}>
    <p>The server stops all tasks of the group that are not over: ${inWords({ running: group.by_status.running ?? 0, pending: group.by_status.pending ?? 0 }) || "none at present"}. A stopped task does not start again.</p>
    ${error && html`<p class="field-error" role="alert"><${Icon} name="warning" />${error}</p>`}
    <p class="buttons"><button class="button" autofocus onClick=${onClose}>Cancel</button><button class="button danger" disabled=${busy} onClick=${stop}><${Icon} name="stop" />Stop ${active === 1 ? "1 task" : `${count(active)} tasks`}</button></p><//>`;
}
