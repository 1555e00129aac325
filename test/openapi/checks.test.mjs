// Checks the description of a real server with the tools that users have: linters, generators of clients, a mock, an
// editor and a browser. TestTools starts this file.
import assert from "node:assert/strict";
import {execFileSync, spawn} from "node:child_process";
import {once} from "node:events";
import {mkdirSync, readFileSync, rmSync, writeFileSync} from "node:fs";
import {createRequire} from "node:module";
import {createServer} from "node:net";
import {dirname, join} from "node:path";
import {before, test} from "node:test";
import {fileURLToPath} from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const url = process.env.K8S_CLI_TEST_URL;
const user = {"X-User": "ann@example.com"};
const work = join(here, "build"); // below node_modules of this directory, so that the generated clients find their packages
const api = join(work, "openapi.json");
const tool = (name, ...args) => execFileSync(join(here, "node_modules/.bin", name), args, {
  cwd: here, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"],
  env: {...process.env, REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true"},
});

before(async () => {
  rmSync(work, {recursive: true, force: true});
  mkdirSync(work);
  writeFileSync(api, await (await fetch(url + "/openapi.json")).text());
});

test("redocly has no findings", () => {
  // the operation that leads a browser to the issuer has no 2xx response
  const report = JSON.parse(tool("redocly", "lint", "--extends=recommended", "--skip-rule=operation-2xx-response", "--format=json", api));
  assert.deepEqual(report.totals, {errors: 0, warnings: 0, ignored: 0});
});

test("each operation has a successful response", () => {
  const {paths} = JSON.parse(readFileSync(api, "utf8"));
  const webSockets = [];
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, {responses}] of Object.entries(methods)) {
      if (responses?.["101"]) webSockets.push(path);
      else if (responses) assert.ok(Object.keys(responses).some((code) => /^[23]/.test(code)), `${method} ${path}`);
    }
  }
  assert.deepEqual(webSockets, ["/tasks/{id}/exec", "/tasks/{id}/port-forward"]);
});

test("spectral has no findings", () => {
  assert.match(tool("spectral", "lint", "--fail-severity=hint", api), /No results/);
});

test("openapi-typescript and @hey-api/openapi-ts make strict clients that work", async () => {
  tool("openapi-typescript", api, "-o", join(work, "types.ts"));
  tool("openapi-ts", "-i", api, "-o", join(work, "hey"), "-c", "@hey-api/client-fetch");
  const options = ["--strict", "--target", "es2022", "--module", "preserve", "--moduleResolution", "bundler", "--skipLibCheck"];
  tool("tsc", ...options, "--noEmit", "stories.ts");
  tool("tsc", "--strict", "--target", "es2022", "--module", "commonjs", "--moduleResolution", "node10", "--skipLibCheck", "--outDir", join(work, "js"), "stories.ts");
  writeFileSync(join(work, "js/package.json"), '{"type": "commonjs"}');
  const {stories} = createRequire(import.meta.url)(join(work, "js/stories.js"));
  for (const [name, story] of Object.entries(stories)) {
    await story(url).catch((err) => { throw new Error(name + ": " + err.message); });
  }
});

test("prism answers with the examples", async () => {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const {port} = listener.address();
  listener.close();
  const prism = spawn(join(here, "node_modules/.bin/prism"), ["mock", "-p", String(port), api], {stdio: ["ignore", "pipe", "inherit"]});
  try {
    await new Promise((resolve, reject) => {
      prism.stdout.on("data", (text) => String(text).includes("listening") && resolve());
      prism.on("exit", () => reject(new Error("prism ended")));
    });
    const get = async (path, options) => (await fetch(`http://127.0.0.1:${port}${path}`, options)).json();
    assert.equal((await get("/tasks/lex9x817", {headers: user})).name, "hello");
    assert.equal((await get("/whoami")).reason, "CredentialsMissing");
    const submitted = await get("/tasks/submit", {method: "POST", headers: {...user, "Content-Type": "application/json"}, body: '{"run": "true"}'});
    assert.equal(submitted.task_id, "lex9x817");
  } finally {
    prism.kill();
  }
});

test("yaml-language-server completes and diagnoses a task file", async () => {
  const server = spawn(join(here, "node_modules/.bin/yaml-language-server"), ["--stdio"], {stdio: ["pipe", "pipe", "inherit"]});
  try {
    const editor = connect(server);
    await editor.request("initialize", {processId: process.pid, rootUri: null, capabilities: {textDocument: {completion: {}}}});
    editor.notify("initialized", {});
    editor.notify("workspace/didChangeConfiguration", {settings: {yaml: {validate: true, completion: true, schemaStore: {enable: false}}}});
    const uri = "file:///task.yaml";
    const text = `# yaml-language-server: $schema=${url}/schema/task.json\nnmae: x\nrun: echo\nresources:\n  disk_size: 100\n  acc\n`;
    const diagnosed = editor.until((m) => m.method === "textDocument/publishDiagnostics" && m.params.diagnostics.some((d) => d.message.includes("nmae")));
    editor.notify("textDocument/didOpen", {textDocument: {uri, languageId: "yaml", version: 1, text}});
    const {params} = await diagnosed;
    assert.ok(params.diagnostics.some((d) => d.message.includes("disk_size")), JSON.stringify(params.diagnostics));
    const {result} = await editor.request("textDocument/completion", {textDocument: {uri}, position: {line: 5, character: 5}});
    assert.ok(result.items.some((item) => item.label === "accelerators"), JSON.stringify(result).slice(0, 500));
  } finally {
    server.kill();
  }
});

// connect speaks the Language Server Protocol with a process.
function connect(server) {
  let buffer = Buffer.alloc(0), next = 1;
  const waiting = new Set();
  const send = (message) => {
    const body = JSON.stringify({jsonrpc: "2.0", ...message});
    server.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  };
  const receive = (message) => {
    if (message.method && message.id !== undefined) send({id: message.id, result: message.method === "workspace/configuration" ? message.params.items.map(() => null) : null});
    for (const w of waiting) if (w.match(message)) { waiting.delete(w); w.resolve(message); }
  };
  server.stdout.on("data", (chunk) => {
    buffer = Buffer.concat([buffer, chunk]);
    for (;;) {
      const end = buffer.indexOf("\r\n\r\n");
      if (end < 0) return;
      const size = Number(/Content-Length: (\d+)/i.exec(buffer.subarray(0, end))[1]);
      if (buffer.length < end + 4 + size) return;
      receive(JSON.parse(buffer.subarray(end + 4, end + 4 + size)));
      buffer = buffer.subarray(end + 4 + size);
    }
  });
  const until = (match) => new Promise((resolve) => waiting.add({match, resolve}));
  return {
    until,
    notify: (method, params) => send({method, params}),
    request(method, params) { const id = next++; const answer = until((m) => m.id === id && !m.method); send({id, method, params}); return answer; },
  };
}

test("a browser submits a task from /docs, without a request to another host", async () => {
  const {chromium} = await import("playwright-core");
  const browser = await chromium.launch({executablePath: process.env.K8S_CLI_TEST_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"]});
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(300_000); // the machine may be slow
    const requests = [];
    page.on("request", (r) => requests.push(r.url()));
    await page.goto(url + "/docs#tag/tasks/operation/submitTask");
    await page.getByRole("button", {name: "TRY"}).first().waitFor();
    assert.ok(page.url().endsWith("#post-/tasks/submit"), page.url());
    await page.locator("rapi-doc").evaluate((viewer) => viewer.setApiKey("user", "ann@example.com"));
    const answered = page.waitForResponse((r) => new URL(r.url()).pathname === "/tasks/submit");
    await page.getByRole("button", {name: "TRY"}).first().click();
    const answer = await answered;
    assert.equal(answer.status(), 200, `${answer.url()}: ${await answer.text()}`);
    const {tasks} = await (await fetch(url + "/tasks?limit=1", {headers: user})).json();
    assert.equal(tasks[0].name, "hello"); // the example of the page
    assert.deepEqual(requests.filter((r) => !r.startsWith(url + "/") && !r.startsWith("data:") && !r.startsWith("blob:")), []);
  } finally {
    await browser.close();
  }
});
