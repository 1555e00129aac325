// The order of the tasks of a group: which task comes after which, from the events of the group.
import { html } from "./html.js";
import { get } from "./api.js";
import { plural } from "./format.js";
import { useData } from "./parts.js";

/** @typedef {import("./events.js").Event} Event */
/** @typedef {{id: string, name: string, status: string, after: string[], layer: number, row: number}} Step */

const mostPages = 20; // of 1000 events
const mostSteps = 200; // a larger group is a sweep, and has no picture
const width = 190, height = 34, gapX = 56, gapY = 12; // pixels

/**
 * The tasks of a group that have an order, in layers: each task is right of the tasks that it comes after.
 * @param {Event[]} events of the tasks, oldest first
 * @returns {Step[]}
 */
export function steps(events) {
  /** @type {Map<string, Step>} */
  const all = new Map();
  for (const e of events) {
    if (e.kind !== "task" || !e.task_id) continue;
    const step = all.get(e.task_id) || { id: e.task_id, name: e.name, status: e.status, after: [], layer: 0, row: 0 };
    step.status = e.status;
    if (e.after) step.after = e.after;
    all.set(e.task_id, step);
  }
  const named = new Set([...all.values()].flatMap((s) => s.after));
  const chosen = [...all.values()].filter((s) => s.after.length || named.has(s.id));
  const byID = new Map(chosen.map((s) => [s.id, s]));
  const rows = /** @type {number[]} */ ([]);
  for (const s of chosen) { // a task is later in the log than those that it comes after
    s.after = s.after.filter((id) => byID.has(id));
    s.layer = Math.max(0, ...s.after.map((id) => /** @type {Step} */ (byID.get(id)).layer + 1));
    s.row = rows[s.layer] = (rows[s.layer] ?? -1) + 1;
  }
  return chosen;
}

/** All events of a group. @param {string} group @param {boolean} all the tasks of all users @param {AbortSignal} [signal] @returns {Promise<Event[]>} */
export async function eventsOf(group, all, signal) {
  /** @type {Event[]} */
  const events = [];
  for (let i = 0, last = "0"; i < mostPages; i++) {
    const { data } = await get("/events", { query: { group, all_users: all, last_event_id: last }, signal });
    if (!data.events.length) break;
    events.push(...data.events);
    last = data.events.at(-1).id;
  }
  return events;
}

/** @param {string} s */
const short = (s) => (s.length > 22 ? s.slice(0, 21) + "…" : s);

/** @param {{group: string, user: string, total: number, counts: Record<string, number>}} p user is the owner, if it is another user; the picture changes with the counts */
export function Order({ group, user, total, counts }) {
  const { data } = useData((signal) => (total > mostSteps ? Promise.resolve([]) : eventsOf(group, !!user, signal).then((events) => steps(user ? events.filter((e) => e.user === user) : events))), [group, user, total > mostSteps || counts]);
  if (!data?.length) return null;
  const layers = Math.max(...data.map((s) => s.layer)) + 1, rows = Math.max(...data.map((s) => s.row)) + 1;
  const x = (/** @type {Step} */ s) => s.layer * (width + gapX) + 1, y = (/** @type {Step} */ s) => s.row * (height + gapY) + 1;
  const byID = new Map(data.map((s) => [s.id, s]));
  const edges = data.flatMap((s) => s.after.map((id) => [/** @type {Step} */ (byID.get(id)), s]));
  return html`<details class="card" open><summary><h2>Order</h2><span class="dim">${plural(data.length, "task")}</span></summary>
    <div class="order" tabindex="0" role="region" aria-label="Order of the tasks"><svg width=${layers * (width + gapX) - gapX + 2} height=${rows * (height + gapY) - gapY + 2} role="group" aria-label="Tasks, from left to right">
      ${edges.map(([a, b]) => { const [x1, y1, x2, y2] = [x(a) + width, y(a) + height / 2, x(b), y(b) + height / 2]; return html`<path key=${a.id + b.id} class="line" d=${`M${x1} ${y1}C${x1 + gapX / 2} ${y1} ${x2 - gapX / 2} ${y2} ${x2} ${y2}`} />`; })}
      ${data.map((s) => html`<a key=${s.id} href=${"/ui/tasks/" + s.id} aria-label=${`${s.name}, ${s.status}${s.after.length ? `, after ${s.after.map((id) => byID.get(id)?.name).join(", ")}` : ""}`}><title>${s.name}: ${s.status}</title>
        <rect x=${x(s)} y=${y(s)} width=${width} height=${height} rx="7" /><circle class=${s.status} cx=${x(s) + 17} cy=${y(s) + height / 2} r="5" /><text x=${x(s) + 30} y=${y(s) + height / 2 + 4}>${short(s.name)}</text></a>`)}
    </svg></div></details>`;
}
