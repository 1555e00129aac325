// A shell in a node of a running task, in a document of its own. The document has no access to
// anything that the pages do not have: it uses the same session.
import "./adoptstyles.js"; // before xterm.js
import { FitAddon } from "../vendor/xterm-fit.js";
import { Terminal } from "../vendor/xterm.js";
import { html, render, useEffect, useRef, useState } from "./html.js";
import { request, server, sessionKey, taskPath, url } from "./api.js";
import { plural } from "./format.js";
import { Icon } from "./parts.js";
import { readSession } from "./session.js";
import { useStore } from "./store.js";
import { theme } from "./theme.js";

const protocol = "v1.session.k8s-cli";
const stdin = 0, status = 3, resize = 4; // channels of docs/exec.md; 1 and 2 are output
const maxData = 32 << 10; // bytes of one message
const maxPending = 4 << 20; // bytes that the terminal has not drawn yet
const shell = `export TERM=xterm-256color; if command -v bash >/dev/null 2>&1; then exec bash; fi; exec sh`;

const id = decodeURIComponent(location.pathname.split("/")[3] || ""), node = Number(new URLSearchParams(location.search).get("node")) || 0;
const path = url(taskPath(id, "/exec"), { node, tty: true, stdin: true, command: ["sh", "-c", shell], session_key: sessionKey() });

/** How a session ended. @typedef {{text: string, tone: "good" | "bad"}} End */

/** @param {number} channel @param {Uint8Array | object} content */
function message(channel, content) {
  const data = content instanceof Uint8Array ? content : new TextEncoder().encode(JSON.stringify(content));
  const all = new Uint8Array(data.length + 1);
  all[0] = channel;
  all.set(data, 1);
  return all;
}

/** The colours of the terminal are those of the logs. */
function colours() {
  const style = getComputedStyle(document.documentElement), of = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  const names = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
  const ansi = names.flatMap((name, i) => [[name, of("--c" + i)], ["bright" + name[0].toUpperCase() + name.slice(1), of("--c" + (i + 8))]]);
  return { background: of("--term"), foreground: of("--term-ink"), cursor: of("--accent"), cursorAccent: of("--term"), selectionBackground: of("--mark"), selectionForeground: of("--mark-ink"), ...Object.fromEntries(ansi) };
}

/** A WebSocket does not say why the server refused it, so the same request without one asks. @returns {Promise<string>} */
async function refusal() {
  try {
    await request(path, { cache: "no-store" });
  } catch (err) {
    const { status: code, message: text } = /** @type {import("./api.js").ApiError} */ (err);
    if (code === 401) return "The session has ended. Log in again.";
    if (code !== 426) return text;
  }
  return "The connection could not be opened. A proxy in front of the server may not pass on WebSockets.";
}

/** One session: the WebSocket, and what it writes to the terminal. */
class Session {
  /** @param {Terminal} terminal @param {(end: End | null) => void} changed called with null when the session begins */
  constructor(terminal, changed) {
    this.terminal = terminal;
    this.changed = changed;
    this.pending = this.skipped = 0;
    this.begun = this.over = false;
    this.socket = new WebSocket(location.origin.replace(/^http/, "ws") + path, protocol);
    this.socket.binaryType = "arraybuffer";
    this.socket.onopen = () => { this.begun = true; this.resize(); changed(null); };
    this.socket.onmessage = (e) => this.receive(new Uint8Array(e.data));
    this.socket.onclose = async () => { if (!this.over) this.end({ text: this.begun ? await interruption() : await refusal(), tone: "bad" }); };
  }

  close() { this.over = true; this.socket.close(); }

  /** @param {End} end */
  end(end) {
    if (this.over) return;
    this.over = true;
    this.changed(end);
  }

  /** @param {Uint8Array} data */
  receive(data) {
    if (data[0] !== status) return this.write(data.subarray(1));
    const { exit_code: code, error } = JSON.parse(new TextDecoder().decode(data.subarray(1)));
    if (!error) return this.end({ text: `The shell ended with exit code ${code}.`, tone: code ? "bad" : "good" });
    this.end({ text: `The session ended: ${error}.`, tone: "bad" });
    readSession().catch(() => {}); // after a logout, the page offers the login
  }

  /** Browsers cannot slow down a sender, so output that comes faster than it can be drawn is left out. @param {Uint8Array} data */
  write(data) {
    if (this.pending > maxPending) { this.skipped += data.length; return; }
    this.pending += data.length;
    if (this.skipped) this.terminal.write(`\r\n[${plural(this.skipped, "byte")} left out]\r\n`);
    this.skipped = 0;
    this.terminal.write(data, () => { this.pending -= data.length; });
  }

  /** @param {Uint8Array} data */
  send(data) {
    if (!this.begun || this.over) return;
    for (let at = 0; at < data.length; at += maxData) this.socket.send(message(stdin, data.subarray(at, at + maxData)));
  }

  resize() {
    if (this.begun && !this.over) this.socket.send(message(resize, { Width: this.terminal.cols, Height: this.terminal.rows }));
  }
}

/** Why a session ended without a word of the server. @returns {Promise<string>} */
async function interruption() {
  const session = await readSession().catch(() => null);
  if (session && !session.user) return "The session has ended, because you logged out.";
  return "The connection broke off. Processes in the task may go on.";
}

/** @param {{current: HTMLElement | null}} frame @param {number} turn a new number begins a new session */
function useTerminal(frame, turn) {
  const [end, setEnd] = useState(/** @type {End | null | undefined} */ (undefined));
  const terminal = useRef(/** @type {Terminal | null} */ (null)), session = useRef(/** @type {Session | null} */ (null));
  useEffect(() => {
    const t = (terminal.current = new Terminal({ cursorBlink: !matchMedia("(prefers-reduced-motion: reduce)").matches, fontFamily: "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace", fontSize: 13, lineHeight: 1.2, scrollback: 5000, minimumContrastRatio: 4.5, screenReaderMode: true, theme: colours() }));
    const fit = new FitAddon(), encoder = new TextEncoder();
    t.loadAddon(fit);
    t.open(/** @type {HTMLElement} */ (frame.current));
    fit.fit();
    t.attachCustomKeyEventHandler((e) => !(e.key === "Tab" && e.shiftKey)); // the browser moves the focus out of the terminal
    t.onData((text) => session.current?.send(encoder.encode(text)));
    t.onBinary((text) => session.current?.send(Uint8Array.from(text, (c) => c.charCodeAt(0))));
    t.onResize(() => session.current?.resize());
    const observer = new ResizeObserver(() => fit.fit());
    observer.observe(/** @type {HTMLElement} */ (frame.current));
    const recolour = () => setTimeout(() => { t.options.theme = colours(); });
    const system = matchMedia("(prefers-color-scheme: dark)");
    system.addEventListener("change", recolour);
    const end = theme.subscribe(recolour);
    return () => { observer.disconnect(); system.removeEventListener("change", recolour); end(); t.dispose(); };
  }, []);
  useEffect(() => {
    const t = /** @type {Terminal} */ (terminal.current);
    setEnd(undefined);
    t.reset();
    const s = (session.current = new Session(t, (e) => { setEnd(e); t.options.disableStdin = !!e; if (!e) t.focus(); }));
    return () => s.close();
  }, [turn]);
  return end;
}

function TerminalPage() {
  const frame = useRef(/** @type {HTMLElement | null} */ (null));
  const [turn, setTurn] = useState(0);
  const end = useTerminal(frame, turn), { needsLogin } = useStore(server);
  useEffect(() => { document.title = `Terminal ${id} · k8s-cli`; }, []);
  const state = end === undefined ? "Connecting" : end === null ? "Connected" : "Ended";
  return html`<main class="term"><header class="term-head"><h1><span class="term-state">${end === null && html`<i class="dot"></i>`}${state}</span> <span class="dim">node ${node} of <code>${id}</code></span></h1><p class="dim small">Shift+Tab leaves the terminal</p></header>
    <div class="term-frame" ref=${frame}></div>
    <div role="status">${end && html`<p class=${"term-end " + end.tone}><${Icon} name=${end.tone === "good" ? "completed" : "warning"} /><span class="wrap-any">${end.text}</span>
      ${needsLogin ? html`<a class="button" href="/ui/login" target="_top">Log in</a>` : html`<button class="button" onClick=${() => setTurn(turn + 1)}><${Icon} name="again" />Open again</button>`}</p>`}</div></main>`;
}

window.addEventListener("storage", (e) => { if (e.key === "theme") theme.set(e.newValue || "auto"); });
render(html`<${TerminalPage} />`, /** @type {Element} */ (document.getElementById("app")));
