// A new task: the verdict of the server while one types, the objects, a grid, and the submission.
import { html, useEffect, useRef, useState } from "../html.js";
import { submitFile } from "../actions.js";
import { get, newKey, send, taskPath } from "../api.js";
import { count, plural } from "../format.js";
import { combinations, numberOf, parseGrid, withEnvs } from "../grid.js";
import { groupName, groupPage } from "../groups.js";
import { Failure, Icon, Loading, toast } from "../parts.js";
import { go } from "../router.js";
import { toYAML } from "../yaml.js";

const pause = 350; // after the last key, before the file is checked
const maxBytes = 128 * 1024;
const maxGrid = 1000;

const example = `name: hello
resources:
  cpus: 1
  memory: 1
envs:
  GREETING: hello
run: |
  echo "$GREETING from $(hostname)"
`;

/** @typedef {{field: string, line: number, verdict: string, text: string}} Finding */

/** @param {string} detail one or more sentences of the server @returns {Finding[]} */
function findingsOf(detail) {
  return detail.split("\n").map((s) => s.trim()).filter(Boolean).map((text) => {
    const field = /^([A-Za-z_][\w.[\]-]*): /.exec(text);
    const line = /\(?(?:in |at )?line (\d+)\)?/.exec(text);
    return { field: field?.[1] || "", line: Number(line?.[1] || 0), verdict: "error", text: field ? text.slice(field[0].length) : text };
  });
}

/** @param {{body: any, warnings?: string[]}} p @returns {Finding[]} */
function fromBody({ body, warnings }) {
  /** @type {Finding[]} */
  const found = (body?.findings || []).map((/** @type {any} */ f) => ({ field: [f.task && `task ${f.task}`, f.field].filter(Boolean).join(", "), line: f.line || 0, verdict: f.verdict, text: f.text }));
  if (!found.length && body?.detail) return findingsOf(body.detail);
  // Warnings about the cluster are not about a field of the file.
  const more = (warnings || []).filter((w) => !found.some((f) => w.includes(f.text)));
  const all = [...found, ...more.map((text) => ({ ...findingsOf(text)[0], verdict: "warning" }))];
  const weight = (/** @type {Finding} */ f) => ["error", "warning"].indexOf(f.verdict) >>> 0; // others last
  return all.sort((a, b) => weight(a) - weight(b));
}

/** @typedef {{ok: boolean, tasks: number, findings: Finding[], objects: any[], problem?: string}} Check */

/** Asks the server about a task file. @param {string} text @param {AbortSignal} signal @returns {Promise<Check>} */
async function checkFile(text, signal) {
  try {
    const body = await send("/tasks/preview", { body: text, type: "application/yaml", signal });
    return { ok: true, tasks: body.tasks || 1, findings: fromBody({ body: body.findings ? body : null, warnings: body.warnings }), objects: body.objects };
  } catch (err) {
    const e = /** @type {any} */ (err);
    const refused = e.status >= 400 && e.status < 500 && e.status !== 429;
    return { ok: false, tasks: 1, findings: refused ? fromBody({ body: e.body || { detail: e.message } }) : [], objects: [], problem: refused ? undefined : e.message };
  }
}

/** Checks the file after each pause of typing. @param {string} text */
function useVerdict(text) {
  const [verdict, setVerdict] = useState(/** @type {Check & {text: string} | null} */ (null));
  useEffect(() => {
    if (!text.trim()) { setVerdict(null); return; }
    const abort = new AbortController();
    const timer = setTimeout(async () => {
      const found = await checkFile(text, abort.signal);
      if (!abort.signal.aborted) setVerdict({ text, ...found });
    }, pause);
    return () => { clearTimeout(timer); abort.abort(); };
  }, [text]);
  return verdict;
}

/** Indents or outdents the selected lines. @param {HTMLTextAreaElement} area @param {boolean} out */
function indent(area, out) {
  const { value, selectionStart: a, selectionEnd: b } = area;
  const from = value.lastIndexOf("\n", a - 1) + 1, text = value.slice(from, b);
  const next = out ? text.replace(/^ {1,2}/gm, "") : text.replace(/^(?=.)/gm, "  ");
  area.setRangeText(next, from, b, "preserve");
  area.setSelectionRange(Math.max(from, a + (out ? Math.min(0, next.split("\n")[0].length - text.split("\n")[0].length) : 2)), b + next.length - text.length);
}

/** @param {HTMLTextAreaElement} area the new line begins like the line before, deeper after a colon */
function newLine(area) {
  const { value, selectionStart: a } = area;
  const line = value.slice(value.lastIndexOf("\n", a - 1) + 1, a);
  const deeper = /:\s*[|>]?[-+]?\s*$/.test(line) ? "  " : "";
  area.setRangeText("\n" + (/^ */.exec(line)?.[0] || "") + deeper, a, area.selectionEnd, "end");
}

/** @param {{value: string, onChange: (v: string) => void, findings: Finding[], onSubmit: () => void}} p */
function Editor({ value, onChange, findings, onSubmit }) {
  const area = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
  const gutter = useRef(/** @type {HTMLElement | null} */ (null));
  const marks = new Map(findings.filter((f) => f.line).map((f) => [f.line, f.verdict]));
  const lines = Math.min(2000, value.split("\n").length);
  const key = (/** @type {KeyboardEvent} */ e) => {
    const el = area.current;
    if (!el || e.altKey || e.isComposing) return;
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) { e.preventDefault(); onSubmit(); return; }
    if (e.ctrlKey || e.metaKey) return;
    if (e.key === "Enter" && !e.shiftKey) newLine(el);
    else if (e.key === "Tab" && !el.dataset.leave && (e.shiftKey || el.selectionStart !== el.selectionEnd)) indent(el, e.shiftKey);
    else if (e.key === "Tab" && !el.dataset.leave) el.setRangeText("  ", el.selectionStart, el.selectionEnd, "end");
    else return;
    e.preventDefault();
    onChange(el.value);
  };
  useEffect(() => { if (!window.matchMedia("(max-width: 720px)").matches) area.current?.focus(); }, []);
  const escape = (/** @type {KeyboardEvent} */ e) => { if (area.current) e.key === "Escape" ? (area.current.dataset.leave = "yes") : e.key !== "Tab" && delete area.current.dataset.leave; };
  return html`<div class="editor"><div class="gutter" aria-hidden="true" ref=${gutter}>${Array.from({ length: lines }, (_, i) => html`<span key=${i} class=${marks.get(i + 1) || ""}>${i + 1}</span>`)}</div>
    <textarea ref=${area} aria-label="Task file" aria-describedby="editor-help" spellcheck="false" autocapitalize="off" autocomplete="off" wrap="off" value=${value}
      onInput=${(/** @type {any} */ e) => onChange(e.currentTarget.value)} onKeyDown=${(/** @type {KeyboardEvent} */ e) => { escape(e); key(e); }} onScroll=${() => { if (gutter.current && area.current) gutter.current.scrollTop = area.current.scrollTop; }}></textarea></div>`;
}

/** @param {{findings: Finding[], verdict: any, pending: boolean}} p */
function Verdict({ verdict, pending }) {
  if (!verdict) return html`<p class="dim">${pending ? "The server checks the file." : "Paste a task file, or drop one here. The server checks the file while you type, and submits nothing."}</p>`;
  const errors = verdict.findings.filter((/** @type {Finding} */ f) => f.verdict === "error");
  const word = verdict.problem ? "The file was not checked" : verdict.ok ? verdict.tasks > 1 ? "The server accepts these tasks" : "The server accepts this task" : errors.length > 1 ? `${errors.length} errors` : "The server rejects this task";
  return html`<div class=${pending ? "old" : ""}><p class=${"verdict " + (verdict.problem ? "" : verdict.ok ? "good" : "bad")} role="status"><${Icon} name=${verdict.ok ? "completed" : verdict.problem ? "warning" : "failed"} />${word}</p>
    ${verdict.problem && html`<p class="dim">${verdict.problem}</p>`}
    <ul class="findings">${verdict.findings.map((/** @type {Finding} */ f, /** @type {number} */ i) => html`<li key=${i} class=${f.verdict}><span class="finding-head"><${Icon} name=${f.verdict === "error" ? "failed" : f.verdict === "warning" ? "warning" : "completed"} />${f.field && html`<code>${f.field}</code>`}<small>${f.verdict}${f.line ? `, line ${f.line}` : ""}</small></span><span>${f.text}</span></li>`)}</ul></div>`;
}

/** @typedef {{name: string, parallel: string, failFast: boolean}} GroupForm */

/** @param {GroupForm} form @returns {string} what is wrong */
function groupProblem({ name, parallel }) {
  if (name && !groupName.test(name)) return "The name of a group has letters, digits, - _ and . and begins and ends with a letter or a digit.";
  return parallel && !/^[1-9]\d{0,5}$/.test(parallel) ? "The number of tasks at once is a whole number from 1 on, or empty." : "";
}

/** @param {string} yaml @returns {string} a new name for the group of a grid */
function newGroupName(yaml) {
  const name = /^name:\s*["']?([A-Za-z0-9][-A-Za-z0-9_.]*)/m.exec(yaml)?.[1].slice(0, 40).replace(/[-_.]+$/, "") || "grid";
  return name + "-" + Array.from(crypto.getRandomValues(new Uint8Array(5)), (b) => (b % 36).toString(36)).join("");
}

/** @param {{form: GroupForm, setForm: (f: GroupForm) => void, problem: string}} p */
function GroupFields({ form, setForm, problem }) {
  const set = (/** @type {Partial<GroupForm>} */ part) => setForm({ ...form, ...part });
  return html`<div class="group-fields"><div><label for="grid-group">Group</label><input id="grid-group" placeholder="a new name" maxLength="63" spellcheck="false" autocomplete="off" value=${form.name} aria-describedby=${problem ? "group-problem" : undefined} onInput=${(/** @type {any} */ e) => set({ name: e.currentTarget.value.trim() })} /></div>
    <div><label for="grid-parallel">Tasks at once</label><input id="grid-parallel" placeholder="no limit" inputMode="numeric" autocomplete="off" value=${form.parallel} aria-describedby=${problem ? "group-problem" : undefined} onInput=${(/** @type {any} */ e) => set({ parallel: e.currentTarget.value.trim() })} /></div>
    <label class="check-label"><input type="checkbox" checked=${form.failFast} onChange=${(/** @type {any} */ e) => set({ failFast: e.currentTarget.checked })} />Stop the group when a task fails</label></div>
    ${problem && html`<p class="field-error" id="group-problem" role="alert"><${Icon} name="warning" />${problem}</p>`}`;
}

/** @param {{grid: string, setGrid: (v: string) => void, parsed: ReturnType<typeof parseGrid>, total: number, form: GroupForm, setForm: (f: GroupForm) => void}} p */
function Grid({ grid, setGrid, parsed, total, form, setForm }) {
  return html`<details class="card" open=${!!grid}><summary><h2>Grid</h2><span class="dim">one task for each combination of values</span></summary>
    <label for="grid">Variables, one on a line: <code>NAME=value, value</code></label>
    <textarea id="grid" class="small-area" rows="3" spellcheck="false" placeholder=${"LR=0.1, 0.01\nSEED=1, 2, 3"} value=${grid} onInput=${(/** @type {any} */ e) => setGrid(e.currentTarget.value)}></textarea>
    ${parsed.error ? html`<p class="field-error" role="alert"><${Icon} name="warning" />${parsed.error}</p>` : total > 0 && html`<p>${plural(total, "task")}${total > maxGrid ? html`<span class="warn-text">: more than ${count(maxGrid)}. Use the CLI for larger grids.</span>` : ". Each one gets its values in envs."}</p>`}
    <${GroupFields} form=${form} setForm=${setForm} problem=${groupProblem(form)} /></details>`;
}

/** @typedef {{text: string, grid: string, form: GroupForm}} Draft what the user typed, kept until the tab is closed */

/** @param {string} from @returns {Draft | null} */
function readDraft(from) { try { return JSON.parse(sessionStorage.getItem("draft-" + from) || "null"); } catch { return null; } }

/** @param {string} from @param {Draft | null} draft */
function writeDraft(from, draft) {
  try {
    if (draft?.text || draft?.grid) sessionStorage.setItem("draft-" + from, JSON.stringify(draft));
    else sessionStorage.removeItem("draft-" + from);
  } catch { /* not kept */ }
}

export function NewPage() {
  const from = new URLSearchParams(location.search).get("from") || "";
  const [draft] = useState(() => readDraft(from));
  const [text, setText] = useState(draft?.text || "");
  const [grid, setGrid] = useState(draft?.grid || "");
  const [loading, setLoading] = useState(!!from && !draft);
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const [busy, setBusy] = useState("");
  const [dragged, setDragged] = useState(false);
  const verdict = useVerdict(text);
  const [form, setForm] = useState(/** @type {GroupForm} */ (draft?.form || { name: "", parallel: "", failFast: false }));
  const keys = useRef({ text: "", key: "", group: "" });
  useEffect(() => { document.title = "New task · k8s-cli"; }, []);
  useEffect(() => {
    if (!from || draft) return;
    get(taskPath(from, "/spec")).then(({ data }) => { setText(toYAML(data)); setLoading(false); }, (e) => { setError(e); setLoading(false); });
  }, [from]);
  const parsed = parseGrid(grid), number = parsed.error ? 0 : numberOf(parsed.variables);
  const all = number > maxGrid ? [] : combinations(parsed.variables);
  const tasks = verdict?.text === text ? verdict.tasks : 1;
  if (tasks > 1 && all.length) parsed.error = "A grid takes a file of one task.";
  if (!parsed.error && all.length) try { withEnvs(text, all[0]); } catch (err) { parsed.error = /** @type {Error} */ (err).message; }
  useEffect(() => { if (!loading) writeDraft(from, { text, grid, form }); }, [text, grid, form, loading]);
  const tooLarge = new Blob([text]).size > maxBytes;

  const read = async (/** @type {File | undefined} */ file) => {
    if (!file) return;
    if (file.size > maxBytes) { toast(`The file ${file.name} is larger than 128 KiB.`, "bad"); return; }
    setText(await file.text());
  };
  const drop = (/** @type {DragEvent} */ e) => { e.preventDefault(); setDragged(false); read(e.dataTransfer?.files[0]); };
  const submit = async () => {
    // The same text gets the same key, so that a second click submits nothing twice.
    const same = JSON.stringify([text, grid, form]);
    if (keys.current.text !== same) keys.current = { text: same, key: newKey(), group: form.name || newGroupName(text) };
    setBusy("Submits the task");
    try {
      if (tasks > 1) {
        const { key, group } = keys.current;
        const done = await send("/tasks/batch", { body: text, type: "application/yaml", key, query: { group } });
        toast(`Submitted ${plural(done.submitted, "task")}.`, "good", done.results.flatMap((/** @type {any} */ r) => r.warnings || []));
        keys.current.text = "";
        writeDraft(from, null);
        go(groupPage(group));
        return;
      }
      if (!all.length) {
        const done = await submitFile(text, keys.current.key);
        toast(`Submitted the task ${done.task_id}.`, "good", done.warnings);
        keys.current.text = "";
        writeDraft(from, null);
        go("/ui/tasks/" + done.task_id);
        return;
      }
      const query = { group: keys.current.group, max_parallel: form.parallel, fail_fast: form.failFast };
      for (let i = 0; i < all.length; i++) {
        setBusy(`Submitted ${i} of ${all.length} tasks`);
        await submitFile(withEnvs(text, { ...all[i], SKYPILOT_JOB_RANK: String(i), SKYPILOT_NUM_JOBS: String(all.length) }), `${keys.current.key}/${i + 1}`, query);
      }
      toast(`Submitted ${plural(all.length, "task")}.`, "good");
      keys.current.text = "";
      writeDraft(from, null);
      go(groupPage(query.group));
    } catch (err) { toast(`${busy || "The submission"}: ${/** @type {Error} */ (err).message}`, "bad"); }
    setBusy("");
  };
  const ready = verdict?.ok && verdict.text === text && !parsed.error && !(all.length && groupProblem(form)) && number <= maxGrid && !tooLarge && !busy;
  const redacted = from && /redacted|\*\*\*/i.test(text) && /^secrets:/m.test(text);
  if (loading) return html`<div class="page"><${Loading} /></div>`;
  return html`<div class=${"page new-page" + (dragged ? " dragged" : "")} onDragOver=${(/** @type {Event} */ e) => { e.preventDefault(); setDragged(true); }} onDragLeave=${() => setDragged(false)} onDrop=${drop}>
    <header class="page-head"><h1>${from ? "Run again" : "New task"}</h1>${from && html`<p class="dim">the task file of <a href=${"/ui/tasks/" + from}><code>${from}</code></a></p>`}<span class="grow"></span>
      ${!text ? html`<button class="button" onClick=${() => setText(example)}>Example</button>` : html`<button class="button quiet" onClick=${() => { setText(""); setGrid(""); }}>Clear</button>`}
      <label class="button file-button"><${Icon} name="up" />Open a file<input type="file" class="offscreen" accept=".yaml,.yml,text/yaml" onChange=${(/** @type {any} */ e) => read(e.currentTarget.files[0])} /></label></header>
    ${error && html`<${Failure} error=${error} />`}
    ${redacted && html`<p class="note"><${Icon} name="warning" />The server does not return the values of secrets. Enter the values again.</p>`}
    <div class="new-columns"><div><${Editor} value=${text} onChange=${setText} findings=${verdict?.findings || []} onSubmit=${() => { if (ready) submit(); }} /><p class="dim small" id="editor-help">Tab and Shift+Tab indent. Ctrl+Enter submits. Esc, then Tab leaves the field.${tooLarge ? html` <span class="warn-text">The file is larger than 128 KiB.</span>` : ""}</p>
        <${Grid} grid=${grid} setGrid=${setGrid} parsed=${parsed} total=${number} form=${form} setForm=${setForm} />
        <p class="buttons left"><button class="button primary big" disabled=${!ready} onClick=${submit}>${busy || (tasks > 1 ? `Submit ${plural(tasks, "task")}` : all.length ? `Submit ${plural(all.length, "task")}` : "Submit the task")}</button></p></div>
      <div><section class="card verdict-card" aria-label="Verdict"><${Verdict} verdict=${verdict} pending=${!!text.trim() && verdict?.text !== text} /></section>
        ${verdict?.ok && verdict.objects.length > 0 && html`<details class="card"><summary><h2>Kubernetes objects</h2><span class="dim">${verdict.objects.map((/** @type {any} */ o) => o.kind).join(", ")}</span></summary><pre class="code" tabindex="0">${verdict.objects.map(toYAML).join("---\n")}</pre></details>`}</div></div></div>`;
}
