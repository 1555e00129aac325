// The terminal on the page of a task, or why there is none.
import { html, useEffect, useState } from "./html.js";
import { isActive } from "./actions.js";
import { server } from "./api.js";
import { Copy, Icon, Notice } from "./parts.js";
import { useStore } from "./store.js";

/** @typedef {import("./types").components["schemas"]["TaskStatus"]} Task */

/** @param {Task} task @param {import("./session.js").Session | null} session @returns {{title: string, text: string, command?: string} | null} why no terminal can be opened */
function obstacle(task, session) {
  if (session?.user !== task.metadata.user) return { title: "Only the owner can open a terminal", text: "A terminal can read the secrets of the task." };
  const pod = task.metadata.nodes.find((n) => n.status === "running" && n.pod)?.pod;
  if (!session?.exec) return { title: "Terminals are off", text: "This server allows no sessions in tasks. The administrator can set --allow-exec (value allowExec of the chart).", command: pod && `kubectl exec -it ${pod} -- /bin/sh` };
  if (!isActive(task.status)) return { title: "The task has ended", text: "A terminal opens in a running node of a task." };
  if (!task.metadata.nodes.some((n) => n.status === "running")) return { title: "No node runs yet", text: "A terminal opens as soon as a node of the task runs." };
  return null;
}

/** Stays in the document while another tab is shown, so that the shell continues. @param {{task: Task, hidden: boolean}} p */
export function TerminalPanel({ task, hidden }) {
  const { session } = useStore(server);
  const running = task.metadata.nodes.filter((n) => n.status === "running").map((n) => n.rank);
  const [node, setNode] = useState(/** @type {number | null} */ (null));
  const why = obstacle(task, session);
  useEffect(() => { if (node === null && !why && running.length) setNode(running[0]); }, [node, !why, running.length]);
  if (node === null) return hidden || !why ? null : html`<section class="card"><${Notice} title=${why.title} icon="shell"><p>${why.text}</p>
    ${why.command && html`<p>With access to the namespace of the tasks in the cluster:</p><pre class="terminal">${why.command}</pre><p><${Copy} text=${why.command} label="Copy command" /></p>`}<//></section>`;
  const src = `/ui/terminal/${encodeURIComponent(task.task_id)}?node=${node}`;
  return html`<section class="card flush term-card" hidden=${hidden} aria-label="Terminal">
    <p class="term-tools">${task.metadata.num_nodes > 1 && html`<label>Node <select class="tiny-field" value=${node} onChange=${(/** @type {any} */ e) => setNode(Number(e.currentTarget.value))}>${[...new Set([node, ...running])].sort((a, b) => a - b).map((n) => html`<option key=${n} value=${n}>${n}</option>`)}</select></label>`}
      <span class="grow dim small">The shell ends when you leave this page.</span><a class="button" href=${src} target="_blank" rel="noopener"><${Icon} name="window" />Own window</a></p>
    <iframe key=${src} src=${src} title=${`Terminal in node ${node}`}></iframe></section>`;
}
