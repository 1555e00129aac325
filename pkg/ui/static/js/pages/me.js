// The user: limits, usage, sessions.
import { html, useEffect } from "../html.js";
import { get, server } from "../api.js";
import { bytes, count, local, number } from "../format.js";
import { Bar, Copy, Failure, Icon, Loading, toast, useData } from "../parts.js";
import { logout } from "../session.js";
import { useStore } from "../store.js";
import { setTheme, theme } from "../theme.js";
import { Usage } from "../usage.js";

/** @type {[string, string, string, (n: number) => string][]} */
const limits = [
  ["active_tasks", "active_tasks", "Active tasks", count],
  ["waiting_tasks", "waiting_tasks", "Tasks in the queue", count],
  ["log_streams", "log_streams", "Open logs", count],
  ["upload_bytes", "upload_bytes", "Uploaded files", bytes],
];

export function MePage() {
  const { session } = useStore(server), colours = useStore(theme);
  const { data, error, reload } = useData((signal) => get("/whoami", { signal }).then((r) => r.data), []);
  useEffect(() => { document.title = "Me · k8s-cli"; const t = setInterval(reload, 5000); return () => clearInterval(t); }, []);
  const end = async (/** @type {boolean} */ all) => { try { await logout(all); } catch (err) { toast(/** @type {Error} */ (err).message, "bad"); } };
  const cli = `k8s-cli auth login${session?.login.identified_by === "header" ? ` ${session?.user}` : ""} --api-url ${location.origin}`;
  return html`<div class="page reading"><header class="page-head"><h1>${session?.user}</h1></header>
    ${error && !data && html`<${Failure} error=${error} retry=${reload} />`}${!data && !error && html`<${Loading} />`}
    ${data && html`<section class="card"><h2>Limits</h2><dl class="meters">${limits.map(([key, usage, label, form]) => {
      const used = data.usage[usage] || 0, limit = data.limits[key];
      return html`<dt>${label}</dt><dd>${limit !== undefined ? html`<${Bar} used=${used} of=${limit} label=${`${form(used)} of ${form(limit)}`} />` : html`<span></span>`}<span class="num">${form(used)}${limit !== undefined ? ` of ${form(limit)}` : ", no limit"}</span></dd>`;
    })}
      ${data.limits.submits_per_second !== undefined && html`<dt>Submissions</dt><dd><span></span><span class="num">${number(data.limits.submits_per_second)} per second, at once ${count(data.limits.submit_burst || 1)}</span></dd>`}
      ${data.limits.nodes_per_task !== undefined && html`<dt>Nodes of one task</dt><dd><span></span><span class="num">at most ${count(data.limits.nodes_per_task)}</span></dd>`}</dl></section>
    <${Usage} />
    <section class="card"><h2>Account</h2><dl class="facts"><dt>User</dt><dd>${data.user}</dd><dt>Groups</dt><dd>${data.groups.join(", ") || "none"}</dd>
      <dt>Role</dt><dd>${data.admin ? "administrator: sees and stops the tasks of all users" : "user"}</dd><dt>Authentication</dt><dd>${methods[data.identified_by]}</dd></dl></section>`}
    <section class="card"><h2>Session</h2>
      ${session?.by === "session" ? html`<p>${session.expires_at ? html`The session in this browser ends on <time class="num" dateTime=${session.expires_at}>${local(session.expires_at)}</time>.` : "You have a session in this browser."}</p>
        <p class="buttons left"><button class="button" onClick=${() => end(false)}>Log out</button><button class="button" onClick=${() => end(true)}>End all my sessions</button></p>`
      : html`<p>A proxy in front of the server logs you in. The server has no session to end.</p>`}</section>
    <section class="card"><h2>Command line</h2><p>Log in on a terminal:</p><pre class="terminal">${cli}</pre><p><${Copy} text=${cli} label="Copy the command" /></p></section>
    <section class="card"><h2>Colours</h2><div class="segments" role="group" aria-label="Colours">${[["auto", "As the system"], ["light", "Light"], ["dark", "Dark"]].map(([id, label]) => html`<button key=${id} aria-pressed=${colours === id ? "true" : "false"} onClick=${() => setTheme(id)}><${Icon} name=${id} />${label}</button>`)}</div></section>
  </div>`;
}

/** @type {Record<string, string>} */
const methods = { header: "by name, without a password", token: "by a token of this server", tokenreview: "by a token of Kubernetes", oidc: "by OpenID Connect" };
