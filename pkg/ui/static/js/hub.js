// What the tabs of a browser share, because a browser opens only six connections to a server over
// HTTP/1.1: one stream of events, and the right to follow a log.
import { Stream } from "./events.js";

/** @typedef {import("./events.js").Event} Event */

/**
 * @typedef {{type: "watch", user: string, all: boolean, key: string} | {type: "leave"} | {type: "renew"} | {type: "log", wanted: boolean}} Request
 * watch begins the events of a user, and says every few seconds that the tab still shows them; all are the events of
 * all users. renew opens the stream again. log asks for the right to follow a log.
 */

/** @typedef {{events?: Event[], reset?: boolean, state?: import("./events.js").StreamState, status?: number, log?: boolean}} Answer */

const period = 15_000;
const silent = 60_000; // a tab that sends nothing for this time is gone

/** @typedef {{port: MessagePort, user: string, all: boolean, heard: number}} Tab */

export class Hub {
  constructor() {
    /** @type {Map<MessagePort, Tab>} */ this.tabs = new Map();
    /** @type {MessagePort[]} */ this.logs = []; // the last one may follow its log
    /** @type {Stream | null} */ this.stream = null;
    this.user = this.key = "";
    this.all = false;
    /** @type {import("./events.js").StreamState} */ this.state = "off";
    setInterval(() => this.forget(), period);
  }

  /** @param {MessagePort} port */
  add(port) {
    port.onmessage = ({ data }) => this.receive(port, data);
  }

  /** @param {MessagePort} port @param {Request} r */
  receive(port, r) {
    if (r.type === "watch") this.watch(port, r);
    if (r.type === "leave") this.leave(port);
    if (r.type === "renew") this.stream?.renew();
    if (r.type === "log") this.follow(port, r.wanted);
  }

  /** @param {MessagePort} port @param {{user: string, all: boolean, key: string}} r */
  watch(port, { user, all, key }) {
    const known = this.tabs.get(port);
    this.tabs.set(port, { port, user, all, heard: Date.now() });
    if (user !== this.user || key !== this.key || !this.stream || this.stream.closed) {
      [this.user, this.key] = [user, key];
      this.stream?.close();
      this.stream = null;
    }
    this.open();
    if (!known) this.send(port, { state: this.state });
  }

  /** Opens the stream for the users that the tabs show. */
  open() {
    const tabs = [...this.tabs.values()].filter((t) => t.user === this.user), all = tabs.some((t) => t.all);
    if (this.stream && all === this.all) return;
    const lastID = this.stream?.lastID;
    this.stream?.close();
    this.all = all;
    this.stream = new Stream((last, signal) => this.request(last, signal), {
      lastID,
      onEvents: (events) => this.events(events),
      onReset: () => this.broadcast({ reset: true }),
      onState: (state, problem) => { this.state = state; this.broadcast({ state, status: problem?.status }); },
    });
  }

  /** @param {string} lastID @param {AbortSignal} signal */
  async request(lastID, signal) {
    /** @type {Record<string, string>} */
    const headers = { Accept: "text/event-stream", "X-Requested-With": "k8s-cli-ui" };
    if (this.key) headers["X-Session-Key"] = this.key;
    if (lastID) headers["Last-Event-ID"] = lastID;
    const response = await fetch("/events" + (this.all ? "?all_users=true" : ""), { headers, signal, credentials: "same-origin" });
    if (response.ok) return response;
    await response.body?.cancel();
    throw Object.assign(new Error(`The server responded with status ${response.status}.`), { status: response.status });
  }

  /** @param {Event[]} events */
  events(events) {
    for (const tab of this.tabs.values()) {
      const own = tab.all || !this.all ? events : events.filter((e) => e.user === tab.user);
      if (tab.user === this.user && own.length) this.send(tab.port, { events: own });
    }
  }

  /** @param {Answer} a */
  broadcast(a) { for (const port of this.tabs.keys()) this.send(port, a); }

  /** @param {MessagePort} port @param {Answer} a */
  send(port, a) { port.postMessage(a); }

  /** @param {MessagePort} port */
  leave(port) {
    this.tabs.delete(port);
    this.follow(port, false);
    if (this.tabs.size) return this.open();
    this.stream?.close();
    this.stream = null;
  }

  /** Gives the right to follow a log to the tab that asked last. @param {MessagePort} port @param {boolean} wanted */
  follow(port, wanted) {
    const before = this.logs.at(-1);
    this.logs = this.logs.filter((p) => p !== port);
    if (wanted) this.logs.push(port);
    const now = this.logs.at(-1);
    if (before === now) return;
    if (before) this.send(before, { log: false });
    if (now) this.send(now, { log: true });
  }

  forget() {
    for (const tab of this.tabs.values()) if (Date.now() - tab.heard > silent) this.leave(tab.port);
  }
}
