// What the ended tasks of the user have used.
import { html, useState } from "./html.js";
import { get } from "./api.js";
import { count } from "./format.js";
import { groupPage } from "./groups.js";
import { Bar, Copy, Failure, Loading, useData } from "./parts.js";

/** @typedef {import("./types").components["schemas"]["UsageReport"]} Report */
/** @typedef {import("./types").components["schemas"]["UsageRow"]} Row */
/** @typedef {"node_hours" | "cpu_hours" | "gpu_hours" | "memory_gib_hours"} Hours */

const since = "30d";
const most = 31; // rows at first

/** @type {[Hours, string][]} */
const columns = [["node_hours", "Node hours"], ["cpu_hours", "CPU hours"], ["gpu_hours", "GPU hours"], ["memory_gib_hours", "GiB hours"]];

/** @param {number} n */
const hours = (n) => (n === 0 ? html`<span class="dim">0</span>` : n < 0.01 ? "< 0.01" : n < 100 ? n.toFixed(2) : count(n));

export function Usage() {
  const [by, setBy] = useState(/** @type {"day" | "group"} */ ("day"));
  const [all, setAll] = useState(false);
  const { data, error, reload } = useData((signal) => get("/usage", { query: { since, by }, signal }).then((r) => /** @type {Report} */ (r.data)), [by]);
  const command = `k8s-cli jobs usage --since ${since} --by ${by} -o csv`;
  return html`<section class="card"><div class="card-head"><h2>Used in the last 30 days</h2><div class="segments" role="group" aria-label="Rows">${[["day", "By day"], ["group", "By group"]].map(([id, label]) => html`<button key=${id} aria-pressed=${by === id ? "true" : "false"} onClick=${() => { setBy(/** @type {any} */ (id)); setAll(false); }}>${label}</button>`)}</div></div>
    ${error && !data ? html`<${Failure} error=${error} retry=${reload} />` : !data ? html`<${Loading} lines=${4} />` : data.rows.length === 0 ? html`<p class="dim">No task ended in this time. A task counts when it ends.</p>`
    : html`<${Table} report=${data} by=${by} most=${all ? Infinity : most} />${data.rows.length > most && !all && html`<p class="table-more"><button class="button" onClick=${() => setAll(true)}>Show all ${count(data.rows.length)} rows</button></p>`}`}
    <p class="dim small">What the nodes of ended tasks requested, times the hours for which the nodes ran. A day begins at midnight UTC.</p>
    <p><${Copy} text=${command} label="Copy CLI command" /></p></section>`;
}

/** @param {{report: Report, by: "day" | "group", most: number}} p */
function Table({ report, by, most: n }) {
  const rows = by === "day" ? report.rows : [...report.rows].sort((a, b) => b.node_hours - a.node_hours);
  const largest = Math.max(...rows.map((r) => r.node_hours));
  return html`<div class="scroll-x" tabindex="0" role="region" aria-label="Usage"><table class="plain usage"><thead><tr><th>${by === "day" ? "Day" : "Group"}</th><th class="wide-only"><span class="offscreen">Part of the largest</span></th><th class="right">Tasks</th>${columns.map(([key, label]) => html`<th key=${key} class="right">${label}</th>`)}</tr></thead>
    <tbody>${rows.slice(0, n).map((r) => html`<tr key=${r.day || r.group || ""}><th scope="row" class="num">${by === "day" ? r.day : r.group ? html`<a class="wrap-any" href=${groupPage(r.group, r.user)}>${r.group}</a>` : html`<span class="dim">no group</span>`}</th>
      <td class="wide-only"><${Bar} used=${r.node_hours} of=${largest} label=${`${r.node_hours.toFixed(2)} node hours`} /></td><td class="right num">${count(r.tasks)}</td>${columns.map(([key]) => html`<td key=${key} class="right num">${hours(r[key])}</td>`)}</tr>`)}</tbody>
    <tfoot><tr><th scope="row">Total</th><td class="wide-only"></td><td class="right num">${count(report.total.tasks)}</td>${columns.map(([key]) => html`<td key=${key} class="right num">${hours(report.total[key])}</td>`)}</tr></tfoot></table></div>`;
}
