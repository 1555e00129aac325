// Components that several pages use.
import { html, useEffect, useRef, useState } from "./html.js";
import { age, duration, local, utc } from "./format.js";
import { clock, createStore, useStore } from "./store.js";

/** @type {Record<string, string>} paths of icons in a box of 16 by 16 */
const shapes = {
  pending: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11M8 5v3.2l2.2 1.4",
  running: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11M6.7 5.8v4.4L10.2 8z",
  completed: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11M5.5 8.2l1.8 1.8 3.3-3.8",
  failed: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11M6 6l4 4M10 6l-4 4",
  stopped: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11M6.2 6.2h3.6v3.6H6.2z",
  tasks: "M2.5 4h1M6 4h7.5M2.5 8h1M6 8h7.5M2.5 12h1M6 12h7.5",
  groups: "M2.5 2.5h4.500v4.500h-4.500zM9 2.5h4.500v4.500h-4.500zM2.5 9h4.500v4.500h-4.500zM9 9h4.500v4.500h-4.500z",
  queue: "M3 3.5h10M3 6.5h7M3 9.5h4M11.5 8.5v5M9.5 11.5l2 2 2-2",
  capacity: "M2.5 13.5h11M4 13V9.5M8 13V3M12 13V6.5",
  volumes: "M3 4.2C3 3.2 5.2 2.5 8 2.5s5 .7 5 1.7v7.6c0 1-2.2 1.7-5 1.7s-5-.7-5-1.7zM3 4.4C3 5.4 5.2 6 8 6s5-.7 5-1.6M3 8.2c0 1 2.2 1.7 5 1.7s5-.7 5-1.7",
  plus: "M8 3v10M3 8h10",
  user: "M8 8.2a2.6 2.6 0 1 0 0-5.2 2.6 2.6 0 0 0 0 5.2M3 13.5c.5-2.4 2.4-3.6 5-3.6s4.5 1.2 5 3.6",
  search: "M7 2.8a4.2 4.2 0 1 0 0 8.4 4.2 4.2 0 0 0 0-8.4M10.2 10.2l3.3 3.3",
  close: "M4 4l8 8M12 4l-8 8",
  down: "M4 6.5L8 10.5l4-4",
  up: "M4 9.5L8 5.5l4 4",
  log: "M3 3h10v10H3zM5.5 6h5M5.5 8.5h5M5.5 11h2.5",
  warning: "M8 2.5l6 11H2zM8 6.5v3.5M8 11.7v.300",
  copy: "M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z",
  stop: "M4 4h8v8H4z",
  again: "M12.8 5.5A5.3 5.3 0 1 0 13.3 8M13 2.5v3h-3",
  download: "M8 2.5v7.5M5 7.2l3 3 3-3M3 13.5h10",
  columns: "M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10",
  wrap: "M2.5 4h11M2.5 8h8.5a2 2 0 0 1 0 4H8.5M10 10.2L8.2 12l1.8 1.8M2.5 12h3",
  clock: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11M8 5v3.2l2.2 1.4",
  keys: "M2 4.5h12v7H2zM4.5 7h.1M7 7h.1M9.5 7h.1M12 7h.1M5 9.3h6",
  light: "M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6M8 1.5v1.5M8 13v1.5M1.5 8H3M13 8h1.5M3.4 3.4l1 1M11.6 11.6l1 1M12.6 3.4l-1 1M4.4 11.6l-1 1",
  dark: "M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5z",
  auto: "M8 2.5a5.5 5.5 0 1 0 0 11zM8 2.5a5.5 5.5 0 0 1 0 11",
  check: "M3.5 8.5l3 3 6-7",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  shell: "M2.5 3h11v10h-11zM5 6l2 2-2 2M8.500 10h3",
  window: "M9 3h4v4M13 3L7.500 8.500M6 3H3v10h10v-3",
};

/** @param {{name: string, class?: string}} p */
export function Icon({ name, class: c = "" }) {
  return html`<svg class=${"icon " + c} viewBox="0 0 16 16" aria-hidden="true" focusable="false"><path d=${shapes[name] || shapes.stopped} /></svg>`;
}

/** @param {{status: string, plain?: boolean}} p the word and the shape tell the status; the colour only supports them */
export function Status({ status }) {
  const name = status.toLowerCase();
  return html`<span class=${"status " + (volumeStatus[name] || name)}><${Icon} name=${volumeStatus[name] || name} /><span>${status}</span></span>`;
}

/** @type {Record<string, string>} */
const volumeStatus = { bound: "completed", lost: "failed", deleted: "stopped" };

/** @param {{at: number, suffix?: string}} p the age of a time, in milliseconds */
export function Age({ at, suffix = "" }) {
  const now = useStore(clock);
  return html`<time dateTime=${new Date(at).toISOString()} title=${local(at) + "\n" + utc(at)}>${age(now - at)}${suffix}</time>`;
}

/** @param {{from: number, to?: number}} p the time between two times; ticks without the second */
export function Elapsed({ from, to }) {
  const now = useStore(clock);
  return html`<span class="num">${duration((to || now) - from)}</span>`;
}

/** @param {{title: string, children?: any, icon?: string, tone?: string}} p a designed empty or error form */
export function Notice({ title, children, icon = "tasks", tone = "" }) {
  return html`<div class=${"notice " + tone}><${Icon} name=${icon} /><h2>${title}</h2>${children && html`<div class="notice-text">${children}</div>`}</div>`;
}

/** @param {number | undefined} status of a response; undefined if there was no request @returns {string} */
function failureTitle(status) {
  if (status === undefined) return "The page has an error";
  if (status === 0) return "The server does not respond";
  if (status === 403) return "You may not see this";
  if (status === 429) return "Too many requests";
  if (status === 503) return "The server is not ready";
  return status >= 500 ? "The server has an error" : "The server rejects the request";
}

/** @param {{error: Error & {status?: number}, retry?: () => void, title?: string}} p */
export function Failure({ error, retry, title = failureTitle(error.status) }) {
  return html`<${Notice} title=${title} icon="warning" tone="bad">
    <p>${error.message}</p>${retry && html`<p><button class="button" onClick=${retry}><${Icon} name="again" />Try again</button></p>`}<//>`;
}

/** @param {{lines?: number, label?: string}} p */
export function Loading({ lines = 6, label = "Loading" }) {
  return html`<div class="loading" role="status" aria-label=${label}>${Array.from({ length: lines }, (_, i) => html`<span key=${i} class=${"bone b" + (i % 4)}></span>`)}</div>`;
}

/** @param {{used: number, other?: number, of: number, label: string}} p a bar; the label repeats it in words */
export function Bar({ used, other = 0, of, label }) {
  const width = (/** @type {number} */ n) => ({ width: (of > 0 ? Math.min(100, (100 * n) / of) : 0) + "%" });
  return html`<span class="bar" role="img" aria-label=${label} title=${label}><i class="ours" style=${width(used)}></i><i class="others" style=${width(other)}></i></span>`;
}

/** @param {{text: string, label?: string, title?: string, class?: string}} p */
export function Copy({ text, label = "Copy", title, class: c = "button" }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      fallbackCopy(text);
    }
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return html`<button type="button" class=${c} title=${title || text} onClick=${copy}><${Icon} name=${done ? "check" : "copy"} />${done ? "Copied" : label}</button>`;
}

/** Copies on plain HTTP, where browsers offer no clipboard. @param {string} text */
function fallbackCopy(text) {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "offscreen";
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

/** Buttons that select one of several panels: the arrow keys move between them. @param {{label: string, tabs: [string, string][], now: string, panel: string, onSelect: (id: string) => void}} p */
export function TabList({ label, tabs, now, panel, onSelect }) {
  const key = (/** @type {KeyboardEvent} */ e) => {
    const i = tabs.findIndex(([id]) => id === now), to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: tabs.length - 1 }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    e.stopPropagation();
    const [id] = tabs[(to + tabs.length) % tabs.length];
    onSelect(id);
    document.getElementById("tab-" + id)?.focus();
  };
  return html`<div class="tabs" role="tablist" aria-label=${label} onKeyDown=${key}>${tabs.map(([id, text]) => html`<button key=${id} class="tab" role="tab" id=${"tab-" + id} tabindex=${id === now ? 0 : -1} aria-selected=${id === now ? "true" : "false"} aria-controls=${panel} onClick=${() => onSelect(id)}>${text}</button>`)}</div>`;
}

/** @param {{title: string, onClose: () => void, children?: any, wide?: boolean}} p a modal dialog */
export function Dialog({ title, onClose, children, wide }) {
  const ref = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    const back = /** @type {HTMLElement | null} */ (document.activeElement);
    ref.current?.showModal();
    return () => back?.focus?.();
  }, []);
  return html`<dialog ref=${ref} class=${wide ? "wide" : ""} aria-label=${title} onCancel=${(/** @type {Event} */ e) => { e.preventDefault(); onClose(); }}
    onClick=${(/** @type {MouseEvent} */ e) => { if (e.target === ref.current) onClose(); }}>
    <div class="dialog-body"><h2>${title}</h2>${children}</div></dialog>`;
}

/** @type {ReturnType<typeof createStore<{id: number, text: string, tone: string, lines?: string[]}[]>>} */
export const toasts = createStore([]);
let toastID = 0;

/** @param {string} text @param {string} [tone] good, bad or "" @param {string[]} [lines] details */
export function toast(text, tone = "", lines) {
  const id = ++toastID;
  toasts.set([...toasts.get(), { id, text, tone, lines }].slice(-4));
  if (tone !== "bad") setTimeout(() => dismiss(id), 6000);
}

/** @param {number} id */
export function dismiss(id) {
  toasts.set(toasts.get().filter((t) => t.id !== id));
}

export function Toasts() {
  const all = useStore(toasts);
  return html`<div class="toasts" role="status" aria-live="polite">${all.map((t) => html`<div key=${t.id} class=${"toast " + t.tone}>
    <div><p>${t.text}</p>${t.lines && html`<ul>${t.lines.map((l) => html`<li>${l}</li>`)}</ul>`}</div>
    <button class="icon-button" aria-label="Dismiss" onClick=${() => dismiss(t.id)}><${Icon} name="close" /></button></div>`)}</div>`;
}

/** Tells a screen reader about a change, at most once in five seconds. */
export const announcement = createStore("");
let announced = 0, announceTimer = 0, pendingText = "";
/** @param {string} text */
export function announce(text) {
  pendingText = text;
  if (announceTimer) return;
  announceTimer = window.setTimeout(() => {
    announceTimer = 0;
    announced = Date.now();
    announcement.set(pendingText);
  }, Math.max(0, announced + 5000 - Date.now()));
}

/**
 * Loads data for a component, and again when a key changes. Keeps the old data while it loads.
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} load
 * @param {any[]} keys
 * @returns {{data: T | undefined, error: Error | null, loading: boolean, reload: () => void}}
 */
export function useData(load, keys) {
  const [state, setState] = useState(/** @type {{data: any, error: any, loading: boolean, key: string}} */ ({ data: undefined, error: null, loading: true, key: "" }));
  const [turn, setTurn] = useState(0);
  const key = JSON.stringify(keys);
  useEffect(() => {
    const abort = new AbortController();
    setState((s) => ({ ...s, loading: true, data: s.key === key ? s.data : undefined, error: s.key === key ? s.error : null, key }));
    load(abort.signal).then(
      (data) => { if (!abort.signal.aborted) setState({ data, error: null, loading: false, key }); },
      (error) => { if (!abort.signal.aborted) setState((s) => ({ ...s, error, loading: false })); },
    );
    return () => abort.abort();
  }, [key, turn]);
  const reload = useRef(() => setTurn((n) => n + 1)).current;
  return { ...state, reload };
}
