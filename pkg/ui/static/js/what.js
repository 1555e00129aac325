// What a task runs: the essential fields of its task file.
import { html } from "./html.js";

/** What the pages read of a task file. @typedef {{outputs?: string[], image_id?: string, resources?: any, envs?: Record<string, any>, run?: string, setup?: string, workdir?: any}} File */

const lines = 12; // of the command
const longest = 200; // characters of a value

/** @param {any} v @returns {string} */
const short = (v) => { const s = typeof v === "string" ? v : JSON.stringify(v); return s.length > longest ? s.slice(0, longest) + "…" : s; };

/** @param {Record<string, any>} map */
const pairs = (map) => Object.entries(map).map(([k, v], i) => html`${i ? " " : ""}<code class="wrap-any" key=${k}>${k}=${short(v ?? "")}</code>`);

/** @param {{file: File}} p */
export function What({ file }) {
  const r = Array.isArray(file.resources) ? file.resources[0] : file.resources || {}, command = (file.run || "").trimEnd().split("\n");
  /** @type {[string, any][]} */
  const facts = [
    ["CPUs", r.cpus], ["Memory", r.memory], ["GPUs", r.accelerators && short(r.accelerators)], ["Image", r.image_id || file.image_id],
    ["Variables", file.envs && Object.keys(file.envs).length ? pairs(file.envs) : ""], ["Labels", r.labels && Object.keys(r.labels).length ? pairs(r.labels) : ""],
  ];
  const given = facts.filter(([, v]) => v !== undefined && v !== "" && v !== null);
  if (!given.length && !file.run) return null;
  return html`<section class="card"><div class="card-head"><h2>What runs</h2><a href="?tab=spec">Whole task file</a></div>
    <dl class="facts">${given.map(([name, v]) => html`<dt key=${name}>${name}</dt><dd class="wrap-any">${v}</dd>`)}</dl>
    ${file.run && html`<pre class="code" tabindex="0">${command.slice(0, lines).join("\n")}${command.length > lines ? `\n… ${command.length - lines} more lines` : ""}</pre>`}</section>`;
}
