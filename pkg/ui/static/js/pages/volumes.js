// Volumes: list, create, delete.
import { html, useEffect, useState } from "../html.js";
import { get, newKey, send, server } from "../api.js";
import { Age, Dialog, Failure, Icon, Loading, Notice, Status, toast, useData } from "../parts.js";
import { Hint } from "../reasons.js";
import { scope } from "../scope.js";
import { useStore } from "../store.js";
import { useLive } from "./capacity.js";

/** @typedef {import("../types").components["schemas"]["VolumeStatus"]} Volume */

const page = 200;

export function VolumesPage() {
  const { session } = useStore(server), { all: wanted } = useStore(scope);
  const all = wanted && !!(session?.all_users || session?.admin);
  const [limit, setLimit] = useState(page);
  const { data, error, reload } = useData((signal) => get("/volumes", { query: { all_users: all, limit }, signal }).then((r) => ({ volumes: /** @type {Volume[]} */ (r.data.volumes), more: r.headers.has("X-Next-Cursor") })), [all, limit]);
  const [creating, setCreating] = useState(false);
  const [deleting, setDeleting] = useState(/** @type {Volume | null} */ (null));
  useLive(reload);
  useEffect(() => { document.title = "Volumes · k8s-cli"; }, []);
  const create = html`<button class="button primary" onClick=${() => setCreating(true)}><${Icon} name="plus" />New volume</button>`;
  return html`<div class="page"><header class="page-head"><h1>Volumes</h1><p class="dim">${all ? "of all users" : ""}</p><span class="grow"></span>${create}</header>
    ${error && !data && html`<${Failure} error=${error} retry=${reload} />`}${!data && !error && html`<${Loading} />`}
    ${data && data.volumes.length === 0 && html`<${Notice} title="No volumes yet" icon="volumes"><p>A volume keeps files between tasks: data sets, checkpoints, results.</p><p>${create}</p><//>`}
    ${data && data.volumes.length > 0 && html`<section class="card flush"><div class="scroll-x"><table class="plain as-cards"><thead><tr><th>Status</th><th>Name</th>${all && html`<th>User</th>`}<th class="right">Size</th><th>Storage class</th><th>Access</th><th>Claim</th><th>Created</th><th><span class="offscreen">Actions</span></th></tr></thead>
      <tbody>${data.volumes.map((v) => html`<tr key=${v.volume_id}><td><${Status} status=${v.status} /></td>
        <th scope="row"><span class="clip">${v.name}</span>${v.metadata.reason && html`<small class="why-small">${v.metadata.message || v.metadata.reason}${v.metadata.hint ? html`<br /><${Hint} text=${v.metadata.hint} id="" />` : ""}</small>`}</th>
        ${all && html`<td>${v.metadata.user}</td>`}<td class="right num">${v.size}</td><td>${v.storage_class === null ? html`<span class="dim">default</span>` : v.storage_class || html`<span class="dim">none</span>`}</td>
        <td>${v.access_modes.join(", ")}</td><td><code>${v.metadata.pvc_name}</code></td><td><${Age} at=${Date.parse(v.created_at)} suffix=" ago" /></td>
        <td class="right"><button class="button quiet" onClick=${() => setDeleting(v)} aria-label=${"Delete " + v.name}>Delete</button></td></tr>`)}</tbody></table></div></section>
      ${data.more && html`<p><button class="button" onClick=${() => setLimit(limit + page)}>Show more</button></p>`}`}
    ${creating && html`<${Create} onClose=${(/** @type {boolean} */ ok) => { setCreating(false); if (ok) reload(); }} />`}
    ${deleting && html`<${Delete} volume=${deleting} onClose=${(/** @type {boolean} */ ok) => { setDeleting(null); if (ok) reload(); }} />`}</div>`;
}

/** @param {{onClose: (created: boolean) => void}} p */
function Create({ onClose }) {
  const [form, setForm] = useState({ name: "", size: "10Gi", storage_class: "", mode: "ReadWriteOnce" });
  const [error, setError] = useState("");
  const [key] = useState(newKey);
  const field = (/** @type {"name" | "size" | "storage_class" | "mode"} */ name) => ({ id: "v-" + name, value: form[name], onInput: (/** @type {any} */ e) => setForm({ ...form, [name]: e.currentTarget.value }) });
  const submit = async (/** @type {Event} */ e) => {
    e.preventDefault();
    try {
      const { name, size, storage_class, mode } = form;
      const done = await send("/volumes/create", { key: error ? newKey() : key, body: { name, size, storage_class: storage_class || undefined, access_modes: [mode] } });
      toast(`Created the volume ${name}.`, "good", done.warnings);
      onClose(true);
    } catch (err) { setError(/** @type {Error} */ (err).message); }
  };
  return html`<${Dialog} title="New volume" onClose=${() => onClose(false)}><form class="fields" onSubmit=${submit}>
    <label for="v-name">Name</label><input ...${field("name")} required autofocus maxLength="63" spellcheck="false" />
    <label for="v-size">Size</label><input ...${field("size")} required placeholder="10Gi" />
    <label for="v-storage_class">Storage class</label><input ...${field("storage_class")} placeholder="default of the cluster" />
    <label for="v-mode">Access</label><select ...${field("mode")}><option value="ReadWriteOnce">ReadWriteOnce: one machine</option><option value="ReadWriteMany">ReadWriteMany: several machines</option><option value="ReadOnlyMany">ReadOnlyMany: several machines, read only</option></select>
    ${error && html`<p class="field-error" role="alert"><${Icon} name="warning" />${error}</p>`}
    <p class="buttons"><button type="button" class="button" onClick=${() => onClose(false)}>Cancel</button><button class="button primary">Create the volume</button></p></form><//>`;
}

/** @param {{volume: Volume, onClose: (deleted: boolean) => void}} p */
function Delete({ volume, onClose }) {
  const [error, setError] = useState("");
  const [inUse, setInUse] = useState(false);
  const remove = async () => {
    try {
      await send("/volumes/" + encodeURIComponent(volume.volume_id), { method: "DELETE", query: { force: inUse } });
      toast(`Deleted the volume ${volume.name}.`, "good");
      onClose(true);
    } catch (err) {
      setInUse(/** @type {any} */ (err).status === 409);
      setError(/** @type {Error} */ (err).message);
    }
  };
  return html`<${Dialog} title=${`Delete the volume ${volume.name}?`} onClose=${() => onClose(false)}>
    <p>The server deletes the claim <code>${volume.metadata.pvc_name}</code> of ${volume.size}. The files are lost, unless the storage class retains them.</p>
    ${error && html`<p class="field-error" role="alert"><${Icon} name="warning" />${error}</p>`}
    <p class="buttons"><button class="button" autofocus onClick=${() => onClose(false)}>Cancel</button><button class="button danger" onClick=${remove}>${inUse ? "Delete although tasks use it" : "Delete the volume"}</button></p><//>`;
}

