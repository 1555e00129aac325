// The groups of tasks, newest first.
import { html, useEffect, useState } from "../html.js";
import { get, server } from "../api.js";
import { plural } from "../format.js";
import { End, PhaseBar, allInWords, groupName, groupPage, share } from "../groups.js";
import { Age, Failure, Icon, Loading, Notice, Status, useData } from "../parts.js";
import { sentence } from "../reasons.js";
import { place, setParams } from "../router.js";
import { scope, showAll } from "../scope.js";
import { useStore } from "../store.js";
import { useLive } from "./capacity.js";

/** @typedef {import("../groups.js").Group} Group */

const page = 100;
const phases = ["pending", "running", "completed", "failed", "stopped"];

/**
 * Reads the newest groups. The server finds groups by their whole names, so a text selects among
 * the groups that were read, and the group of exactly this name is read too.
 * @param {{all: boolean, status: string, text: string, limit: number}} o @param {AbortSignal} signal
 */
async function load({ all, status, text, limit }, signal) {
  const query = { all_users: all, status };
  const [{ data, headers }, exact] = await Promise.all([
    get("/groups", { query: { ...query, limit }, signal }),
    groupName.test(text) ? get("/groups", { query: { ...query, name: text }, signal }) : null,
  ]);
  /** @type {Group[]} */
  const groups = data.groups.filter((/** @type {Group} */ g) => g.group.includes(text));
  for (const g of exact?.data.groups || []) if (!groups.some((h) => h.group === g.group && h.user === g.user)) groups.push(g);
  return { groups, read: data.groups.length, more: headers.has("X-Next-Cursor") };
}

export function GroupsPage() {
  const { session } = useStore(server), { all: wanted } = useStore(scope), { search } = useStore(place);
  const mayAll = !!(session?.all_users || session?.admin), all = wanted && mayAll;
  const p = new URLSearchParams(search), status = p.get("status") || "", text = p.get("q") || "";
  const [limit, setLimit] = useState(page);
  const { data, error, reload } = useData((signal) => load({ all, status, text, limit }, signal), [all, status, text, limit]);
  useLive(reload);
  useEffect(() => { document.title = "Groups · k8s-cli"; }, []);
  const tab = (/** @type {string} */ id) => html`<button key=${id} class=${"tab " + id} aria-pressed=${status === id ? "true" : "false"} onClick=${() => setParams({ status: id })}>${id && html`<${Icon} name=${id} />`}<span>${id ? id[0].toUpperCase() + id.slice(1) : "All"}</span></button>`;
  return html`<div class="page"><header class="page-head"><h1>Groups</h1>
      ${mayAll && html`<div class="segments" role="group" aria-label="Whose groups"><button aria-pressed=${all ? "false" : "true"} onClick=${() => showAll(false)}>Mine</button><button aria-pressed=${all ? "true" : "false"} onClick=${() => showAll(true)}>All users</button></div>`}
      <div class="search"><${Icon} name="search" /><input type="search" aria-label="Search groups" placeholder="Name of a group" value=${text} spellcheck="false" autocomplete="off" maxLength="63" onInput=${(/** @type {any} */ e) => setParams({ q: e.currentTarget.value.trim() })} /></div></header>
    <div class="tabs" role="group" aria-label="Status">${["", ...phases].map(tab)}</div>
    ${error && !data && html`<${Failure} error=${error} retry=${reload} />`}${!data && !error && html`<${Loading} />`}
    ${error && data && html`<p class="field-error" role="alert"><${Icon} name="warning" />${error.message} The page shows the last data.</p>`}
    ${data && data.groups.length === 0 && html`<${Empty} searching=${!!(text || status)} />`}
    ${data && data.groups.length > 0 && html`<${Table} groups=${data.groups} all=${all} />`}
    ${data?.more && html`<p class="note">${text ? `Searched the ${plural(data.read, "newest group", "newest groups")}, and the whole names of the others. ` : ""}<button class="button" onClick=${() => setLimit(limit + page)}>${text ? "Search more" : "Show more"}</button></p>`}</div>`;
}

/** @param {{groups: Group[], all: boolean}} p */
function Table({ groups, all }) {
  return html`<section class="card flush"><div class="scroll-x"><table class="plain as-cards groups"><thead><tr><th>Status</th><th>Group</th>${all && html`<th>User</th>`}<th>Tasks</th><th class="right">Ended</th><th>First failure</th><th class="started">Started</th><th>End</th></tr></thead>
    <tbody>${groups.map((g) => html`<tr key=${g.user + "/" + g.group}><td><${Status} status=${g.status} /></td><th scope="row"><a class="wrap-any" href=${groupPage(g.group, g.user)}>${g.group}</a></th>${all && html`<td>${g.user}</td>`}
      <td class="group-tasks"><${PhaseBar} counts=${g.by_status} /><small>${allInWords(g)}</small></td><td class="right num">${share(g)}<span class="narrow-only"> ended</span></td>
      <td class="group-failure">${g.first_failure ? html`<${FirstFailure} failure=${g.first_failure} />` : html`<span class="none">–</span>`}</td>
      <td class="started">${g.started_at ? html`<${Age} at=${Date.parse(g.started_at)} suffix=" ago" />` : html`<span class="none">–</span>`}</td><td><${End} group=${g} /></td></tr>`)}</tbody></table></div></section>`;
}

/** @param {{failure: NonNullable<Group["first_failure"]>}} p */
function FirstFailure({ failure: f }) {
  return html`<a class="wrap-any" href=${"/ui/tasks/" + f.task_id}>${f.name}</a> <small>${f.message || sentence(f.reason || "")}${f.reason ? html` <code>${f.reason}</code>` : ""}</small>`;
}

/** @param {{searching: boolean}} p */
function Empty({ searching }) {
  if (searching) return html`<${Notice} title="No group matches" icon="search"><p>No group has this name and status.</p><p><a class="button" href="/ui/groups">Show all groups</a></p><//>`;
  return html`<${Notice} title="No groups yet" icon="groups"><p>A group is all tasks that were submitted with the same name of a group, for example a sweep. Submit a grid here, or from a terminal:</p>
    <pre class="terminal">k8s-cli jobs submit task.yaml --grid LR=0.1,0.01</pre><p><a class="button primary" href="/ui/new"><${Icon} name="plus" />New task</a></p><//>`;
}
