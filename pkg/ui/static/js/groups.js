// Groups of tasks: their state, and how several pages show it.
import { html, useEffect } from "./html.js";
import { get, server } from "./api.js";
import { age, count, local, percent, plural, utc } from "./format.js";
import { onEvents } from "./live.js";
import { Age, useData } from "./parts.js";
import { clock, throttle, useStore } from "./store.js";

/** @typedef {import("./types").components["schemas"]["Group"]} Group */

const order = ["completed", "failed", "stopped", "running", "pending"];

/** The form of a name that the server accepts. */
export const groupName = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;

/** The address of the page of a group. @param {string} name @param {string} [user] the owner of the group */
export function groupPage(name, user) {
  const other = user && user !== server.get().session?.user;
  return "/ui/groups/" + encodeURIComponent(name) + (other ? "?user=" + encodeURIComponent(user) : "");
}

/** @param {Record<string, number>} counts tasks by status @returns {string} for example 40 completed, 1 failed */
export const inWords = (counts) => order.filter((s) => counts[s]).map((s) => `${count(counts[s])} ${s}`).join(", ");

/** @param {Group} g @returns {string} for example 41 tasks: 40 completed, 1 failed */
export const allInWords = (g) => (Object.values(g.by_status).includes(g.total) ? "" : plural(g.total, "task") + ": ") + inWords(g.by_status);

/** @param {Group} g @returns {string} the part of the tasks that are over */
export const share = (g) => `${Math.floor(percent(g.progress, 1))} %`;

/** The tasks of a group by status; the label repeats the bar in words. @param {{counts: Record<string, number>}} p */
export function PhaseBar({ counts }) {
  const text = inWords(counts);
  return html`<span class="bar by-phase" role="img" aria-label=${text} title=${text}>${order.filter((s) => counts[s]).map((s) => html`<i key=${s} class=${s} style=${{ flexGrow: counts[s] }}></i>`)}</span>`;
}

/** When a group ended, or will have ended. @param {{group: Group}} p */
export function End({ group }) {
  const now = useStore(clock);
  if (group.ended_at) return html`<span>ended <${Age} at=${Date.parse(group.ended_at)} suffix=" ago" /></span>`;
  if (!group.estimated_at) return html`<span class="none">–</span>`;
  const at = Date.parse(group.estimated_at), left = at - now;
  return html`<time dateTime=${group.estimated_at} title=${`Estimate: ${local(at)}\n${utc(at)}`}>${left > 0 ? `ends in about ${age(left)}` : "takes longer than estimated"}</time>`;
}

/** Reads the group, and again after each event of its tasks. @param {string} name @param {string} user the owner, if it is another user */
export function useGroup(name, user) {
  const result = useData((signal) => get("/groups/" + encodeURIComponent(name), { query: { user }, signal }).then((r) => /** @type {Group} */ (r.data)), [name, user]);
  const { data, reload } = result;
  useEffect(() => {
    const soon = throttle(reload, 1000);
    const end = onEvents({ onEvents: (events) => { if (events.some((e) => e.group === name)) soon(); }, onReset: soon });
    const timer = setInterval(() => { if (!document.hidden && !data?.ended_at) soon(); }, 5000);
    return () => { end(); soon.cancel(); clearInterval(timer); };
  }, [name, user, !!data?.ended_at]);
  return result;
}
