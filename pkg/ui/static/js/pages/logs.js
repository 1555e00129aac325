// The log of a task.
import { html, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../html.js";
import { collapse, pieces, strip } from "../ansi.js";
import { isActive } from "../actions.js";
import { server, sessionKey, taskPath, url } from "../api.js";
import { bytes, count, local, plural } from "../format.js";
import { useKeys } from "../keys.js";
import { mayFollow, wantLog } from "../live.js";
import { LogStream, readAround } from "../logstream.js";
import { Scan } from "../logstore.js";
import { NotFound } from "../notfound.js";
import { Copy, Failure, Icon, Loading, Notice, Status } from "../parts.js";
import { Hint } from "../reasons.js";
import { place, setParams } from "../router.js";
import { throttle, useStore } from "../store.js";
import { visible } from "../virtual.js";
import { useTask } from "./task.js";

/** @typedef {import("../logstore.js").LogStore} LogStore */

const lineHeight = 20;
const maxText = 4000; // characters of one line on the screen
const chips = 32; // ranks with a button of their own
const far = 2000; // a line with a larger number is shown before the lines in front of it are there

/** @param {LogStore} store @param {number} i @returns {string} the line as the page shows it, without colours */
const shownText = (store, i) => strip(collapse(store.text(i)));

/** @param {string} text @param {{regexp: boolean, matchCase: boolean}} o @returns {{test: (s: string) => boolean, source: RegExp} | {error: string} | null} */
function matcher(text, { regexp, matchCase }) {
  if (!text) return null;
  try {
    const source = new RegExp(regexp ? text : text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), matchCase ? "g" : "gi");
    if (!regexp && matchCase) return { test: (s) => s.includes(text), source };
    const once = new RegExp(source.source, matchCase ? "" : "i");
    return { test: (s) => once.test(s), source };
  } catch (err) {
    return { error: /** @type {Error} */ (err).message };
  }
}

/** @param {string} key */
const remembered = (key, standard = "") => { try { return localStorage.getItem("log-" + key) ?? standard; } catch { return standard; } };
/** @param {string} key @param {string} value */
const remember = (key, value) => { try { localStorage.setItem("log-" + key, value); } catch { /* not stored */ } };

/** @param {string} id @param {Record<string, any>} query @param {boolean} ranked @param {import("../types").components["schemas"]["TaskStatus"] | undefined} task */
function useLog(id, query, ranked, task) {
  const [, setVersion] = useState(0);
  const ref = useRef(/** @type {LogStream | null} */ (null));
  const key = JSON.stringify(query), ready = !!task, over = !!task && !isActive(task.status);
  const follow = useStore(mayFollow);
  useEffect(() => {
    if (!ready) return;
    const draw = throttle(() => setVersion((v) => v + 1), 80);
    const stream = new LogStream(id, { query, ranked, onChange: draw, follow: over || mayFollow.get() });
    ref.current = stream;
    draw();
    return () => { stream.close(); draw.cancel(); ref.current = null; };
  }, [id, key, ranked, ready]);
  useEffect(() => { if (ref.current) ref.current.over = over; }, [over, key]);
  useEffect(() => { ref.current?.change({ follow: follow || over && ref.current.follow }); }, [follow]);
  // The log of an ended task is read once, and needs no right to follow it.
  useEffect(() => {
    if (!ready || over) return;
    wantLog(true);
    return () => wantLog(false);
  }, [ready, over]);
  useEffect(() => {
    const change = () => ref.current?.change({ hidden: document.hidden });
    document.addEventListener("visibilitychange", change);
    return () => document.removeEventListener("visibilitychange", change);
  }, []);
  return ref.current;
}

/**
 * The lines around a line, until the whole log is there up to the last of them.
 * @param {string} id @param {{rank: number, number: number} | null} line @param {Record<string, any>} query @param {boolean} ranked
 * @param {LogStore | undefined} whole
 * @returns {LogStore | null}
 */
function useAround(id, line, query, ranked, whole) {
  const [store, setStore] = useState(/** @type {LogStore | null} */ (null));
  const key = JSON.stringify([line, query]);
  const last = line ? store?.perRank.get(line.rank) || line.number : 0;
  const reached = !line || (whole?.perRank.get(line.rank) || 0) >= last;
  useEffect(() => {
    setStore(null);
    if (!line || reached) return;
    const abort = new AbortController();
    // Without these lines, the page shows the line as soon as it has read the log up to it.
    readAround(id, { query, ranked, ...line, signal: abort.signal }).then(setStore, () => {});
    return () => abort.abort();
  }, [id, key, ranked, reached]);
  return reached ? null : store;
}

/** Lines that match, found in short steps. @param {LogStore | undefined} store @param {((i: number) => boolean) | null} matches @param {any[]} keys */
function useScan(store, matches, keys) {
  const [, setVersion] = useState(0);
  const ref = useRef(/** @type {Scan | null} */ (null));
  useEffect(() => {
    ref.current = null;
    if (!store || !matches) { setVersion((v) => v + 1); return; }
    const draw = throttle(() => setVersion((v) => v + 1), 100);
    const scan = new Scan(store, matches, draw);
    ref.current = scan;
    draw();
    return () => { scan.stop(); draw.cancel(); };
  }, [store, ...keys]);
  const scan = matches ? ref.current : null;
  if (scan && !scan.complete) scan.more();
  return scan;
}

/** @param {string} text @param {RegExp | null} source @returns {any} the text with its matches marked, and with links */
function marked(text, source) {
  const parts = [];
  let at = 0;
  const link = /https?:\/\/[^\s"'<>)\]}]+[^\s"'<>)\]}.,;:!?]/g;
  const found = [...(source ? text.matchAll(source) : [])].filter((m) => m[0]).map((m) => ({ at: m.index, text: m[0], mark: true }));
  if (!found.length) for (const m of text.matchAll(link)) found.push({ at: m.index, text: m[0], mark: false });
  for (const f of found.slice(0, 200)) {
    if (f.at < at) continue;
    if (f.at > at) parts.push(text.slice(at, f.at));
    parts.push(f.mark ? html`<mark>${f.text}</mark>` : html`<a href=${f.text} target="_blank" rel="noopener noreferrer">${f.text}</a>`);
    at = f.at + f.text.length;
  }
  parts.push(text.slice(at));
  return parts;
}

/** @param {import("../ansi.js").Style} s */
function look(s) {
  const [fg, bg] = s.inverse ? [s.bg || "inv-bg", s.fg || "inv-fg"] : [s.fg, s.bg];
  const classes = [s.bold && "b", s.dim && "d", s.italic && "i", s.underline && "u", s.strike && "st", fg && fg[0] !== "#" && "f" + fg, bg && bg[0] !== "#" && "b" + bg].filter(Boolean).join(" ");
  const style = /** @type {Record<string, string>} */ ({});
  if (fg?.[0] === "#") style.color = fg;
  if (bg?.[0] === "#") style.backgroundColor = bg;
  return { classes, style };
}

/** @param {{text: string, source: RegExp | null}} p */
function Text({ text, source }) {
  const whole = collapse(text);
  const shown = whole.length > maxText ? whole.slice(0, maxText) : whole;
  const list = pieces(shown).map(({ text: t, style }, i) => {
    const { classes, style: css } = look(style);
    return classes || css.color || css.backgroundColor ? html`<span key=${i} class=${classes} style=${css}>${marked(t, source)}</span>` : marked(t, source);
  });
  return html`${list}${whole.length > maxText ? html`<em class="cut">${count(whole.length - maxText)} more characters: in the download</em>` : ""}`;
}

/** @param {number} ms @param {string} zone */
function stamp(ms, zone) {
  if (!ms) return "";
  const d = new Date(ms), fraction = "." + String(ms % 1000).padStart(3, "0");
  return zone === "utc" ? d.toISOString().slice(0, 19).replace("T", " ") + fraction : local(d) + fraction;
}

/** @param {{store: LogStore, index: number, times: string, source: RegExp | null, current: boolean, target: boolean, wrap: boolean}} p */
function Line({ store, index, times, source, current, target }) {
  const rank = store.rank(index), number = store.number(index);
  const anchor = (store.ranked ? `N${rank}` : "") + "L" + number;
  const text = store.text(index);
  const separator = /^--- attempt \d+/.test(text);
  return html`<div class=${"line" + (current ? " current" : "") + (target ? " target" : "") + (separator ? " separator" : "")} data-line=${index}>
    <a class="number" href=${"#" + anchor} aria-label=${"Line " + number}>${number}</a>${store.ranked && html`<span class=${"rank rank-" + (rank % 8)}>${rank}</span>`}${times !== "off" && html`<time class="stamp">${stamp(store.times[index], times)}</time>`}<span class="text"><${Text} text=${text} source=${source} /></span></div>`;
}

/** @param {string} hash @returns {{rank: number, number: number} | null} */
function target(hash) {
  const m = /^#(?:N(\d+))?L(\d+)$/.exec(hash);
  return m ? { rank: Number(m[1] || 0), number: Number(m[2]) } : null;
}

/** @param {{id: string}} p */
export function LogPage({ id }) {
  const { search, hash } = useStore(place);
  const params = new URLSearchParams(search);
  const node = params.get("node") || "", attempt = params.get("attempt") || "";
  const { data: task, error } = useTask(id);
  const many = !!task && task.metadata.num_nodes > 1;
  const query = { node: node || undefined, attempt: attempt || undefined };
  const stream = useLog(id, query, many, task);
  const [hidden, setHidden] = useState(/** @type {Set<number>} */ (new Set()));
  const [wrap, setWrap] = useState(remembered("wrap") === "yes");
  const [times, setTimes] = useState(remembered("times", "off"));
  const [follow, setFollow] = useState(!target(location.hash));
  const how = params.get("how") || "";
  const [find, setFind] = useState({ text: params.get("find") || "", regexp: how.includes("r"), matchCase: how.includes("c") });
  const [filter, setFilter] = useState({ on: how.includes("o"), invert: how.includes("i") });
  const flags = (find.regexp ? "r" : "") + (find.matchCase ? "c" : "") + (filter.on ? "o" : "") + (filter.invert ? "i" : "");
  useEffect(() => {
    const timer = setTimeout(() => setParams({ find: find.text, how: find.text ? flags : "" }), 300);
    return () => clearTimeout(timer);
  }, [find.text, flags]);
  const [at, setAt] = useState(-1); // the line of the current match
  const searchRef = useRef(/** @type {HTMLInputElement | null} */ (null));
  const view = useRef(/** @type {{show: (line: number) => void, page: (by: number) => void} | null} */ (null));
  const jump = target(hash);
  const whole = stream?.store;
  const [leaves, setLeaves] = useState(false); // the lines around the target are not enough
  const isFar = !!task && !!jump && jump.number > far && !leaves && (!!attempt || (task.metadata.attempt || 1) === 1);
  const around = useAround(id, isFar ? jump : null, { node: node || (many ? jump?.rank : undefined), attempt: attempt || undefined }, many, whole);
  const store = around || whole;
  useEffect(() => { document.title = `Log of ${task?.name || id} · k8s-cli`; }, [task?.name]);

  const match = useMemo(() => matcher(find.text, find), [find]);
  const test = match && "test" in match ? match.test : null;
  const hiddenKey = [...hidden].sort().join();
  const found = useScan(store, test && ((i) => !hidden.has(/** @type {LogStore} */ (store).rank(i)) && test(shownText(/** @type {LogStore} */ (store), i))), [find, hiddenKey]);
  const filtering = (filter.on && test) || hidden.size > 0;
  useEffect(() => { if (!find.text && !filtering) setLeaves(false); }, [hash]);
  useEffect(() => { if (follow || find.text || filtering) setLeaves(true); }, [follow, find.text, filtering]);
  const lines = useScan(store, filtering ? (i) => !hidden.has(/** @type {LogStore} */ (store).rank(i)) && (!filter.on || !test || test(shownText(/** @type {LogStore} */ (store), i)) !== filter.invert) : null, [find, filter, hiddenKey, filtering]);

  const step = (/** @type {number} */ by) => {
    if (!found?.found.length) return;
    const list = found.found;
    let i = list.position(at < 0 ? 0 : at);
    if (at >= 0 && by > 0 && list.values[i] === at) i++;
    if (by < 0) i--;
    i = (i + list.length) % list.length;
    setFollow(false);
    setAt(list.values[i]);
    view.current?.show(list.values[i]);
  };
  const targetLine = store && jump ? store.find(jump.rank, jump.number) : -1;
  const jumped = useRef("");
  useEffect(() => {
    if (!jump || !store || jumped.current === hash || targetLine < 0) return;
    jumped.current = hash;
    setFollow(false);
    view.current?.show(targetLine);
  }, [hash, targetLine >= 0]);

  const toggleWrap = () => { setWrap(!wrap); remember("wrap", wrap ? "no" : "yes"); };
  const nextTimes = () => { const n = times === "off" ? "local" : times === "local" ? "utc" : "off"; setTimes(n); remember("times", n); };
  useKeys({
    "/": () => searchRef.current?.focus(), n: () => step(1), N: () => step(-1), f: () => setFollow(!follow), w: toggleWrap, t: nextTimes,
    Home: () => { setFollow(false); if (around) setLeaves(true); else view.current?.show(0); }, End: () => setFollow(true),
    PageUp: () => view.current?.page(-1), PageDown: () => view.current?.page(1),
  }, [find, at, follow, wrap, times, found, store]);

  if (error && !task) {
    const status = /** @type {any} */ (error).status;
    return status === 404 || status === 403 || status === 422 ? html`<${NotFound} />` : html`<div class="page"><${Failure} error=${error} /></div>`;
  }
  if (!task) return html`<div class="page"><${Loading} /></div>`;
  const m = task.metadata;
  const ranks = Array.from({ length: Math.min(chips, m.num_nodes) }, (_, i) => i);
  const length = whole?.length || 0;
  const total = lines ? lines.found.length : store?.length || 0;
  const download = url(taskPath(id, "/logs"), { follow: "false", node: node || undefined, attempt: attempt || undefined, timestamps: times !== "off", session_key: sessionKey() });
  const searchKey = (/** @type {KeyboardEvent} */ e) => {
    if (e.key === "Enter") { e.preventDefault(); step(e.shiftKey ? -1 : 1); }
    if (e.key === "Escape") { if (find.text) setFind({ ...find, text: "" }); else /** @type {any} */ (e.currentTarget).blur(); }
  };
  return html`<div class="page log-page"><header class="log-head"><h1 class="offscreen">Log of ${task.name}</h1>
      <p class="crumbs"><a href="/ui/">Tasks</a> / <a href=${"/ui/tasks/" + id}>${task.name}</a> / log${node ? ` of node ${node}` : ""}${attempt ? `, attempt ${attempt}` : ""} ${(node || attempt) && html`<a href=${`/ui/tasks/${id}/logs`}>show all</a>`}</p>
      <span class="log-state"><${Status} status=${task.status} /> <${StreamState} stream=${stream} status=${task.status} /></span></header>
    <div class="log-tools"><div class="search"><${Icon} name="search" /><input ref=${searchRef} type="search" aria-label="Search the log" placeholder="Search" value=${find.text} spellcheck="false" autocomplete="off" onInput=${(/** @type {any} */ e) => { setAt(-1); setFind({ ...find, text: e.currentTarget.value }); }} onKeyDown=${searchKey} /></div>
      ${find.text && html`<span class="found num" role="status">${match && "error" in match ? match.error : found ? `${found.complete ? "" : "at least "}${plural(found.found.length, "line")}` : ""}</span>
      <button class="icon-button" title="Previous (N)" aria-label="Previous match" onClick=${() => step(-1)}><${Icon} name="up" /></button><button class="icon-button" title="Next (n)" aria-label="Next match" onClick=${() => step(1)}><${Icon} name="down" /></button>`}
      <div class="toggles"><${Toggle} on=${find.matchCase} set=${() => setFind({ ...find, matchCase: !find.matchCase })} label="Aa" title="Match upper and lower case" /><${Toggle} on=${find.regexp} set=${() => setFind({ ...find, regexp: !find.regexp })} label=".*" title="Regular expression" />
      <${Toggle} on=${filter.on} set=${() => setFilter({ ...filter, on: !filter.on })} label="Only matches" title="Show only lines that match" />${filter.on && html`<${Toggle} on=${filter.invert} set=${() => setFilter({ ...filter, invert: !filter.invert })} label="Invert" title="Show only lines that do not match" />`}</div>
      <span class="grow"></span>
      <div class="toggles"><${Toggle} on=${follow} set=${() => setFollow(!follow)} label="Follow" title="Show new lines as they come (f)" /><${Toggle} on=${wrap} set=${toggleWrap} label="Wrap" title="Wrap long lines (w)" /><${Toggle} on=${times !== "off"} set=${nextTimes} label=${times === "utc" ? "UTC" : times === "local" ? "Local time" : "Times"} title="Times: off, local, UTC (t)" />
      <a class="button quiet" href=${download} download=${`${task.name}-${id}.log`} title="Download the log as the server sends it"><${Icon} name="download" />Download</a></div></div>
    ${many && !node && html`<div class="chips" role="group" aria-label="Nodes">${ranks.map((r) => html`<button key=${r} class=${"chip rank-" + (r % 8)} aria-pressed=${hidden.has(r) ? "false" : "true"} title=${hidden.has(r) ? `Show node ${r}` : `Hide node ${r}`} onClick=${() => setHidden(toggled(hidden, r))}>node ${r}<small class="num">${count(whole?.perRank.get(r) || 0)}</small></button>`)}
      ${m.num_nodes > chips && html`<form onSubmit=${(/** @type {any} */ e) => { e.preventDefault(); setParams({ node: e.currentTarget.rank.value }); }}><label>Only node <input name="rank" class="tiny-field" inputmode="numeric" pattern="[0-9]+" /></label></form>`}
      ${hidden.size > 0 && html`<button class="link" onClick=${() => setHidden(new Set())}>Show all nodes</button>`}</div>`}
    ${jump && (around || targetLine < 0) && whole && html`<p class="note" role="status"><${Icon} name="clock" />${around ? `These are the lines around line ${count(jump.number)}. The page reads the others: ${count(length)} lines so far.`
    : stream?.state === "complete" ? `The log has no line ${count(jump.number)}.` : `Reads the log up to line ${count(jump.number)}: ${count(length)} lines so far.`}</p>`}
    ${stream?.problem && html`<p class="note" role="alert"><${Icon} name="warning" />${stream.problem}</p>`}
    ${total > 0 && store ? html`<${LogView} store=${store} lines=${lines?.found || null} total=${total} wrap=${wrap} times=${times} follow=${follow} growing=${isActive(task.status)} setFollow=${setFollow} source=${match && "source" in match ? match.source : null} current=${at} target=${targetLine} api=${view} />`
    : html`<div class="log-empty"><${EmptyLog} task=${task} stream=${stream} filtering=${!!filtering && !!store?.length} /></div>`}
    <p class="table-foot"><span class="num">${lines ? `${count(lines.found.length)} of ` : ""}${plural(length, "line")}, ${bytes(whole?.bytes || 0)}</span><span><${Copy} class="link" text=${`k8s-cli jobs logs ${id}${node ? ` --node ${node}` : ""}${attempt ? ` --attempt ${attempt}` : ""}`} label="Copy CLI command" /></span></p></div>`;
}

/** @param {Set<number>} set @param {number} value */
function toggled(set, value) {
  const next = new Set(set);
  if (!next.delete(value)) next.add(value);
  return next;
}

/** @param {{on: boolean, set: () => void, label: string, title: string}} p */
function Toggle({ on, set, label, title }) {
  return html`<button class="toggle" aria-pressed=${on ? "true" : "false"} title=${title} onClick=${set}>${label}</button>`;
}

/** @param {{stream: LogStream | null, status: string}} p */
function StreamState({ stream, status }) {
  const { unreachableSince } = useStore(server);
  const state = stream?.state || "connecting";
  if (unreachableSince && stream?.isOpen) return html`<span class="dim">Not connected</span>`;
  if (state === "live" && isActive(status)) return html`<span class="live"><i class="dot"></i>Live</span>`;
  const words = { connecting: status === "pending" ? "No log before the task starts" : "Connecting", reading: "Loading", live: "Loading", retrying: "Connecting again", complete: "The whole log", failed: "Interrupted" };
  return html`<span class="dim">${words[state]}</span>`;
}

/** @param {{task: any, stream: LogStream | null, filtering: boolean}} p */
function EmptyLog({ task, stream, filtering }) {
  if (filtering) return html`<${Notice} title="No line matches" icon="search" />`;
  if (stream?.state === "failed") return html`<${Notice} title="The log is not available" icon="warning" tone="bad"><p>${stream.problem}</p><//>`;
  if (stream?.state === "complete") return html`<${Notice} title="The log is empty" icon="log"><p>${isActive(task.status) ? "The task has written nothing yet." : "The task wrote nothing."}</p><//>`;
  const m = task.metadata;
  return html`<${Notice} title="No lines yet" icon="log"><p>${task.status === "pending" ? "The task has not started." : "The page waits for the first line."}</p>${m.message && html`<p>${m.message}${m.reason ? html` <code>${m.reason}</code>` : ""}</p>`}${m.hint && html`<p class="dim"><${Hint} text=${m.hint} id=${task.task_id} /></p>`}<//>`;
}

/** @param {{store: LogStore, lines: import("../logstore.js").Lines | null, total: number, wrap: boolean, times: string, follow: boolean, growing: boolean, setFollow: (on: boolean) => void, source: RegExp | null, current: number, target: number, api: {current: any}}} p */
function LogView({ store, lines, total, wrap, times, follow, growing, setFollow, source, current, target: targetLine, api }) {
  const ref = useRef(/** @type {HTMLElement | null} */ (null));
  const [pos, setPos] = useState({ top: 0, height: 600 });
  const seen = useRef(total); // lines when following ended
  const moved = useRef(0); // the last scroll position that the page set itself
  const measure = useCallback(() => {
    const el = ref.current;
    if (el) setPos((p) => (p.top === el.scrollTop && p.height === el.clientHeight ? p : { top: el.scrollTop, height: el.clientHeight }));
  }, []);
  const anchor = useRef(0); // the row at the top of the screen
  const place = (/** @type {number} */ top) => {
    const el = ref.current;
    if (!el) return;
    el.scrollTop = top;
    moved.current = el.scrollTop;
    measure();
  };
  useLayoutEffect(() => {
    const el = /** @type {HTMLElement} */ (ref.current);
    const observer = new ResizeObserver(measure);
    observer.observe(el);
    measure();
    return () => observer.disconnect();
  }, []);
  const v = visible(total, lineHeight, pos.top, pos.height);
  const atEnd = pos.top >= v.spacer - pos.height - 2;
  // In a scaled list, the rows that are added move all rows: the row at the top returns to its place.
  useLayoutEffect(() => { if (!follow && v.ratio > 1) place((anchor.current * lineHeight) / v.ratio); }, [total]);
  // The rest of the log has arrived around the lines on the screen, which stay in their place.
  const shown = useRef(store);
  useLayoutEffect(() => {
    const before = shown.current, row = Math.min(anchor.current, before.length - 1);
    shown.current = store;
    if (before === store || follow || row < 0) return;
    const line = store.find(before.rank(row), before.number(row));
    if (line >= 0) api.current.show(line, true);
  }, [store]);
  useLayoutEffect(() => { if (follow) { seen.current = total; place(v.spacer); } }, [total, follow, wrap, pos.height]);
  api.current = {
    page(/** @type {number} */ by) {
      const el = /** @type {HTMLElement} */ (ref.current);
      if (by < 0 && follow) { seen.current = total; setFollow(false); }
      el.scrollTop += by * (el.clientHeight - 2 * lineHeight);
    },
    show(/** @type {number} */ line, atTop = false) {
      const row = lines ? Math.min(lines.position(line), Math.max(0, total - 1)) : line;
      const ratio = visible(total, lineHeight, 0, pos.height).ratio;
      anchor.current = Math.max(0, row - (wrap || atTop ? 0 : Math.floor(pos.height / lineHeight / 3)));
      place((anchor.current * lineHeight) / ratio);
    },
  };
  const scroll = () => {
    const el = ref.current;
    if (!el) return; // the last event of a view that is gone
    if (follow && el.scrollTop < moved.current - 4) { seen.current = total; setFollow(false); }
    else if (!follow && growing && el.scrollTop > moved.current && el.scrollTop >= el.scrollHeight - el.clientHeight - 2) setFollow(true);
    if (el.scrollTop !== moved.current) anchor.current = visible(total, lineHeight, el.scrollTop, el.clientHeight).top / lineHeight;
    measure();
  };
  const first = wrap ? Math.min(total - 1, Math.max(0, Math.floor(v.top / lineHeight))) : v.first;
  const bottom = wrap && (follow || atEnd);
  const from = bottom ? Math.max(0, total - Math.ceil(pos.height / lineHeight) - 2) : first;
  const to = wrap ? Math.min(total, from + Math.ceil(pos.height / lineHeight) + 2) : v.last;
  const rows = [];
  for (let i = from; i < to; i++) {
    const line = lines ? lines.values[i] : i;
    rows.push(html`<${Line} key=${line} store=${store} index=${line} times=${times} source=${source} current=${line === current} target=${line === targetLine} wrap=${wrap} />`);
  }
  const style = wrap ? (bottom ? { bottom: "0", top: "auto" } : { transform: `translateY(${pos.top}px)` }) : { transform: `translateY(${v.offset}px)` };
  const fresh = total - seen.current;
  return html`<div class="log-frame"><div class=${"log" + (wrap ? " wrapped" : "")} ref=${ref} tabindex="0" role="region" aria-label="Lines of the log" onScroll=${scroll}>
    <div class="spacer" style=${{ height: v.spacer + "px" }}><div class="window" style=${style}>${rows}</div></div></div>
    ${!follow && fresh > 0 && html`<button class="new-rows low" onClick=${() => setFollow(true)}><${Icon} name="down" />${plural(fresh, "new line")}</button>`}</div>`;
}

