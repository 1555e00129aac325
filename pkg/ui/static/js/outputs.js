// The outputs of a task: what each node left behind, with links to the archives.
import { html, useState } from "./html.js";
import { isActive } from "./actions.js";
import { request, sessionKey, taskPath, url } from "./api.js";
import { bytes, plural } from "./format.js";
import { Copy, Icon, toast } from "./parts.js";

/** @typedef {import("./types").components["schemas"]["TaskStatus"]} Task */
/** @typedef {import("./types").components["schemas"]["Output"]} Output */

const manyNodes = 64; // nodes in the table at first

/** @param {{task: Task, paths: string[]}} p paths are those of the task file */
export function Outputs({ task, paths }) {
  const [most, setMost] = useState(manyNodes);
  const all = task.metadata.outputs || [];
  if (!all.length && !paths.length) return null;
  const stored = all.filter((o) => o.sha256), size = stored.reduce((sum, o) => sum + o.bytes, 0);
  const command = `k8s-cli jobs download ${task.task_id}`;
  return html`<section class="card outputs"><div class="card-head"><h2>Outputs</h2>${stored.length > 0 && html`<p class="dim num">${stored.length === 1 ? "1 archive" : `${stored.length} archives of ${plural(task.metadata.num_nodes, "node")}`}, ${bytes(size)}</p>`}</div>
    ${paths.length > 0 && html`<p>${paths.map((path, i) => html`${i ? ", " : ""}<code class="wrap-any">${path}</code>`)}</p>`}
    ${!all.length && html`<p class="note"><${Icon} name=${isActive(task.status) ? "clock" : "stopped"} />${isActive(task.status) ? "Each node sends these files and directories when its scripts have ended." : "The server received no outputs from the nodes of this task."}</p>`}
    ${all.length > 0 && html`<div class="scroll-x"><table class="plain as-cards"><thead><tr><th class="right">Node</th><th class="right">Size</th><th>Notes</th><th><span class="offscreen">Download</span></th></tr></thead>
      <tbody>${all.slice(0, most).map((o) => html`<tr key=${o.node}><th scope="row" class="right num"><span class="narrow-only">Node </span>${o.node}</th><td class="right num">${o.sha256 ? bytes(o.bytes) : html`<span class="none">–</span>`}</td><td class="output-notes"><${Notes} output=${o} /></td><td class="right">${o.sha256 && html`<${Download} id=${task.task_id} output=${o} />`}</td></tr>`)}</tbody></table></div>`}
    ${all.length > most && html`<p><button class="button" onClick=${() => setMost(all.length)}>Show all ${plural(all.length, "node")}</button></p>`}
    ${stored.length > 0 && html`<p class="dim small">The archives stay on the server until the task leaves the history. The CLI unpacks the archives of all nodes:</p><pre class="terminal">${command}</pre><p><${Copy} text=${command} label="Copy the command" /></p>`}</section>`;
}

/** @param {{output: Output}} p */
function Notes({ output: o }) {
  if (!o.error && !o.missing?.length) return o.sha256 ? html`<code class="id" title=${"SHA-256: " + o.sha256}>${o.sha256.slice(0, 12)}</code>` : html`<span class="dim">no files</span>`;
  return html`${o.error && html`<span class="field-error"><${Icon} name="warning" /><span class="wrap-any">${o.error}${o.sha256 ? " The archive is of an earlier attempt." : ""}</span></span>`}
    ${o.missing && o.missing.length > 0 && html`<span class="dim wrap-any">not on the node: ${o.missing.map((path, i) => html`${i ? ", " : ""}<code>${path}</code>`)}</span>`}`;
}

/** A link that asks for the archive first, so that an error is a sentence on the page. @param {{id: string, output: Output}} p */
function Download({ id, output: o }) {
  const href = url(taskPath(id, `/outputs/${o.node}`), { session_key: sessionKey() }), name = `${id}-${o.node}.tar.gz`;
  const fetchIt = async (/** @type {Event} */ e) => {
    e.preventDefault();
    try {
      await request(href, { method: "HEAD", cache: "no-store" });
      const link = document.createElement("a");
      link.href = href;
      link.download = name;
      link.click();
    } catch (err) {
      const { status, message } = /** @type {import("./api.js").ApiError} */ (err);
      toast(status === 404 ? `The server no longer has the outputs of node ${o.node}.` : message, "bad");
    }
  };
  return html`<a class="button" href=${href} download=${name} aria-label=${`Download the outputs of node ${o.node}`} onClick=${fetchIt}><${Icon} name="download" />Download</a>`;
}
