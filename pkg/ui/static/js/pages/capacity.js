// What the machines offer, what tasks have requested, and what is free.
import { html, useEffect, useState } from "../html.js";
import { get } from "../api.js";
import { bytes, count, number, plural } from "../format.js";
import { onEvents } from "../live.js";
import { Bar, Failure, Icon, Loading, Notice, useData } from "../parts.js";
import { throttle } from "../store.js";

/** @typedef {import("../types").components["schemas"]["Capacity"]} Capacity */
/** @typedef {import("../types").components["schemas"]["Resources"]} Resources */

const shown = 100; // machines in the document

/** Reads something again after events, and every few seconds. @param {() => void} reload */
export function useLive(reload, period = 5000) {
  useEffect(() => {
    const soon = throttle(reload, 1500);
    const end = onEvents({ onEvents: soon, onReset: soon });
    const timer = setInterval(() => { if (!document.hidden) soon(); }, period);
    return () => { end(); soon.cancel(); clearInterval(timer); };
  }, [reload]);
}

/** Amounts that are given by pods of other programs. free counts only pods of tasks, so it may be too large. @param {Resources} r @param {"cpus" | "memory_bytes" | "gpus" | "pods"} key @param {(n: number) => string} form */
function meter(r, key, form) {
  const all = r.allocatable[key], used = r.requested[key], free = r.free[key];
  const other = Math.max(0, all - used - free);
  const text = `Tasks requested ${form(used)} of ${form(all)}; ${other ? `others use ${form(other)}; ` : ""}${form(free)} free`;
  return html`<div class="meter"><${Bar} used=${used} other=${other} of=${all} label=${text} /><span class="num">${form(used)} <span class="dim">of ${form(all)}</span></span></div>`;
}

/** @param {{title: string, r: Resources, of: "cpus" | "memory_bytes" | "gpus" | "pods", form: (n: number) => string, waiting: number}} p */
function Total({ title, r, of, form, waiting }) {
  return html`<section class="card stat"><h2>${title}</h2><p class="big-number">${form(Math.max(0, r.free[of]))}<small> free of ${form(r.allocatable[of])}</small></p>${meter(r, of, form)}
    <p class="dim small">${waiting ? `Waiting tasks ask for ${form(waiting)} more` : "No task waits for more"}</p></section>`;
}

export function CapacityPage() {
  const { data, error, reload } = useData((signal) => get("/capacity", { signal }).then((r) => /** @type {Capacity} */ (r.data)), []);
  const [filter, setFilter] = useState("");
  const [most, setMost] = useState(shown);
  useLive(reload);
  useEffect(() => { document.title = "Capacity · k8s-cli"; }, []);
  if (!data) return html`<div class="page"><header class="page-head"><h1>Capacity</h1></header>${error ? html`<${Failure} error=${error} retry=${reload} />` : html`<${Loading} />`}</div>`;
  if (!data.known) {
    return html`<div class="page"><header class="page-head"><h1>Capacity</h1></header><${Notice} title="The server cannot see the machines" icon="capacity"><p>The server needs the right to list and watch nodes. Ask the administrator.</p><//></div>`;
  }
  const nodes = data.nodes.filter((n) => !filter || n.name.includes(filter) || (n.gpu || "").toLowerCase().includes(filter.toLowerCase()));
  const gpus = data.total.allocatable.gpus > 0 || data.waiting.gpus > 0;
  return html`<div class="page"><header class="page-head"><h1>Capacity</h1><p class="dim legend"><span><i class="swatch ours"></i>requested by tasks of this server</span><span><i class="swatch free"></i>not requested by tasks</span></p></header>
    <p class="note"><${Icon} name="warning" />Pods of other programs do not count here, so less may be free than shown.</p>
    <div class="cards">
      ${gpus && html`<${Total} title="GPUs" r=${data.total} of="gpus" form=${count} waiting=${data.waiting.gpus} />`}
      <${Total} title="CPUs" r=${data.total} of="cpus" form=${number} waiting=${data.waiting.cpus} />
      <${Total} title="Memory" r=${data.total} of="memory_bytes" form=${bytes} waiting=${data.waiting.memory_bytes} />
      <${Total} title="Pods" r=${data.total} of="pods" form=${count} waiting=${data.waiting.pods} /></div>
    ${data.gpus.length > 0 && html`<section class="card"><h2>GPU models</h2><div class="scroll-x"><table class="plain"><thead><tr><th>Model</th><th class="right">Free</th><th>Requested</th><th class="right">Most free on one machine</th><th class="right">Machines</th></tr></thead>
      <tbody>${data.gpus.map((g) => html`<tr key=${g.model}><th scope="row">${g.model || "unknown model"}</th><td class="right num"><b>${count(g.free)}</b></td>
        <td><div class="meter"><${Bar} used=${g.requested} of=${g.allocatable} label=${`Tasks requested ${g.requested} of ${g.allocatable}`} /><span class="num">${count(g.requested)} <span class="dim">of ${count(g.allocatable)}</span></span></div></td>
        <td class="right num">${g.largest_free} <span class="dim">of ${g.largest}</span></td><td class="right num">${count(g.nodes)}</td></tr>`)}</tbody></table></div></section>`}
    <section class="card"><div class="card-head"><h2>${plural(data.nodes.length, "machine")}</h2><input class="small-field" type="search" aria-label="Filter machines" placeholder="Filter by name or GPU" value=${filter} onInput=${(/** @type {any} */ e) => setFilter(e.currentTarget.value)} /></div>
      ${nodes.length === 0 ? html`<p class="dim">${filter ? "No machine matches." : "The cluster has no machines."}</p>` : html`<div class="scroll-x" tabindex="0" role="region" aria-label="Machines"><table class="plain machines"><thead><tr><th>Machine</th><th>State</th>${gpus && html`<th>GPUs</th>`}<th>CPUs</th><th>Memory</th><th>Pods</th></tr></thead>
      <tbody>${nodes.slice(0, most).map((n) => html`<tr key=${n.name}><th scope="row">${n.name}</th><td><${MachineState} node=${n} /></td>${gpus && html`<td>${n.allocatable.gpus ? html`<span class="small dim">${n.gpu || ""}</span>${meter(n, "gpus", count)}` : html`<span class="none">–</span>`}</td>`}
        <td>${meter(n, "cpus", number)}</td><td>${meter(n, "memory_bytes", bytes)}</td><td>${meter(n, "pods", count)}</td></tr>`)}</tbody></table></div>`}
      ${nodes.length > most && html`<p><button class="button" onClick=${() => setMost(most + shown)}>Show ${Math.min(shown, nodes.length - most)} more of ${count(nodes.length - most)}</button></p>`}</section></div>`;
}

/** @param {{node: Capacity["nodes"][0]}} p */
function MachineState({ node }) {
  if (!node.ready) return html`<span class="status failed"><${Icon} name="failed" /><span>not ready</span></span>`;
  if (!node.schedulable) return html`<span class="status stopped" title=${node.taint ? "Taint: " + node.taint : ""}><${Icon} name="stopped" /><span>accepts no tasks${node.taint ? html`<small class="dim clip block">${node.taint}</small>` : ""}</span></span>`;
  return html`<span class="status completed"><${Icon} name="completed" /><span>ready</span></span>`;
}
