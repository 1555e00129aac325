// One task: why it is in its status, what happened to it, its nodes, and what was submitted.
import { html, useEffect, useRef, useState } from "../html.js";
import { NotFound } from "../notfound.js";
import { StopDialog, isActive } from "../actions.js";
import { get, send, server, taskPath } from "../api.js";
import { local, plural, precise, utc } from "../format.js";
import { groupPage } from "../groups.js";
import { useKeys } from "../keys.js";
import { later } from "../events.js";
import { onEvents } from "../live.js";
import { Outputs } from "../outputs.js";
import { Age, Bar, Copy, Elapsed, Failure, Icon, Loading, Status, TabList, useData } from "../parts.js";
import { Hint, sentence } from "../reasons.js";
import { ResourceUse } from "../resourceuse.js";
import { go, place, setParams } from "../router.js";
import { throttle, useStore } from "../store.js";
import { After, Annotations, Message, Ports, TimeLimit } from "../taskfacts.js";
import { TerminalPanel } from "../terminalpanel.js";
import { What } from "../what.js";
import { toYAML } from "../yaml.js";

/** @typedef {import("../types").components["schemas"]["TaskStatus"]} Task */
/** @typedef {import("../types").components["schemas"]["Node"]} Node */
/** @typedef {import("../events.js").Event} Event */

const manyNodes = 64; // nodes in the table at first

/** Reads the task, and again after each of its events. @param {string} id */
export function useTask(id) {
  const result = useData((signal) => get(taskPath(id), { signal }).then((r) => /** @type {Task} */ (r.data)), [id]);
  const { data, reload } = result;
  useEffect(() => {
    const soon = throttle(reload, 400);
    const end = onEvents({ onEvents: (events) => { if (events.some((e) => e.task_id === id)) soon(); }, onReset: soon });
    // Another page of the server may learn the message of a reason without an event.
    const timer = setInterval(() => { if (!document.hidden && (!data || isActive(data.status))) soon(); }, 3000);
    return () => { end(); soon.cancel(); clearInterval(timer); };
  }, [id, data?.status]);
  return result;
}

/** The events of the task from the first one. @param {string} id @param {boolean} exists */
function useEvents(id, exists) {
  const [events, setEvents] = useState(/** @type {Event[]} */ ([]));
  useEffect(() => {
    if (!exists) return;
    setEvents([]);
    const add = (/** @type {Event[]} */ more) => setEvents((old) => {
      const last = old.at(-1)?.id || "0.0", after = more.filter((e) => e.task_id === id && e.id && later(e.id, last));
      return after.length ? [...old, ...after].slice(-2000) : old;
    });
    const abort = new AbortController();
    // New events wait until the response with the earlier events has arrived.
    let read = Promise.resolve();
    let last = "0";
    const more = () => {
      read = read.then(async () => {
        for (;;) {
          const { data } = await get(taskPath(id, "/events"), { query: { last_event_id: last }, signal: abort.signal });
          if (!data.events.length) return;
          add(data.events);
          last = data.events.at(-1).id;
        }
      }).catch(() => {});
    };
    const end = onEvents({ onEvents: (later) => { read = read.then(() => add(later)); }, onReset: more });
    more();
    return () => { end(); abort.abort(); };
  }, [id, exists]);
  return events;
}

/** @param {{task: Task}} p */
function Why({ task }) {
  const m = task.metadata;
  if (!m.reason && !m.message) return null;
  const tone = task.status === "failed" ? "bad" : isActive(task.status) ? "waits" : "";
  const title = task.status === "failed" ? "Why the task failed" : task.status === "pending" ? "Why the task waits" : task.status === "running" ? "What the task does" : "Reason";
  const node = m.nodes.find((n) => n.output);
  return html`<section class=${"card why-box " + tone} aria-label=${title}><h2>${title} <code class="reason">${m.reason}</code></h2>
    ${m.message && html`<p class="why-message"><${Message} reason=${m.reason} message=${m.message} /></p>`}
    ${m.hint && html`<p class="why-hint"><b>What to do:</b> <${Hint} text=${m.hint} id=${task.task_id} /></p>`}
    ${m.position && html`<p>Position in the queue: <b class="num">${m.position}</b>. <a href="/ui/queue">Show the queue</a></p>`}
    ${node?.output && html`<details open><summary>Last lines of node ${node.rank}</summary><pre class="terminal">${node.output}</pre></details>`}
    <p class="dim small">since <${Since} task=${task} /></p></section>`;
}

/** @param {{task: Task}} p */
function Since({ task }) {
  const at = Date.parse(task.updated_at);
  return html`<time dateTime=${task.updated_at} title=${utc(at)}>${local(at)}</time> (<${Age} at=${at} suffix=" ago" />)`;
}

/** @typedef {{name: string, from: number, to?: number, tone: string}} Phase */

/** What a task waits for before it runs, by reason. @type {Record<string, string>} */
const waits = {
  InBacklog: "queued", MaxActiveJobs: "queued", MaxActiveJobsPerUser: "queued", MaxUnschedulablePods: "queued", MaxParallelTasks: "waits for its group",
  WaitsForTask: "waits for other tasks", WaitsForJobGroup: "waits for its job group", Unschedulable: "waits for a machine", NotScheduled: "waits for a machine",
  SchedulingGated: "waits for a machine", JobSuspended: "waits for a quota", QuotaExceeded: "waits for a quota", ContainerCreating: "pulls the image", ErrImagePull: "cannot pull the image",
  ImagePullBackOff: "cannot pull the image", FetchingFiles: "downloads its files", FetchingBuckets: "copies its buckets", BackOff: "waits for the next attempt",
};

/** When the first node began to run, in its first attempt, and when the last one ended. @param {Task} task @returns {{from?: number, to?: number}} */
export function span(task) {
  const { nodes } = task.metadata;
  const times = (/** @type {(string | undefined)[]} */ all) => all.flatMap((t) => (t ? [Date.parse(t)] : []));
  const starts = times(nodes.flatMap((n) => [n.started_at, ...(n.attempts || []).map((a) => a.started_at)]));
  if (!starts.length) return {};
  const ends = times(nodes.flatMap((n) => [n.finished_at, ...(n.attempts || []).map((a) => a.finished_at)]));
  return { from: Math.min(...starts), to: isActive(task.status) ? undefined : ends.length ? Math.max(...ends) : Date.parse(task.updated_at) };
}

/** The phases of a task with their times. @param {Task} task @param {Event[]} events @returns {Phase[]} */
export function timeline(task, events) {
  const created = Date.parse(task.created_at), whole = span(task);
  /** @type {Phase[]} */
  const phases = [];
  const begin = (/** @type {string} */ name, /** @type {number} */ at, /** @type {string} */ tone) => {
    const last = phases[phases.length - 1];
    if (last && last.name === name) return;
    if (last && last.to === undefined) last.to = Math.max(at, last.from);
    phases.push({ name, from: Math.max(at, last?.to || at), tone });
  };
  begin(events.some((e) => e.after) ? "waits for other tasks" : "queued", created, "pending");
  let attempts = 1;
  for (const e of events) {
    const at = Date.parse(e.time);
    if (whole.to && at > whole.to) break;
    if (e.type === "restart") { attempts = Math.max(attempts, (e.attempt?.attempt || 0) + 1); begin("waits for the next attempt", at, "failed"); }
    else if (e.status === "running") { if (e.type === "phase" || attempts > 1) begin(attempts > 1 ? `attempt ${attempts}` : "running", attempts > 1 ? at : whole.from ?? at, "running"); }
    else if (e.status === "pending" && e.reason === "Applied") begin("starting", at, "starting");
    else if (e.status === "pending" && e.reason) begin(waits[e.reason] || sentence(e.reason) || e.reason, at, "starting");
    else if (!isActive(e.status)) end(phases, whole.to ?? at);
  }
  // Nodes know when they started and ended, also where no event says so.
  if (whole.from && !phases.some((p) => p.tone === "running")) {
    const last = phases[phases.length - 1];
    if (whole.from >= last.from) {
      last.to = whole.from;
      phases.push({ name: "running", from: whole.from, tone: "running" });
    }
  }
  if (!isActive(task.status)) end(phases, whole.to ?? Date.parse(task.updated_at));
  return phases;
}

/** @param {Phase[]} phases @param {number} at */
function end(phases, at) {
  const last = phases[phases.length - 1];
  if (last.to === undefined) last.to = Math.max(at, last.from);
}

/** @param {{task: Task, events: Event[]}} p */
function Timeline({ task, events }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (!isActive(task.status)) return;
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [task.status]);
  const phases = timeline(task, events);
  const total = Math.max(1, phases.reduce((sum, p) => sum + Math.max(0, (p.to ?? now) - p.from), 0));
  return html`<section class="card"><h2>Timeline</h2>
    <div class="timeline" aria-hidden="true">${phases.map((p, i) => html`<i key=${i} class=${p.tone} style=${{ flexGrow: Math.max(0.004, ((p.to ?? now) - p.from) / total) }} title=${p.name}></i>`)}</div>
    <ol class="phases">${phases.map((p, i) => html`<li key=${i}><i class=${"swatch " + p.tone}></i><span>${p.name}</span> <b class="num">${precise((p.to ?? now) - p.from)}</b>${p.to === undefined ? html` <span class="dim">so far</span>` : ""}</li>`)}
      ${!isActive(task.status) && html`<li><${Status} status=${task.status} /> <time class="dim num" title=${utc(task.updated_at)}>${local(task.updated_at)}</time></li>`}</ol></section>`;
}

/** @param {{task: Task}} p */
function Nodes({ task }) {
  const [most, setMost] = useState(manyNodes);
  const m = task.metadata;
  const earlier = m.nodes.some((n) => n.attempts?.length);
  return html`<section class="card"><div class="card-head"><h2>${plural(m.num_nodes, "node")}</h2><p class="dim num">${[[m.succeeded_nodes, "completed"], [m.running_nodes, "running"], [m.pending_nodes, "pending"], [m.failed_nodes, "failed"]].filter(([n]) => n).map(([n, word]) => `${n} ${word}`).join(", ")}</p></div>
    ${m.num_nodes > 1 && html`<div class="nodes-bar"><${Bar} used=${m.succeeded_nodes} other=${m.running_nodes} of=${m.num_nodes} label=${`${m.succeeded_nodes} of ${m.num_nodes} nodes completed, ${m.running_nodes} running`} /></div>`}
    <div class="scroll-x"><table class="plain as-cards"><thead><tr><th class="right">Node</th><th>Status</th><th>Machine</th><th>Pod</th><th>Duration</th><th class="right">Exit code</th>${m.max_restarts && html`<th class="right">Attempt</th>`}<th>Reason</th><th><span class="offscreen">Log</span></th></tr></thead>
    <tbody>${m.nodes.slice(0, most).map((n, i) => html`<tr key=${n.rank}><th scope="row" class="right num">${n.rank}</th><td><${Status} status=${n.status} /></td><td>${n.host || html`<span class="none">–</span>`}</td><td><code class="wrap-any">${n.pod || n.job}</code></td>
      <td>${n.started_at ? html`<${Elapsed} from=${Date.parse(n.started_at)} to=${n.finished_at ? Date.parse(n.finished_at) : isActive(n.status) && isActive(task.status) ? undefined : Date.parse(task.updated_at)} />` : html`<span class="none">–</span>`}</td><td class="right num">${n.exit_code ?? html`<span class="none">–</span>`}</td>
      ${m.max_restarts && html`<td class="right num">${n.attempt || 1}${n.max_attempts ? ` of ${n.max_attempts}` : ""}</td>`}<td>${n.reason && html`${n.message && n.message !== m.message && n.message !== m.nodes[i - 1]?.message ? n.message + " " : ""}<code>${n.reason}</code>`}</td><td class="right"><a href=${`/ui/tasks/${task.task_id}/logs?node=${n.rank}`}>log</a></td></tr>`)}</tbody></table></div>
    ${m.nodes.length > most && html`<p><button class="button" onClick=${() => setMost(m.nodes.length)}>Show all ${plural(m.nodes.length, "node")}</button></p>`}
    ${earlier && html`<h3>Earlier attempts</h3><div class="scroll-x"><table class="plain as-cards"><thead><tr><th class="right">Node</th><th class="right">Attempt</th><th>Machine</th><th>Duration</th><th class="right">Exit code</th><th>Reason</th><th><span class="offscreen">Log</span></th></tr></thead>
      <tbody>${m.nodes.flatMap((n) => (n.attempts || []).map((a) => html`<tr key=${n.rank + "." + a.attempt}><td class="right num">${n.rank}</td><td class="right num">${a.attempt}</td><td>${a.host}</td><td>${a.started_at && a.finished_at ? html`<${Elapsed} from=${Date.parse(a.started_at)} to=${Date.parse(a.finished_at)} />` : "–"}</td><td class="right num">${a.exit_code ?? "–"}</td><td>${a.message || ""} <code>${a.reason}</code></td>
      <td class="right"><a href=${`/ui/tasks/${task.task_id}/logs?node=${n.rank}&attempt=${a.attempt}`}>log</a></td></tr>`))}</tbody></table></div>`}</section>`;
}

/** @param {{events: Event[]}} p */
function Events({ events }) {
  if (!events.length) return html`<p class="dim">The server has stored no events of this task.</p>`;
  return html`<ol class="events">${events.map((e, i) => html`<li key=${e.id || i}><time class="num" dateTime=${e.time} title=${utc(e.time)}>${local(e.time)}</time><${Status} status=${e.status} />
    <span class="event-text">${e.type === "restart" && html`<b>restart</b> `}<${Message} reason=${e.reason} message=${e.message} /> ${e.reason && html`<code>${e.reason}</code>`}${e.attempt?.output && html`<pre class="terminal">${e.attempt.output}</pre>`}</span></li>`)}</ol>`;
}

/** @param {{load: (signal: AbortSignal) => Promise<string>, keys: any[], name: string}} p */
function Document({ load, keys, name }) {
  const { data, error, reload } = useData(load, keys);
  if (error) return html`<${Failure} error=${error} retry=${reload} />`;
  if (data === undefined) return html`<${Loading} />`;
  return html`<div class="document"><p class="document-actions"><${Copy} text=${data} title="Copy" /><a class="button" download=${name} href=${"data:text/plain;charset=utf-8," + encodeURIComponent(data)}><${Icon} name="download" />Download</a></p><pre class="code" tabindex="0">${data}</pre></div>`;
}

/** @param {string} id @param {AbortSignal} signal */
const spec = (id, signal) => get(taskPath(id, "/spec"), { signal }).then((r) => r.data);

/** The objects of the task, as a preview of the same file shows them. @param {string} id @param {AbortSignal} signal */
async function objects(id, signal) {
  const preview = await send("/tasks/preview", { body: await spec(id, signal), signal });
  return "# The objects that the server would create for this task file now. Names contain another ID.\n" + preview.objects.map(toYAML).join("---\n");
}

/** @type {[string, string][]} */
const tabs = [["overview", "Overview"], ["events", "Events"], ["spec", "Task file"], ["objects", "Kubernetes objects"], ["raw", "JSON"], ["terminal", "Terminal"]];

/** @param {{id: string}} p */
export function TaskPage({ id }) {
  const { search } = useStore(place), { session } = useStore(server);
  const { data: task, error, reload } = useTask(id);
  const events = useEvents(id, !!task);
  const { data: file = /** @type {import("../what.js").File} */ ({}) } = useData((signal) => (task ? spec(id, signal) : Promise.resolve({})), [id, !!task]);
  const [stopping, setStopping] = useState(false);
  const [terminal, setTerminal] = useState(false); // it was opened
  const tab = new URLSearchParams(search).get("tab") || "overview";
  const panel = useRef(null);
  useEffect(() => { document.title = `${task?.name || id} · k8s-cli`; }, [task?.name]);
  useEffect(() => { if (tab === "terminal") setTerminal(true); }, [tab]);
  useKeys({
    l: () => go(`/ui/tasks/${id}/logs`), e: () => setParams({ tab: "events" }), y: () => setParams({ tab: "spec" }), o: () => setParams({ tab: "" }),
    s: () => setStopping(true), r: () => go("/ui/new?from=" + id),
  }, [id]);
  if (error && !task) {
    const status = /** @type {any} */ (error).status;
    return status === 404 || status === 403 || status === 422 ? html`<${NotFound} />` : html`<div class="page"><${Failure} error=${error} retry=${reload} /></div>`;
  }
  if (!task) return html`<div class="page"><${Loading} /></div>`;
  const m = task.metadata;
  const { from, to } = span(task);
  const failed = m.nodes.filter((n) => n.status === "failed" && n.exit_code), exits = [...new Set((failed.length ? failed : m.nodes).map((n) => n.exit_code).filter((c) => c !== undefined))];
  const other = session?.user && m.user !== session.user;
  return html`<div class="page task-page"><header class="task-head">
      <p class="crumbs"><a href="/ui/">Tasks</a></p>
      <div class="task-title"><h1 class="wrap-any">${task.name}</h1><${Status} status=${task.status} /></div>
      <dl class="inline"><div><dt>ID</dt><dd><code>${task.task_id}</code></dd></div><div><dt>User</dt><dd>${m.user}${other ? html` <b class="tag">another user</b>` : ""}</dd></div>${m.group && html`<div><dt>Group</dt><dd><a class="wrap-any" href=${groupPage(m.group, m.user)}>${m.group}</a></dd></div>`}<div><dt>Submitted</dt><dd><${Age} at=${Date.parse(task.created_at)} suffix=" ago" /></dd></div>
        ${from && html`<div><dt>Duration</dt><dd><${Elapsed} from=${from} to=${to} /></dd></div>`}
        ${exits.length > 0 && html`<div><dt>Exit code</dt><dd class="num">${exits.join(", ")}</dd></div>`}
        ${m.restarts && html`<div><dt>Restarts</dt><dd class="num">${m.restarts}${m.max_restarts ? ` of ${m.max_restarts}` : ""}</dd></div>`}
        <${TimeLimit} task=${task} /><${Annotations} task=${task} /></dl>
      <div class="actions"><a class="button primary" href=${`/ui/tasks/${id}/logs`}><${Icon} name="log" />Log</a>
        <button class="button danger" disabled=${!isActive(task.status)} onClick=${() => setStopping(true)}><${Icon} name="stop" />Stop</button>
        <a class="button" href=${"/ui/new?from=" + id}><${Icon} name="again" />Run again</a>
        <${Copy} text=${location.origin + "/ui/tasks/" + id} label="Copy link" /><${Copy} text=${"k8s-cli jobs status " + id} label="Copy CLI command" /></div></header>
    ${error && html`<p class="field-error" role="alert"><${Icon} name="warning" />${error.message} The page shows the last data.</p>`}
    <${TabList} label="Parts of the task" tabs=${tabs} now=${tab} panel="panel" onSelect=${(/** @type {string} */ key) => setParams({ tab: key === "overview" ? "" : key })} />
    <div class="panel" id="panel" role="tabpanel" aria-labelledby=${"tab-" + tab} ref=${panel}>
      ${tab === "overview" && html`<${Why} task=${task} /><${After} task=${task} events=${events} /><${Timeline} task=${task} events=${events} /><${Nodes} task=${task} /><${ResourceUse} task=${task} /><${Outputs} task=${task} paths=${file.outputs || []} /><${What} file=${file} /><${Ports} task=${task} />`}
      ${tab === "events" && html`<section class="card"><${Events} events=${events} /></section>`}
      ${tab === "spec" && html`<${Document} key="spec" name=${id + ".yaml"} keys=${[id]} load=${(/** @type {AbortSignal} */ s) => spec(id, s).then(toYAML)} />`}
      ${tab === "objects" && html`<${Document} key="objects" name=${id + "-objects.yaml"} keys=${[id]} load=${(/** @type {AbortSignal} */ s) => objects(id, s)} />`}
      ${tab === "raw" && html`<${Document} key="raw" name=${id + ".json"} keys=${[id, task.updated_at]} load=${async () => JSON.stringify(task, null, 2) + "\n"} />`}
      ${terminal && html`<${TerminalPanel} task=${task} hidden=${tab !== "terminal"} />`}</div>
    ${stopping && html`<${StopDialog} tasks=${[{ id, name: task.name, status: task.status, user: m.user }]} me=${session?.user} onClose=${() => { setStopping(false); reload(); }} />`}</div>`;
}
