// The CPUs and the memory that the nodes of a task use, beside what the task requested: the last sample
// while the task runs, and the largest amounts after its end.
import { html, useEffect, useState } from "./html.js";
import { get, taskPath } from "./api.js";
import { bytes, number, plural } from "./format.js";
import { Age, Bar, Icon, useData } from "./parts.js";

/** @typedef {import("./types").components["schemas"]["TaskStatus"]} Task */
/** @typedef {import("./types").components["schemas"]["TopTask"]} Top */
/** @typedef {{cpus?: number, memory_bytes?: number}} Amounts */
/** @typedef {{rank: number, used?: Amounts, max?: Amounts}} Row */

const manyNodes = 64; // nodes in the table at first
const readAgain = 10_000; // milliseconds; the server takes a sample every 30 seconds

/** @param {{task: Task}} p */
export function ResourceUse({ task }) {
  const running = task.status === "running";
  const { data: top, reload } = useData((signal) => get(taskPath(task.task_id, "/top"), { signal }).then((r) => /** @type {Top} */ (r.data)), [task.task_id, task.status]);
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(() => { if (!document.hidden) reload(); }, readAgain);
    return () => clearInterval(timer);
  }, [task.task_id, running]);
  if (!top) return null;
  const of = running ? "used" : "max", asked = top.requested;
  const rows = top.nodes.filter((n) => (running ? n.used : n.max_used)).map((n) => ({ rank: n.rank, used: n.used, max: n.max_used }));
  if (!rows.length) return null; // the cluster may have no metrics API
  return html`<section class="card resource-use"><div class="card-head"><h2>CPUs and memory in use</h2>${running && top.sampled_at && html`<p class="dim">measured <${Age} at=${Date.parse(top.sampled_at)} suffix=" ago" /></p>`}</div>
    ${top.problem && html`<p class="note"><${Icon} name="warning" /><span>${top.problem}.</span></p>`}
    ${!running && rows.length === 1 && html`<p>${sentence(asked, rows[0].max)}</p>`}<${Table} rows=${rows} asked=${asked} of=${of} />
    ${!running && html`<p class="dim small">The largest amounts of all measurements. A peak between two measurements may have been higher.</p>`}</section>`;
}

/** @param {Amounts | undefined} asked @param {Amounts | undefined} used @returns {string} for example: Requested 8 GiB of memory, used 600 MiB. */
function sentence(asked, used) {
  /** @type {string[]} */
  const parts = [];
  if (asked?.cpus) parts.push(`Requested ${plural(asked.cpus, "CPU")}, used ${number(used?.cpus || 0)}.`);
  if (asked?.memory_bytes) parts.push(`Requested ${bytes(asked.memory_bytes)} of memory, used ${bytes(used?.memory_bytes || 0)}.`);
  return parts.join(" ");
}

/** @param {{rows: Row[], asked?: Amounts, of: "used" | "max"}} p */
function Table({ rows, asked, of }) {
  const [most, setMost] = useState(manyNodes);
  const head = of === "used" ? "in use" : "largest amount";
  return html`<div class="scroll-x"><table class="plain as-cards"><thead><tr><th class="right">Node</th><th>CPUs ${head}</th><th>Memory ${head}</th></tr></thead>
    <tbody>${rows.slice(0, most).map((r) => html`<tr key=${r.rank}><th scope="row" class="right num"><span class="narrow-only">Node </span>${r.rank}</th>
      <td><${Amount} node=${r.rank} name="CPUs" used=${r[of]?.cpus} asked=${asked?.cpus} max=${of === "used" ? r.max?.cpus : undefined} text=${number} /></td>
      <td><${Amount} node=${r.rank} name="memory" used=${r[of]?.memory_bytes} asked=${asked?.memory_bytes} max=${of === "used" ? r.max?.memory_bytes : undefined} text=${bytes} /></td></tr>`)}</tbody></table></div>
    ${rows.length > most && html`<p><button class="button" onClick=${() => setMost(rows.length)}>Show all ${plural(rows.length, "node")}</button></p>`}`;
}

/** @param {{node: number, name: string, used?: number, asked?: number, max?: number, text: (n: number) => string}} p */
function Amount({ node, name, used = 0, asked, max, text }) {
  const words = asked ? `${text(used)} of ${text(asked)}` : `${text(used)}, none requested`;
  return html`${asked ? html`<${Bar} used=${used} of=${asked} label=${`Node ${node}: ${name}, ${words}`} />` : ""}<span class="num">${words}</span>${max !== undefined && max > used && html` <span class="dim small">at most ${text(max)}</span>`}`;
}
