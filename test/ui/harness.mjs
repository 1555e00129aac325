// A real server, a real browser, and a client of the API for the tests of the pages.
import { spawn } from "node:child_process";
import { appendFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { chromium } from "playwright-core";

const kubeconfig = process.env.K8S_CLI_TEST_KUBECONFIG || "";
const programs = process.env.K8S_CLI_TEST_BIN || "";
const namespace = process.env.K8S_CLI_TEST_NAMESPACE || "default";

/** How long a test waits for an expected state, in milliseconds; the machine may be slow. */
const patience = Number(process.env.K8S_CLI_TEST_PATIENCE) || 300_000;

/** A server program with its own log. */
export class Server {
  /** @param {string[]} flags @param {{nats?: string, namespace?: string}} [o] nats is the URL of an external NATS */
  constructor(flags = [], { nats, namespace: own = namespace } = {}) {
    this.dir = mkdtempSync(join(tmpdir(), "k8s-cli-ui-"));
    this.flags = [...flags, "--namespace", own, ...(nats ? ["--nats-url", nats] : ["--data-dir", join(this.dir, "data"), "--nats-listen", "off"])];
    this.port = 0;
    this.output = "";
  }

  get url() { return `http://127.0.0.1:${this.port}`; }

  async start() {
    const args = ["--listen", `127.0.0.1:${this.port}`, "--kubeconfig", kubeconfig, "--allowed-annotations", "pod-end.k8s-cli.local/", ...this.flags];
    this.process = spawn(join(programs, "k8s-cli-server"), args, { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, K8S_CLI_API_PORT: "" } });
    await new Promise((resolve, reject) => {
      const read = (data) => {
        this.output += data;
        const m = /msg=ready .*?listen=\S*?:(\d+)/.exec(this.output);
        if (m) { this.port = Number(m[1]); resolve(undefined); }
      };
      this.process.stdout.on("data", read);
      this.process.stderr.on("data", read);
      this.process.once("exit", (code) => reject(new Error(`the server ended with code ${code}:\n${this.output}`)));
    });
    return this;
  }

  /** Ends the server at once; start starts it again on the same port with the same log. */
  async kill() {
    const ended = new Promise((resolve) => this.process.once("exit", resolve));
    this.process.kill("SIGKILL");
    await ended;
    this.output = "";
  }

  async stop() {
    await this.kill();
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** @param {string} user */
  as(user) { return new API(this, { "X-User": user }); }

  /** @param {string} token */
  with(token) { return new API(this, { Authorization: "Bearer " + token }); }
}

/** Forwards TCP connections to an address until cut or silence is called, and again afterwards. */
export class Link {
  /** @param {string} to URL @param {string} [scheme] of the URL of the link */
  constructor(to, scheme = "nats") {
    const { hostname, port } = new URL(to);
    this.scheme = scheme;
    this.isCut = this.isSilent = false;
    /** @type {Set<import("node:net").Socket>} */ this.sockets = new Set();
    this.listener = createServer((near) => {
      if (this.isCut) return near.destroy();
      const far = connect(Number(port), hostname);
      for (const [socket, other] of [[near, far], [far, near]]) {
        this.sockets.add(socket);
        socket.on("error", () => {}).on("close", () => { this.sockets.delete(socket); other.destroy(); });
      }
      if (this.isSilent) near.pause();
      near.pipe(far).pipe(near);
      if (this.isSilent) for (const s of [near, far]) s.pause();
    });
  }

  async open() {
    await new Promise((resolve) => this.listener.listen(0, "127.0.0.1", () => resolve(undefined)));
    this.url = `${this.scheme}://127.0.0.1:${/** @type {import("node:net").AddressInfo} */ (this.listener.address()).port}`;
    return this;
  }

  cut() { this.isCut = true; for (const s of this.sockets) s.destroy(); }
  restore() { this.isCut = false; }

  /** Connections stay open, and carry nothing. @param {boolean} on */
  silence(on) {
    this.isSilent = on;
    for (const s of this.sockets) on ? s.pause() : s.resume();
  }

  close() { this.cut(); this.listener.close(); }
}

/** A client of the API, as a program uses it. */
export class API {
  /** @param {Server} server @param {Record<string, string>} credentials */
  constructor(server, credentials) { this.server = server; this.credentials = credentials; }

  async call(method, path, body, type = "application/json") {
    const response = await fetch(this.server.url + path, {
      method, headers: { ...this.credentials, ...(body === undefined ? {} : { "Content-Type": type }) },
      body: body === undefined || typeof body === "string" ? body : JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return { text, headers: response.headers, get data() { return JSON.parse(text); } };
  }

  async get(path) { return (await this.call("GET", path)).data; }
  async post(path, body = {}) { return (await this.call("POST", path, body)).data; }
  async submit(task) { return (await this.post("/tasks/submit", task)).task_id; }

  /** Submits tasks and returns their ids. @param {object[]} tasks */
  async batch(tasks) {
    const { results } = await this.post("/tasks/batch", tasks);
    const bad = results.find((r) => !r.task_id);
    if (bad) throw new Error(`a task was rejected: ${bad.detail}`);
    return results.map((r) => r.task_id);
  }

  /** @param {string} id @param {(task: any) => boolean} test */
  await(id, test) { return eventually(async () => { const t = await this.get(`/tasks/${id}`); return test(t) ? t : null; }, `task ${id}`); }
}

/** A task on a fake node, which ends after a time. @param {string} name @param {string} after @param {object} [more] */
export function task(name, after = "3h", { exitCode, ...more } = {}) {
  const annotations = { "pod-end.k8s-cli.local/after": after, ...(exitCode === undefined ? {} : { "pod-end.k8s-cli.local/exit-code": String(exitCode) }) };
  return { name, run: "true", resources: { cpus: 1, memory: 1, ...more.resources }, config: { kubernetes: { pod_config: { metadata: { annotations } } } }, ...without(more, "resources") };
}

const without = (object, key) => Object.fromEntries(Object.entries(object).filter(([k]) => k !== key));

/** The log of every fake pod. @param {string[]} lines @param {(i: number) => string} [time] */
export function writeLog(lines, time = (i) => new Date(Date.UTC(2026, 10, 23, 8) + i * 7).toISOString().replace("Z", "000001Z")) {
  writeFileSync(join(dirname(kubeconfig), "log", "fake-pods.log"), lines.map((l, i) => `${time(i)} stdout F ${l}\n`).join(""));
}

/** @param {string[]} lines of every fake pod, of now */
export function appendLog(lines) {
  const time = new Date().toISOString().replace("Z", "000001Z");
  appendFileSync(join(dirname(kubeconfig), "log", "fake-pods.log"), lines.map((l) => `${time} stdout F ${l}\n`).join(""));
}

export function removeLog() { rmSync(join(dirname(kubeconfig), "log", "fake-pods.log"), { force: true }); }

/** Tries again until a value is there. @template T @param {() => Promise<T>} f @param {string} what @param {number} [limit] milliseconds */
export async function eventually(f, what, limit = patience) {
  const end = Date.now() + limit;
  let problem = "";
  while (Date.now() < end) {
    try {
      const value = await f();
      if (value) return value;
      problem = `the last value is ${value}`;
    } catch (err) { problem = String(err.message || err); }
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
  throw new Error(`${what}: not within ${limit} ms; ${problem}`);
}

const browserPath = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((p) => existsSync(p));

export async function openBrowser() {
  if (!browserPath) throw new Error("Chromium is missing: run make test-ui, which installs it");
  return chromium.launch({ executablePath: browserPath, args: ["--no-sandbox", "--disable-gpu", "--js-flags=--expose-gc", "--enable-precise-memory-info"] });
}

/**
 * A page of a user who has logged in. Records what a page must not do: requests
 * to other hosts, errors, violations of the Content-Security-Policy, dialogs.
 */
export async function openPage(browser, server, user, { path = "/ui/", ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  if (user) await login(context, server, user);
  return openTab(context, server, path);
}

/** A further page of a browser. @param {import("playwright-core").BrowserContext} context @param {Server} server @param {string} path @param {string} [other] URL of another host that the page may open */
export async function openTab(context, server, path, other) {
  const page = await context.newPage();
  page.setDefaultTimeout(patience);
  /** @type {string[]} */
  const faults = [];
  page.on("request", (r) => { if (!r.url().startsWith(server.url) && !r.url().startsWith("data:") && !(other && r.url().startsWith(other))) faults.push(`request to ${r.url()}`); });
  page.on("pageerror", (e) => faults.push(`error: ${e.stack}`));
  page.on("console", (m) => { if (m.type() === "error" && !/Failed to load resource|ERR_/.test(m.text())) faults.push(`console: ${m.text()}`); });
  page.on("dialog", (d) => { faults.push(`dialog: ${d.message()}`); d.dismiss(); });
  // A test that waits in vain says what the page shows instead.
  const wait = page.waitForSelector.bind(page);
  page.waitForSelector = /** @type {any} */ (async (selector, o) => {
    try {
      return await wait(selector, o);
    } catch (err) {
      const text = await page.evaluate(() => document.body.innerText.slice(0, 500)).catch(String);
      throw new Error(`${selector} does not appear on ${page.url()}: ${text}\n${faults.join("\n")}`, { cause: err });
    }
  });
  await page.goto(server.url + path);
  return Object.assign(page, { faults });
}

/** Logs in as the form does. @param {import("playwright-core").BrowserContext} context @param {Server} server @param {string} user */
export async function login(context, server, user) {
  const response = await context.request.post(`${server.url}/session`, { data: { user }, headers: { "X-Requested-With": "k8s-cli-ui", Origin: server.url } });
  if (!response.ok()) throw new Error(`login: ${response.status()} ${await response.text()}`);
  const { session_key: key } = await response.json();
  await context.addInitScript((key) => localStorage.setItem("k8s-cli-session-key", key), key);
}

/** @param {number[]} values */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted.length % 2 ? sorted[(sorted.length - 1) / 2] : (sorted[sorted.length / 2 - 1] + sorted[sorted.length / 2]) / 2;
}

/** @param {string} name @param {number[]} values @param {string} unit */
export function report(name, values, unit) {
  console.log(`# ${name}: median ${Math.round(median(values) * 10) / 10} ${unit}${values.length > 1 ? ` (${values.map((v) => Math.round(v * 10) / 10).join(", ")})` : ""}`);
}

/** @returns {Promise<number>} MB of the heap of a page after a garbage collection */
export async function heap(page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("HeapProfiler.collectGarbage");
  const { metrics } = await cdp.send("Performance.enable").then(() => cdp.send("Performance.getMetrics"));
  return metrics.find((m) => m.name === "JSHeapUsedSize").value / 1e6;
}
