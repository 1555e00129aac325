// The list of tasks.
import { html, useCallback, useEffect, useMemo, useRef, useState } from "../html.js";
import { StopAllDialog, StopDialog, isActive, stopFilter } from "../actions.js";
import { get, server } from "../api.js";
import { ByVariable } from "../byvariable.js";
import { AgainDialog } from "../rerun.js";
import { count, plural } from "../format.js";
import { groupPage } from "../groups.js";
import { useKeys } from "../keys.js";
import { onEvents } from "../live.js";
import { Age, Elapsed, Failure, Icon, Loading, Notice, Status, announce, toast } from "../parts.js";
import { parse } from "../query.js";
import { sentence } from "../reasons.js";
import { go, place, setParams } from "../router.js";
import { scope, showAll } from "../scope.js";
import { throttle, useStore } from "../store.js";
import { TaskList, pointOf } from "../tasklist.js";
import { VirtualRows, scrollTo } from "../virtual.js";

/** @typedef {import("../tasklist.js").Row} Row */

const mostAgain = 1000; // tasks that run again at once

/** Whether the user may open a task. @param {Row} r */
function mayOpen(r) {
  const { session } = server.get();
  return !!session?.admin || r.user === session?.user;
}

const phases = ["pending", "running", "completed", "failed", "stopped"];

/** @typedef {{id: string, label: string, width: string, sort?: string, cell: (row: Row) => any, always?: boolean, hidden?: boolean}} Column */
/** @type {Column[]} */
const columns = [
  { id: "status", label: "Status", width: "7.25rem", sort: "status", always: true, cell: (r) => html`<${Status} status=${r.status} />` },
  { id: "name", label: "Name", width: "minmax(9rem, 1.6fr)", sort: "name", always: true, cell: (r) => (mayOpen(r) ? html`<a class="task-name clip" href=${"/ui/tasks/" + r.id} tabindex="-1" title=${r.name}>${r.name}</a>` : html`<span class="task-name clip" title="Only the user and administrators open this task">${r.name}</span>`) },
  { id: "id", label: "ID", width: "6.2rem", cell: (r) => html`<code class="id">${r.id}</code>` },
  { id: "group", label: "Group", width: "minmax(5rem, .7fr)", cell: (r) => r.group && !mayOpen(r) ? html`<span class="clip" title=${r.group}>${r.group}</span>` : r.group && html`<a class="clip" href=${groupPage(r.group, r.user)} tabindex="-1" title=${r.group}>${r.group}</a>` },
  { id: "user", label: "User", width: "minmax(6rem, .8fr)", cell: (r) => html`<span class="clip" title=${r.user}>${r.user}</span>` },
  { id: "age", label: "Submitted", width: "6rem", sort: "created", cell: (r) => html`<${Age} at=${r.created * 1000} suffix=" ago" />` },
  { id: "duration", label: "Duration", width: "6rem", cell: (r) => (r.started ? html`<${Elapsed} from=${r.started * 1000} to=${r.ended ? r.ended * 1000 : undefined} />` : html`<span class="none">–</span>`) },
  { id: "started", label: "Started", width: "6rem", sort: "started", hidden: true, cell: (r) => (r.started ? html`<${Age} at=${r.started * 1000} suffix=" ago" />` : html`<span class="none">–</span>`) },
  { id: "ended", label: "Ended", width: "6rem", sort: "ended", hidden: true, cell: (r) => (r.ended ? html`<${Age} at=${r.ended * 1000} suffix=" ago" />` : html`<span class="none">–</span>`) },
  { id: "resources", label: "Nodes, GPUs", width: "7.5rem", cell: (r) => html`<span class="num">${r.nodes > 1 || !r.gpus ? plural(r.nodes, "node") : ""}${r.nodes > 1 && r.gpus ? " × " : ""}${r.gpus || ""}</span>` },
  { id: "point", label: "Variables", width: "minmax(7rem, 1.2fr)", cell: (r) => html`<span class="clip" title=${r.point}>${r.point}</span>` },
  { id: "restarts", label: "Restarts", width: "5rem", hidden: true, cell: (r) => html`<span class="num">${r.restarts || html`<span class="none">–</span>`}</span>` },
  { id: "why", label: "Reason", width: "minmax(10rem, 2.4fr)", cell: (r) => html`<${Why} row=${r} />` },
];

/** A column for a variable of a sweep. A value is a link to the tasks with this value. @param {string} name @returns {Column} */
const variableColumn = (name) => ({
  id: "point:" + name, label: name, width: "minmax(4rem, .6fr)", sort: "point:" + name, cell: (r) => {
    const value = pointOf(r).find(([n]) => n === name)?.[1];
    return value === undefined ? html`<span class="none">–</span>` : html`<button class="value clip" tabindex="-1" title=${`Only tasks with ${name}=${value}`} onClick=${() => addWord(`point:${name}=${value}`)}>${value}</button>`;
  },
});

/** Adds a word to the search. @param {string} word */
function addWord(word) {
  const q = new URLSearchParams(location.search).get("q") || "";
  if (!q.split(" ").includes(word)) setParams({ q: `${q} ${word}`.trim() });
}

/** @param {{row: Row}} p */
function Why({ row }) {
  if (!row.reason) return row.restarts ? html`<span class="dim">${plural(row.restarts, "restart")}</span>` : null;
  const text = row.last_line || row.message || sentence(row.reason), code = row.exit_code !== undefined && row.reason === "Error" ? `exit code ${row.exit_code}` : "";
  if (code) return html`<span class="clip why" title=${`${code}${text ? ": " + text : ""}`}>${code} ${row.last_line ? html`<code>${row.last_line}</code>` : ""}</span>`;
  return html`<span class="clip why" title=${`${row.reason}${text ? ": " + text : ""}`}>${text ? html`${text} <code>${row.reason}</code>` : html`<code>${row.reason}</code>`}${isActive(row.status) && html` <span class="dim">for <${Age} at=${(row.since || row.created) * 1000} /></span>`}</span>`;
}

const narrow = window.matchMedia("(max-width: 720px)");
const middle = window.matchMedia("(max-width: 1080px)");
const rowHeight = () => (narrow.matches ? 62 : 38);

/** @returns {string[]} */
function storedColumns() {
  try {
    const list = JSON.parse(localStorage.getItem("columns") || "null");
    if (Array.isArray(list)) return list;
  } catch { /* the default follows */ }
  return columns.filter((c) => !c.hidden).map((c) => c.id);
}

/** Lists that were shown, by address, so that Back shows the same rows at the same position. @type {Map<string, {list: TaskList, top: number, at: number}>} */
const kept = new Map();

/** @typedef {{name: string, user: string, counts: Record<string, number>, head: any}} Group the group whose tasks the page shows, and what the page shows above them; user is the owner if it is another user */

/** @param {string} search @param {boolean} all @param {Group} [group] */
function listParams(search, all, group) {
  const p = new URLSearchParams(search);
  const q = parse(p.get("q") || "");
  const params = /** @type {Record<string, any>} */ ({ ...q.params, sort: p.get("sort") || "-created" });
  const named = q.params.status, status = p.get("status") || (Array.isArray(named) && named.length === 1 ? named[0] : "");
  if (status) params.status = status;
  if (group) Object.assign(params, { group: group.name }, group.user && { user: group.user });
  else if (all && !params.user) params.all_users = true;
  return { params, q, text: p.get("q") || "", status, sort: params.sort };
}

/** The numbers on the tabs: those of the summary, or with a search those of the search. @param {Record<string, any>} params @param {boolean} searching @param {boolean} all @param {boolean} skip */
function useCounts(params, searching, all, skip) {
  const [counts, setCounts] = useState(/** @type {Record<string, number> | null} */ (null));
  const key = JSON.stringify({ ...params, status: "", sort: "" }) + all;
  useEffect(() => {
    setCounts((c) => (c && c.key === /** @type {any} */ (key) ? c : null));
    if (skip) return;
    const abort = new AbortController();
    const read = async () => {
      try {
        const c = searching ? await searchCounts(params, abort.signal) : await summaryCounts(all, abort.signal);
        if (!abort.signal.aborted) setCounts(/** @type {any} */ ({ ...c, key }));
      } catch { /* the list shows the error */ }
    };
    const soon = throttle(read, searching ? 2000 : 1000);
    soon();
    const end = onEvents({ onEvents: (events) => { if (events.some((e) => e.kind === "task" && e.type === "phase")) soon(); }, onReset: soon });
    const timer = setInterval(() => { if (!document.hidden) soon(); }, 10_000);
    return () => { abort.abort(); soon.cancel(); end(); clearInterval(timer); };
  }, [key, skip]);
  return counts;
}

/** @param {boolean} all @param {AbortSignal} signal */
async function summaryCounts(all, signal) {
  const { data } = await get("/summary", { query: { all_users: all }, signal });
  return { all: data.total, ...data.by_status };
}

/** @param {Record<string, any>} params @param {AbortSignal} signal */
async function searchCounts(params, signal) {
  /** @type {Record<string, number>} */
  const counts = { all: 0 };
  await Promise.all(phases.map(async (status) => {
    const { headers } = await get("/tasks", { query: { ...params, status, sort: undefined, view: "row", limit: 1 }, signal });
    counts[status] = Number(headers.get("X-Total-Count"));
  }));
  for (const p of phases) counts.all += counts[p];
  return counts;
}

/** @param {string} key @param {Record<string, any>} params @param {boolean} skip */
function useTaskList(key, params, skip) {
  const [, setVersion] = useState(0);
  const current = useRef(/** @type {TaskList | null} */ (null));
  const list = useMemo(() => {
    if (skip) return null;
    const old = kept.get(key);
    return old && Date.now() - old.at < 600_000 ? old.list : new TaskList(params, () => {});
  }, [key, skip]);
  const frame = useRef(0);
  useEffect(() => {
    current.current = list;
    if (!list) return;
    const look = throttle(() => list.sync(), 700);
    list.changed = () => {
      if (!frame.current) frame.current = requestAnimationFrame(() => { frame.current = 0; setVersion((v) => v + 1); });
      if (!list.isBehind || list.loading || list.error || !list.isIdle()) return;
      if (!list.outdated && list.waiting.length === list.fresh) list.show();
      else look();
    };
    if (kept.has(key)) look();
    const end = onEvents({ onEvents: (events) => { if (list.apply(events)) look(); }, onReset: look });
    const timer = setInterval(() => { if (!document.hidden) look(); }, 15_000);
    setVersion((v) => v + 1);
    return () => {
      end();
      look.cancel();
      clearInterval(timer);
      cancelAnimationFrame(frame.current);
      frame.current = 0;
      list.changed = () => {};
    };
  }, [list]);
  return list;
}

/** The field of the search. The address follows when the user pauses. @param {{text: string, error: string, id: string, inputRef: any, onDown: () => void}} p */
function SearchBox({ text, error, id, inputRef, onDown }) {
  const [value, setValue] = useState(text);
  const timer = useRef(0);
  const sent = useRef(text);
  useEffect(() => { if (text !== sent.current) { sent.current = text; setValue(text); } }, [text]);
  const send = (/** @type {string} */ v) => { sent.current = v; setParams({ q: v }); };
  const type = (/** @type {any} */ e) => {
    const v = e.currentTarget.value;
    setValue(v);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => send(v.trim()), 250);
  };
  const key = (/** @type {KeyboardEvent} */ e) => {
    if (e.key === "Escape") { value ? (setValue(""), send("")) : /** @type {any} */ (e.currentTarget).blur(); }
    if (e.key === "Enter") { clearTimeout(timer.current); send(value.trim()); if (id) go("/ui/tasks/" + id); }
    if (e.key === "ArrowDown") { e.preventDefault(); onDown(); }
  };
  return html`<div class="search"><${Icon} name="search" />
    <input ref=${inputRef} type="search" aria-label="Search tasks" placeholder="Search: words, id, label:, reason:, since:2d, -status:failed" value=${value} spellcheck="false" autocomplete="off" maxLength="500"
      aria-invalid=${error ? "true" : undefined} aria-describedby=${error ? "search-error" : undefined} onInput=${type} onKeyDown=${key} /><kbd class="wide-only">/</kbd></div>`;
}

const widest = ["id", "resources", "group"]; // columns that a narrow window has no room for

/** @param {{chosen: string[], isMiddle: boolean, onChange: (ids: string[]) => void}} p */
function ColumnChooser({ chosen, isMiddle, onChange }) {
  const toggle = (/** @type {string} */ id) => onChange(columns.map((c) => c.id).filter((c) => (c === id ? !chosen.includes(c) : chosen.includes(c))));
  const ref = useRef(/** @type {HTMLDetailsElement | null} */ (null));
  useEffect(() => {
    const close = (/** @type {Event} */ e) => {
      const el = ref.current;
      if (!el?.open || (e instanceof KeyboardEvent ? e.key !== "Escape" : el.contains(/** @type {Node} */ (e.target)))) return;
      el.open = false;
      if (e instanceof KeyboardEvent) { e.stopPropagation(); el.querySelector("summary")?.focus(); }
    };
    document.addEventListener("keydown", close, true);
    document.addEventListener("pointerdown", close);
    return () => { document.removeEventListener("keydown", close, true); document.removeEventListener("pointerdown", close); };
  }, []);
  const hides = (/** @type {string} */ id) => isMiddle && widest.includes(id);
  return html`<details class="menu wide-only" ref=${ref}><summary class="button" title="Columns"><${Icon} name="columns" />Columns</summary>
    <div class="menu-body">${columns.filter((c) => !c.always).map((c) => html`<label key=${c.id} title=${hides(c.id) ? "The window is too narrow for this column" : undefined}><input type="checkbox" checked=${chosen.includes(c.id) && !hides(c.id)} disabled=${hides(c.id)} onChange=${() => toggle(c.id)} /> ${c.label}</label>`)}
      ${isMiddle && html`<small class="dim">Some columns need a wider window.</small>`}</div></details>`;
}

/** @param {{counts: Record<string, number> | null, status: string, text: string}} p */
function Tabs({ counts, status, text }) {
  // A status in the search would contradict the tab.
  const select = (/** @type {string} */ id) => setParams({ status: id, q: text.replace(/(^|\s)status:\S+/gi, "").trim() });
  const tab = (/** @type {string} */ id, /** @type {string} */ label) => html`<button key=${id} class=${"tab " + id} aria-pressed=${status === id ? "true" : "false"} onClick=${() => select(id)}>
    ${id && html`<${Icon} name=${id} />`}<span>${label}</span><b class="num">${counts ? count(counts[id || "all"] || 0) : "…"}</b></button>`;
  return html`<div class="tabs" role="group" aria-label="Status">${tab("", "All")}${phases.map((p) => tab(p, p[0].toUpperCase() + p.slice(1)))}</div>`;
}

/** @param {{searching: boolean, status: string, group?: Group}} p */
function Empty({ searching, status, group }) {
  if (searching || status) {
    return html`<${Notice} title="No task matches" icon="search"><p>${searching ? "No task matches this search." : `No task is ${status}.`}</p>
      <p><a class="button" href=${group ? groupPage(group.name, group.user) : "/ui/"}>${group ? "Show all tasks of the group" : "Show all tasks"}</a></p><//>`;
  }
  return html`<${Notice} title="No tasks yet" icon="tasks"><p>Submit a task file here, or from a terminal:</p>
    <pre class="terminal">k8s-cli jobs submit task.yaml</pre><p><a class="button primary" href="/ui/new"><${Icon} name="plus" />New task</a></p><//>`;
}

/** @param {{group?: Group}} p */
export function TasksPage({ group }) {
  const { search } = useStore(place), { all: wanted } = useStore(scope), state = useStore(server);
  const mayAll = !!(state.session?.all_users || state.session?.admin);
  const all = wanted && mayAll;
  const { params, q, text, status, sort } = listParams(search, all, group);
  const key = JSON.stringify(params);
  const list = useTaskList(key, params, !!q.error);
  const searching = !!text && !q.error;
  const found = useCounts(params, searching, all, !!group && !searching), counts = group && !searching ? group.counts : found;
  // The server explains a value of the search that it does not know.
  const refused = searching && list?.total === -1 && [400, 422].includes(/** @type {any} */ (list.error)?.status);
  const wrong = q.error || (refused ? list?.error?.message || "" : "");
  const [chosen, setChosen] = useState(storedColumns);
  const [selected, setSelected] = useState(/** @type {Map<string, Row>} */ (new Map()));
  const [cursor, setCursor] = useState(-1);
  const [stopping, setStopping] = useState(/** @type {Row[] | null} */ (null));
  const [whole, setWhole] = useState(false); // all tasks of the list are selected, also those that are not loaded
  const [stoppingAll, setStoppingAll] = useState(false);
  const [again, setAgain] = useState(/** @type {Row[] | null} */ (null));
  const [height, setHeight] = useState(rowHeight());
  const [isMiddle, setMiddle] = useState(middle.matches);
  const scroller = useRef(/** @type {HTMLElement | null} */ (null));
  const searchRef = useRef(/** @type {HTMLInputElement | null} */ (null));
  const lastPicked = useRef(-1);
  const top = useRef(0);

  useEffect(() => {
    const change = () => setHeight(rowHeight());
    const resized = () => setMiddle(middle.matches);
    narrow.addEventListener("change", change);
    middle.addEventListener("change", resized);
    return () => { narrow.removeEventListener("change", change); middle.removeEventListener("change", resized); };
  }, []);
  useEffect(() => { if (!group) document.title = "Tasks · k8s-cli"; }, []);
  // Back returns to the same rows at the same position.
  useEffect(() => {
    setCursor(-1);
    setSelected(new Map());
    setWhole(false);
    const old = kept.get(key);
    if (scroller.current) scroller.current.scrollTop = old ? old.top : 0;
    return () => {
      if (!list || list.error) return;
      kept.set(key, { list, top: top.current, at: Date.now() });
      while (kept.size > 5) kept.delete(/** @type {string} */ (kept.keys().next().value));
    };
  }, [list]);

  const onRange = useCallback((/** @type {number} */ a, /** @type {number} */ b) => { list?.ensure(a, b); }, [list, list?.total, list?.cursor]);
  const onScroll = useCallback((/** @type {number} */ t) => { top.current = t; if (t < 2 && list?.isBehind) list.changed(); }, [list]);

  // The list changes by itself only at its top, without a selection and without the pointer on a row.
  const fresh = list?.fresh || 0;
  if (list) list.isIdle = () => top.current < 2 && cursor <= 0 && !scroller.current?.querySelector(".row:hover") && !selected.size;
  useEffect(() => { if (fresh) announce(plural(fresh, "new task")); }, [fresh, list]);
  useEffect(() => { list?.changed(); }, [cursor, selected.size]);
  const showNew = () => {
    if (!list) return;
    if (scroller.current) scroller.current.scrollTop = 0;
    setCursor(-1);
    list.show();
  };

  const move = (/** @type {number} */ to) => {
    if (!list?.length) return;
    const i = Math.max(0, Math.min(list.length - 1, to));
    setCursor(i);
    const el = scroller.current;
    if (!el) return;
    const header = 0, at = scrollTo(i, list.length, height, el.clientHeight);
    if (at < el.scrollTop + header) el.scrollTop = at;
    else if (at > el.scrollTop + el.clientHeight - 2 * height) el.scrollTop = at - el.clientHeight + 2 * height;
    el.focus({ preventScroll: true });
  };
  const at = () => list?.row(cursor);
  const pick = (/** @type {number} */ i, /** @type {boolean} */ range) => {
    const row = list?.row(i);
    if (!list || !row) return;
    const next = new Map(selected);
    if (range && lastPicked.current >= 0) {
      for (let n = Math.min(i, lastPicked.current); n <= Math.max(i, lastPicked.current); n++) { const r = list.row(n); if (r) next.set(r.id, r); }
    } else if (!next.delete(row.id)) next.set(row.id, row);
    lastPicked.current = i;
    setWhole(false);
    setSelected(next);
  };
  const current = () => [...selected.values()].map((r) => list?.byID.get(r.id) || r);
  useKeys({
    "/": () => searchRef.current?.focus(),
    j: () => move(cursor + 1), ArrowDown: () => move(cursor + 1), k: () => move(cursor - 1), ArrowUp: () => move(cursor - 1),
    PageDown: () => move(cursor + Math.floor((scroller.current?.clientHeight || 0) / height) - 1), PageUp: () => move(cursor - Math.floor((scroller.current?.clientHeight || 0) / height) + 1),
    Home: () => move(0), End: () => move((list?.length || 1) - 1),
    Enter: (e) => { const r = at(); if (r && !(/** @type {Element} */ (e.target).closest("a, button, summary"))) go("/ui/tasks/" + r.id); else if (e.target instanceof HTMLElement) e.target.click(); },
    l: () => { const r = at(); if (r) go(`/ui/tasks/${r.id}/logs`); },
    x: () => pick(cursor, false), " ": () => pick(cursor, false),
    s: () => { const r = at(); if (selected.size) setStopping(current()); else if (r) setStopping([r]); },
    r: () => { const r = at(); if (r) go("/ui/new?from=" + r.id); },
    u: showNew,
    Escape: () => { if (selected.size) setSelected(new Map()); else if (cursor >= 0) setCursor(-1); },
  }, [list, cursor, selected, height]);

  const selectAll = async () => {
    if (!list) return;
    if (stopFilter(params)) { setWhole(true); return; }
    try {
      const rows = /** @type {Row[]} */ ([]);
      let next = "";
      do {
        const { data, headers } = await get("/tasks", { query: { ...params, view: "row", limit: 5000, cursor: next || undefined } });
        rows.push(...data.tasks);
        next = headers.get("X-Next-Cursor") || "";
      } while (next);
      setSelected(new Map(rows.map((r) => [r.id, r])));
    } catch (err) { toast(/** @type {Error} */ (err).message, "bad"); }
  };

  const active = current().filter((r) => isActive(r.status)).length;
  const variables = group ? [...(list?.variables || [])] : [];
  const chosenColumns = columns.filter((c) => c.always || (chosen.includes(c.id) && (c.id !== "user" || (all && !group)) && (c.id !== "group" || (list?.grouped && !group)) && (c.id !== "point" || (!!list?.variables.size && !group && !isMiddle)) && !(isMiddle && !narrow.matches && widest.includes(c.id))));
  const shown = narrow.matches ? chosenColumns : chosenColumns.flatMap((c) => (c.id === "name" ? [c, ...variables.map(variableColumn)] : [c]));
  const template = "2.25rem " + shown.map((c) => c.width).join(" ");
  const row = (/** @type {number} */ i) => html`<${TaskRow} key=${i} index=${i} row=${list?.row(i)} columns=${shown} selected=${selected} isCursor=${i === cursor} onPick=${pick} height=${height} />`;
  return html`<div class=${"page tasks-page" + (group ? " group-page" : "")}>
    ${group?.head}
    <header class="page-head">
      ${group ? html`<h2 class="offscreen">Tasks of the group</h2>` : html`<h1>Tasks</h1>`}
      ${mayAll && !group && html`<div class="segments" role="group" aria-label="Whose tasks"><button aria-pressed=${all ? "false" : "true"} onClick=${() => showAll(false)}>Mine</button><button aria-pressed=${all ? "true" : "false"} onClick=${() => showAll(true)}>All users</button></div>`}
      <${SearchBox} text=${text} error=${wrong} id=${q.id} inputRef=${searchRef} onDown=${() => move(0)} />
      <${ColumnChooser} chosen=${chosen} isMiddle=${isMiddle} onChange=${(/** @type {string[]} */ ids) => { setChosen(ids); try { localStorage.setItem("columns", JSON.stringify(ids)); } catch { /* not stored */ } }} />
    </header>
    <${Tabs} counts=${counts} status=${status} text=${text} />
    ${wrong && html`<p id="search-error" class="field-error" role="alert"><${Icon} name="warning" />${wrong}</p>`}
    ${q.id && html`<p class="open-id"><a href=${"/ui/tasks/" + q.id}><${Icon} name="tasks" />Open the task with the ID <code>${q.id}</code></a></p>`}
    ${variables.length > 0 && html`<${ByVariable} params=${params} variables=${variables} onValue=${(/** @type {string} */ name, /** @type {string} */ value) => addWord(`point:${name}=${value}`)} />`}
    <div class="table-frame" style=${{ "--cols": template }}>
      ${list && list.length > 0 && list.isBehind && !list.isIdle() && html`<button class="new-rows" onClick=${showNew}><${Icon} name="up" />${list.outdated ? "The list has changed. Show it" : plural(fresh, "new task")}</button>`}
      <div class="table" role="grid" tabindex="0" aria-label="Tasks" aria-rowcount=${list && list.total >= 0 ? list.length + 1 : -1} aria-busy=${list && list.total < 0 ? "true" : "false"} ref=${scroller}
        aria-activedescendant=${cursor >= 0 ? "row-" + cursor : undefined} onMouseLeave=${() => list?.isBehind && list.changed()} onDblClick=${(/** @type {Event} */ e) => open(e, list)} onClick=${(/** @type {Event} */ e) => clickRow(e, setCursor)}>
        <div class="row head" role="row" aria-rowindex="1"><span role="columnheader"><span class="offscreen">Selected</span></span>${shown.map((c) => html`<${Heading} key=${c.id} column=${c} sort=${sort} />`)}</div>
        ${list && list.total > 0 && html`<${VirtualRows} total=${list.length} rowHeight=${height} row=${row} onRange=${onRange} scroller=${scroller} onScroll=${onScroll} />`}
      </div>
      ${list && list.error && list.total < 0 && !refused ? html`<${Failure} error=${list.error} retry=${() => list.sync()} />` : null}
      ${list && !list.error && list.total < 0 && html`<${Loading} lines=${12} />`}
      ${list && list.total >= 0 && list.length === 0 && !q.id && html`<${Empty} searching=${!!text} status=${status} group=${group} />`}
      ${list && list.total > 0 && html`<p class="table-foot"><span>${list.isRetrying ? "The server does not send more rows at present. The page tries again." : list.total === list.length ? plural(list.length, "task") : `${plural(list.total, "task")} now, ${count(list.length)} in the list`}</span>
        <span class="live"><${Live} stream=${state.unreachableSince ? "retrying" : state.stream} /></span></p>`}
    </div>
    ${selected.size > 0 && whole && list && html`<div class="selection" role="region" aria-label="Selection"><b>All ${plural(list.total, "task")} of the list selected</b>
      <span class="grow"></span><button class="button danger" onClick=${() => setStoppingAll(true)}><${Icon} name="stop" />Stop all</button>
      <button class="button" onClick=${() => { setWhole(false); setSelected(new Map()); }}>Clear</button></div>`}
    ${stoppingAll && html`<${StopAllDialog} filter=${stopFilter(params)} total=${list?.total || 0} onClose=${(/** @type {boolean} */ ok) => { setStoppingAll(false); if (ok) { setWhole(false); setSelected(new Map()); } }} />`}
    ${selected.size > 0 && !whole && html`<div class="selection" role="region" aria-label="Selection"><b>${plural(selected.size, "task")} selected</b>
      ${list && selected.size < list.total && html`<button class="link" onClick=${selectAll}>Select all ${count(list.total)}</button>`}
      <span class="grow"></span><button class="button danger" disabled=${!active} onClick=${() => setStopping(current())}><${Icon} name="stop" />Stop ${count(active)}</button>
      <button class="button" disabled=${selected.size > mostAgain} title=${selected.size > mostAgain ? `At most ${count(mostAgain)} tasks at once` : undefined} onClick=${() => setAgain(current())}><${Icon} name="again" />Run again</button>
      <button class="button" onClick=${() => setSelected(new Map())}>Clear</button></div>`}
    ${again && html`<${AgainDialog} tasks=${again} onClose=${(/** @type {string[]} */ ids) => { setAgain(null); if (ids.length) setSelected(new Map()); }} />`}
    ${stopping && html`<${StopDialog} tasks=${stopping} me=${state.session?.user} onClose=${(/** @type {boolean} */ ok) => { setStopping(null); if (ok) setSelected(new Map()); }} />`}
  </div>`;
}

/** @param {{stream: string}} p */
function Live({ stream }) {
  if (stream === "live") return html`<i class="dot"></i>Live`;
  return stream === "retrying" ? "Connecting again" : stream === "off" ? "Paused" : "Connecting";
}

/** @param {{column: Column, sort: string}} p */
function Heading({ column, sort }) {
  if (!column.sort) return html`<span role="columnheader">${column.label}</span>`;
  const now = sort === column.sort ? "ascending" : sort === "-" + column.sort ? "descending" : "none";
  const first = ["name", "status"].includes(column.sort) || column.sort.startsWith("point:") ? column.sort : "-" + column.sort;
  const next = sort === first ? (first[0] === "-" ? first.slice(1) : "-" + first) : first;
  return html`<span role="columnheader" aria-sort=${now}><button class="sort" onClick=${() => setParams({ sort: next === "-created" ? "" : next })}>${column.label}${now !== "none" && html`<${Icon} name=${now === "ascending" ? "up" : "down"} />`}</button></span>`;
}

/** @param {{index: number, row: Row | undefined, columns: Column[], selected: Map<string, Row>, isCursor: boolean, onPick: (i: number, range: boolean) => void, height: number}} p */
function TaskRow({ index, row, columns: cols, selected, isCursor, onPick, height }) {
  if (!row) return html`<div class="row" role="row" aria-rowindex=${index + 2} aria-busy="true" style=${{ height: height + "px" }}><span role="gridcell" class="bone"></span></div>`;
  const isSelected = selected.has(row.id);
  return html`<div id=${"row-" + index} class=${"row" + (isCursor ? " cursor" : "") + (isSelected ? " selected" : "")} role="row" aria-rowindex=${index + 2} aria-selected=${isSelected ? "true" : "false"} data-id=${row.id} data-index=${index} style=${{ height: height + "px" }}>
    <span role="gridcell" class="check"><input type="checkbox" tabindex="-1" checked=${isSelected} aria-label=${"Select " + row.name} onClick=${(/** @type {MouseEvent} */ e) => onPick(index, e.shiftKey)} /></span>
    ${cols.map((c) => html`<span role="gridcell" key=${c.id} class=${"cell " + c.id}>${c.cell(row)}</span>`)}</div>`;
}

/** @param {Event} e @param {TaskList | null} list */
function open(e, list) {
  const el = /** @type {Element} */ (e.target).closest(".row[data-id]");
  const row = el && list?.byID.get(el.getAttribute("data-id") || "");
  if (el && row && mayOpen(row) && !(/** @type {Element} */ (e.target).closest("input"))) go("/ui/tasks/" + el.getAttribute("data-id"));
}

/** @param {Event} e @param {(i: number) => void} setCursor */
function clickRow(e, setCursor) {
  const el = /** @type {Element} */ (e.target).closest(".row[data-id]");
  if (!el || /** @type {Element} */ (e.target).closest("input, a, button")) return;
  if (narrow.matches) go("/ui/tasks/" + el.getAttribute("data-id"));
  else setCursor(Number(el.getAttribute("data-index")));
}

