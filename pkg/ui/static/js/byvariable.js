// The tasks of a sweep, counted by the values of one of its variables.
import { html, useEffect } from "./html.js";
import { get } from "./api.js";
import { count } from "./format.js";
import { PhaseBar, inWords } from "./groups.js";
import { onEvents } from "./live.js";
import { Failure, Loading, useData } from "./parts.js";
import { place, setParams } from "./router.js";
import { throttle, useStore } from "./store.js";
import { compareValues, pointOf } from "./tasklist.js";

/** @typedef {import("./tasklist.js").Row} Row */

const most = 5000; // tasks that the page counts

/**
 * @param {Row[]} rows @param {string} variable
 * @returns {{value: string, counts: Record<string, number>}[]} the tasks of each value by status, in the order of the values
 */
export function countsByValue(rows, variable) {
  /** @type {Map<string, Record<string, number>>} */
  const all = new Map();
  for (const row of rows) {
    const value = pointOf(row).find(([name]) => name === variable)?.[1];
    if (value === undefined) continue;
    const counts = all.get(value) || {};
    counts[row.status] = (counts[row.status] || 0) + 1;
    all.set(value, counts);
  }
  return [...all].sort(([a], [b]) => compareValues(a, b)).map(([value, counts]) => ({ value, counts }));
}

/** The choice of a variable, and the tasks of a list by its values. @param {{params: Record<string, any>, variables: string[], onValue: (variable: string, value: string) => void}} p */
export function ByVariable({ params, variables, onValue }) {
  const chosen = new URLSearchParams(useStore(place).search).get("by") || "";
  const button = (/** @type {string} */ name, /** @type {string} */ label) => html`<button key=${name} aria-pressed=${chosen === name ? "true" : "false"} onClick=${() => setParams({ by: name })}>${label}</button>`;
  return html`<div class="by-variable"><span id="by-variable" class="dim">Count by</span>
      <div class="segments" role="group" aria-labelledby="by-variable">${button("", "Nothing")}${variables.map((v) => button(v, v))}</div></div>
    ${variables.includes(chosen) && html`<${Values} params=${params} variable=${chosen} onValue=${onValue} />`}`;
}

/** @param {{params: Record<string, any>, variable: string, onValue: (variable: string, value: string) => void}} p */
function Values({ params, variable, onValue }) {
  const key = JSON.stringify({ ...params, sort: "" });
  const { data, error, reload } = useData((signal) => get("/tasks", { query: { ...params, sort: "-created", view: "row", limit: most }, signal })
    .then(({ data, headers }) => ({ rows: /** @type {Row[]} */ (data.tasks), total: Number(headers.get("X-Total-Count")) })), [key]);
  useEffect(() => {
    const soon = throttle(reload, 2000);
    const end = onEvents({ onEvents: (events) => { if (events.some((e) => e.group === params.group && e.type === "phase")) soon(); }, onReset: soon });
    return () => { end(); soon.cancel(); };
  }, [key]);
  if (!data) return error ? html`<${Failure} error=${error} retry=${reload} />` : html`<${Loading} lines=${3} />`;
  const values = countsByValue(data.rows, variable);
  return html`<section class="card" aria-label=${`Tasks by ${variable}`}><div class="scroll-x" tabindex="0" role="region" aria-label=${`Values of ${variable}`}><table class="plain"><thead><tr><th>${variable}</th><th class="right">Tasks</th><th>Status</th></tr></thead>
    <tbody>${values.map(({ value, counts }) => html`<tr key=${value}><td><button class="value" title=${`Only tasks with ${variable}=${value}`} onClick=${() => onValue(variable, value)}>${value}</button></td>
      <td class="right num">${count(Object.values(counts).reduce((a, b) => a + b, 0))}</td><td><${PhaseBar} counts=${counts} /><small>${inWords(counts)}</small></td></tr>`)}</tbody></table></div>
    ${data.total > data.rows.length && html`<p class="dim">The newest ${count(data.rows.length)} of ${count(data.total)} tasks.</p>`}</section>`;
}
