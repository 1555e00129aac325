// The stream of events of the page, and its right to follow a log. The tabs of a browser share
// one stream in a worker; a browser without shared workers has a stream for each tab. A hidden
// tab takes no part.
import { server, sessionKey } from "./api.js";
import { Hub } from "./hub.js";
import { createStore } from "./store.js";

/** @typedef {import("./events.js").Event} Event */
/** @typedef {{onEvents?: (events: Event[]) => void, onReset?: () => void}} Listener onReset: events may be missing, so what the page shows must be read again */

const period = 10_000; // between two messages that say that the tab is there
const hiddenFor = 3000; // until a hidden tab leaves

/** @type {Set<Listener>} */
const listeners = new Set();
/** @type {MessagePort | null} */
let port = null;
/** @type {{user: string, all: boolean} | null} */
let watched = null;
let away = false; // hidden
let logWanted = false;

/** Whether the page may follow a log: the last page that asked may. The others read what is new now and then. */
export const mayFollow = createStore(true);

/** @param {Listener} listener @returns {() => void} ends the subscription */
export function onEvents(listener) {
  listeners.add(listener);
  return () => { listeners.delete(listener); };
}

/** Opens the stream of the page, or opens it again for other users. @param {string} user @param {boolean} all the events of all users */
export function openStream(user, all) {
  watched = { user, all };
  if (!away) watch();
}

export function closeStream() {
  watched = null;
  leave();
}

/** Resumes the stream after the server did not respond. */
export function renewStream() { post({ type: "renew" }); }

/** @param {boolean} wanted whether the page shows a log */
export function wantLog(wanted) {
  logWanted = wanted;
  if (!away) post({ type: "log", wanted });
}

function watch() {
  if (watched) post({ type: "watch", ...watched, key: sessionKey() });
}

function leave() {
  if (port) post({ type: "leave" });
  server.patch({ stream: "off" });
}

/** @param {import("./hub.js").Request} r */
function post(r) {
  port ??= connect();
  port.postMessage(r);
}

/** @returns {MessagePort} */
function connect() {
  try {
    const worker = new SharedWorker(new URL("./worker.js", import.meta.url), { type: "module", name: "k8s-cli" });
    worker.onerror = () => { use(own()); rejoin(); }; // the worker could not be loaded
    return use(worker.port);
  } catch { return use(own()); }
}

/** @returns {MessagePort} a hub of this tab alone */
function own() {
  const { port1, port2 } = new MessageChannel();
  new Hub().add(port1);
  return port2;
}

/** @param {MessagePort} p */
function use(p) {
  if (port) port.onmessage = null;
  p.onmessage = ({ data }) => receive(data);
  return (port = p);
}

/** @param {import("./hub.js").Answer} a */
function receive(a) {
  if (away || !watched) return;
  if (a.events) for (const l of listeners) l.onEvents?.(a.events);
  if (a.reset) reset();
  if (a.state) server.patch({ stream: a.state, ...(a.status === 401 && { needsLogin: true }) });
  if (a.log !== undefined) mayFollow.set(a.log);
}

function reset() { for (const l of listeners) l.onReset?.(); }

function rejoin() {
  watch();
  if (logWanted) post({ type: "log", wanted: true });
}

// After an interruption without an error, the old connection may be dead although it is open.
let wasUnreachable = false;
server.subscribe(({ unreachableSince }) => {
  if (wasUnreachable && !unreachableSince && !away && watched) renewStream();
  wasUnreachable = !!unreachableSince;
});

let timer = 0;
function visibility() {
  clearTimeout(timer);
  if (document.hidden) timer = window.setTimeout(() => { away = true; leave(); }, hiddenFor);
  else if (away) { away = false; rejoin(); reset(); } else rejoin();
}
document.addEventListener("visibilitychange", visibility);
window.addEventListener("focus", () => { if (!away) rejoin(); }); // the tab that was used last follows its log
window.addEventListener("pagehide", () => { clearTimeout(timer); away = true; leave(); });
window.addEventListener("pageshow", (e) => { if (e.persisted) visibility(); });
window.addEventListener("online", () => { if (!away) renewStream(); });
setInterval(() => { if (!away) watch(); }, period);
