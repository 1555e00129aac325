// The pages in a real browser, with a real server, on a cluster with fake nodes: what is shown is
// true, nothing is executed, every page is usable by keyboard and on a narrow screen.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { Server, appendLog, eventually, openBrowser, openPage, removeLog, task, writeLog } from "./harness.mjs";

const many = 2000, places = 12;
const markup = `<script>window.hacked=1</script><img src=x onerror="window.hacked=2">`;
const axe = readFileSync(new URL("node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

/** @type {Server} */ let server;
/** @type {import("playwright-core").Browser} */ let browser;
/** @type {string[]} */ let manyIDs;
/** @type {Record<string, string>} tasks of ann by kind */ const ids = {};

const rows = (page) => page.$$eval(".row[data-id]", (all) => all.map((r) => ({ id: r.dataset.id, index: Number(r.dataset.index), text: r.textContent })));
const rowIDs = async (page) => (await rows(page)).map((r) => r.id);
const loaded = (page) => page.waitForSelector(".row[data-id]");
const close = async (page) => { const { faults } = page; await page.context().close(); assert.deepEqual(faults, []); };
const tab = (page, name) => page.$eval(`.tab.${name} b`, (e) => Number(e.textContent.replaceAll(",", "")));

before(async () => {
  writeLog(logLines());
  server = await new Server(["--max-active-jobs-per-user", String(places)]).start();
  browser = await openBrowser();
  const bob = server.as("bob"), ann = server.as("ann@example.com");
  manyIDs = await bob.batch(Array.from({ length: many }, (_, i) => task(`train-${i % 7}-${i}`, "3h", { resources: { labels: { team: i % 2 ? "vision" : "speech" } } })));
  ids.running = await ann.submit(task("running", "3h", { envs: { NOTE: markup }, max_duration: "4h", resources: { ports: ["8888", "9000-9010"] } }));
  ids.two = await ann.submit(task("two-nodes", "3h", { num_nodes: 2 }));
  ids.failed = await ann.submit(task("fails", "1s", { exitCode: 3 }));
  ids.done = await ann.submit(task("completes", "1s"));
  ids.huge = await ann.submit(task("unschedulable", "3h", { resources: { cpus: 5000 } }));
  ids.stopped = await ann.submit(task("stopped"));
  await ann.post(`/tasks/${ids.stopped}/stop`);
  await ann.post("/volumes/create", { name: "data", size: "10Gi" });
  ({ task_id: ids.after } = await ann.post(`/tasks/submit?after=${ids.running}`, task("comes-after")));
  const swept = [task("swept-fails", "1s", { exitCode: 3 }), task("swept-completes", "1s"), task("swept-runs"), task("swept-waits"), task("swept-waits-too")];
  [ids.sweptFails] = (await ann.post("/tasks/batch?group=sweep-1&max_parallel=2", swept)).results.map((r) => r.task_id);
  await ann.await(ids.running, (t) => t.status === "running");
  await ann.await(ids.two, (t) => t.metadata.running_nodes === 2);
  await ann.await(ids.failed, (t) => t.status === "failed");
  await ann.await(ids.done, (t) => t.status === "completed");
  await ann.await(ids.huge, (t) => t.metadata.reason === "Unschedulable");
  await eventually(async () => { const g = await ann.get("/groups/sweep-1"); return g.by_status.failed === 1 && g.by_status.completed === 1 && g.by_status.running === 2; }, "the group");
});

after(async () => {
  await browser?.close();
  for (const user of ["bob", "ann@example.com"]) await server?.as(user).post("/tasks/stop").catch(() => {});
  await server?.stop();
  removeLog();
});

function logLines() {
  const lines = Array.from({ length: 20_000 }, (_, i) => `step ${i} loss ${(1 / (1 + i)).toFixed(5)}${i % 250 === 0 ? " checkpoint" : ""}`);
  lines[100] = "\x1b[31mred words\x1b[0m and \x1b]0;title\x07\x1b[2Jthe rest";
  lines[101] = markup;
  lines[102] = "eval  10%\reval  60%\reval 100%";
  lines[103] = "see https://example.com/a?b=1.";
  lines[104] = "x".repeat(9000);
  return lines;
}

test("a page without a session leads to the login, and the cookie is out of reach of scripts", async () => {
  const page = await openPage(browser, server, "", { path: `/ui/tasks/${ids.running}` });
  await page.waitForSelector("#login-user");
  await page.fill("#login-user", "ann@example.com");
  await page.click("text=Log in");
  await page.waitForSelector("h1:has-text('running')");
  assert.equal(new URL(page.url()).pathname, `/ui/tasks/${ids.running}`, "the login returns to the page");
  assert.equal(await page.evaluate(() => document.cookie), "");
  await page.goto(`${server.url}/ui/me`);
  await page.click("text=Log out");
  await page.waitForSelector("#login-user");
  await close(page);
});

test("the response forbids inline code, and no page loads anything from elsewhere", async () => {
  const response = await fetch(`${server.url}/ui/`);
  const policy = response.headers.get("Content-Security-Policy") || "";
  assert.match(policy, /default-src 'none'/);
  assert.doesNotMatch(policy, /unsafe/);
  const page = await openPage(browser, server, "ann@example.com");
  for (const path of ["/ui/", `/ui/tasks/${ids.failed}`, `/ui/tasks/${ids.running}/logs`, "/ui/groups", "/ui/groups/sweep-1", "/ui/queue", "/ui/capacity", "/ui/volumes", "/ui/new", "/ui/me"]) {
    await page.goto(server.url + path);
    await page.waitForSelector("main .page h1, main .log-head");
  }
  await close(page); // checks the origin of all requests
});

test("a cold load of many tasks transfers little and keeps few rows", async () => {
  const page = await openPage(browser, server, "bob", { path: "/ui/me" });
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Network.enable");
  await cdp.send("Network.setCacheDisabled", { cacheDisabled: true });
  let bytes = 0;
  cdp.on("Network.dataReceived", (e) => { bytes += e.encodedDataLength; });
  await page.goto(`${server.url}/ui/`);
  await loaded(page);
  await eventually(async () => (await tab(page, "pending")) + (await tab(page, "running")) === many, "the counts on the tabs");
  assert.ok(bytes < 250_000, `${bytes} bytes`);
  assert.ok((await page.$$(".row")).length <= 150);
  assert.equal(await page.getAttribute(".table", "aria-rowcount"), String(many + 1));
  console.log(`# cold load: ${bytes} bytes`);
  await close(page);
});

test("scrolling to any position shows the tasks that the API lists there", async () => {
  const page = await openPage(browser, server, "bob");
  await loaded(page);
  const all = (await server.as("bob").get("/tasks?view=row")).tasks.map((t) => t.id);
  for (const share of [0.5, 0.23, 1]) {
    await page.$eval(".table", (el, s) => { el.scrollTop = s * el.scrollHeight; }, share);
    await eventually(async () => {
      const seen = await rows(page);
      return seen.length > 10 && seen.every((r) => all[r.index] === r.id) && seen.some((r) => Math.abs(r.index - share * (many - 1)) < 40);
    }, `the rows at ${share}`);
  }
  await page.focus(".table");
  await page.keyboard.press("Home");
  await page.keyboard.press("End");
  await eventually(async () => (await rowIDs(page)).includes(manyIDs[0]), "the oldest task");
  assert.ok((await page.$$(".row")).length <= 150);
  await close(page);
});

test("new tasks appear by themselves, and do not move what somebody reads", async () => {
  const bob = server.as("bob");
  const page = await openPage(browser, server, "bob");
  await loaded(page);
  await page.waitForSelector(".live:has-text('Live')");
  await page.mouse.move(5, 400);
  const first = await bob.submit(task("newcomer"));
  await eventually(async () => (await rowIDs(page))[0] === first, "the new task at the top");
  await page.hover(".row[data-index='3']");
  const read = (await rows(page)).slice(0, 10);
  const more = await bob.batch([task("later-1"), task("later-2")]);
  await page.waitForSelector(".new-rows:has-text('2 new tasks')");
  assert.deepEqual((await rowIDs(page)).slice(0, 10), read.map((r) => r.id), "the rows stay");
  await page.click(".new-rows");
  await eventually(async () => { const now = await rowIDs(page); return now[0] === more[1] && now[1] === more[0] && now[2] === first; }, "the new tasks");
  await close(page);
});

test("the first event of a task is enough to show its row", async () => {
  const bob = server.as("bob");
  const page = await openPage(browser, server, "bob");
  await loaded(page);
  await page.waitForSelector(".live:has-text('Live')");
  await page.mouse.move(5, 400);
  await page.route(/\/tasks\?.*view=row/, (route) => route.abort());
  const id = await bob.submit(task("by-its-event", "3h", { num_nodes: 3 }));
  await page.waitForSelector(`.row[data-id='${id}'][data-index='0']`);
  assert.match((await rows(page))[0].text, /by-its-event.*3 nodes/);
  await bob.post(`/tasks/${id}/stop`);
  await page.waitForSelector(`.row[data-id='${id}'] .status.stopped`);
  await page.unroute(/\/tasks\?.*view=row/);
  const next = await bob.submit(task("after-it"));
  await eventually(async () => { const now = await rowIDs(page); return now[0] === next && now[1] === id; }, "each task once");
  await close(page);
});

test("changes of status show in place, and the counts equal those of the summary", async () => {
  const bob = server.as("bob");
  const page = await openPage(browser, server, "bob");
  await loaded(page);
  const victims = (await rowIDs(page)).slice(4, 9);
  await page.hover(".row[data-index='5']");
  await Promise.all(victims.map((id) => bob.post(`/tasks/${id}/stop`)));
  for (const id of victims) await page.waitForSelector(`.row[data-id='${id}'] .status.stopped`);
  assert.deepEqual((await rowIDs(page)).slice(4, 9), victims, "the rows stay");
  await eventually(async () => {
    const { by_status: want } = await bob.get("/summary");
    for (const [status, n] of Object.entries(want)) if ((await tab(page, status)) !== n) return false;
    return true;
  }, "the counts");
  await close(page);
});

test("a search shows what the API finds, and its address shows the same", async () => {
  const bob = server.as("bob");
  const page = await openPage(browser, server, "bob");
  await loaded(page);
  const searches = {
    "label:team=vision train-3": "/tasks?view=row&label=team%3Dvision&name_contains=train-3&limit=100",
    "name:train-1-1": "/tasks?view=row&name=train-1-1",
    "#reason:MaxActiveJobsPerUser": "/tasks?view=row&reason=MaxActiveJobsPerUser&limit=100",
    "status:running since:2d": "/tasks?view=row&status=running&since=2d",
  };
  for (const [text, path] of Object.entries(searches)) {
    await page.fill(".search input", text);
    const want = async () => (await bob.get(path)).tasks.map((t) => t.id);
    const agrees = async (p) => { const seen = await rows(p), all = await want(); return seen.length > 0 && seen.every((r) => all[r.index] === r.id) && (await p.getAttribute(".table", "aria-rowcount")) === String(Number((await bob.call("GET", path)).headers.get("X-Total-Count")) + 1); };
    await eventually(() => agrees(page), text);
    const other = await openPage(browser, server, "bob", { path: new URL(page.url()).pathname + new URL(page.url()).search });
    await eventually(() => agrees(other), `the address of ${text}`);
    await close(other);
  }
  await page.fill(".search input", "colour:red");
  await page.waitForSelector(".field-error:has-text('colour')");
  await close(page);
});

test("back returns to the same rows at the same position", async () => {
  const page = await openPage(browser, server, "bob");
  await loaded(page);
  await page.$eval(".table", (el) => { el.scrollTop = 20_000; });
  await eventually(async () => (await rows(page)).some((r) => r.index > 500), "the rows");
  const top = await page.$eval(".table", (el) => el.scrollTop);
  await page.click(".row[data-index='530'] .task-name");
  await page.waitForSelector(".task-head");
  await page.goBack();
  await loaded(page);
  await eventually(async () => (await page.$eval(".table", (el) => el.scrollTop)) === top && (await rows(page)).some((r) => r.index === 530), "the position");
  await close(page);
});

test("the reason box shows what the API says, and follows it", async () => {
  const ann = server.as("ann@example.com");
  const page = await openPage(browser, server, "ann@example.com", { path: `/ui/tasks/${ids.huge}` });
  await eventually(async () => {
    const { metadata: m } = await ann.get(`/tasks/${ids.huge}`);
    const box = await page.textContent(".why-box");
    return m.reason && [m.reason, m.message, m.hint].every((text) => box.includes(text));
  }, "the reason");
  await page.goto(`${server.url}/ui/tasks/${ids.failed}`);
  const { metadata: m } = await ann.get(`/tasks/${ids.failed}`);
  await page.waitForSelector(`.why-message:has-text(${JSON.stringify(m.message)})`);
  const waits = await ann.submit(task("changes", "3h", { resources: { cpus: 6000 } }));
  await page.goto(`${server.url}/ui/tasks/${waits}`);
  await page.waitForSelector(".reason:has-text('Unschedulable')");
  await ann.post(`/tasks/${waits}/stop`);
  await page.waitForSelector(".task-title .status.stopped");
  await close(page);
});

test("text of users is text on every page", async () => {
  const ann = server.as("ann@example.com");
  const bad = await ann.submit(task("script", "3h", { envs: { A: markup }, run: markup, volumes: { "/data": "missing" } })).catch(() => ann.submit(task("script", "3h", { run: markup })));
  const page = await openPage(browser, server, "ann@example.com");
  const see = async (path, text) => { await page.goto(server.url + path); await eventually(async () => (await page.textContent("main")).includes(text), `${text} on ${path}`); };
  await see(`/ui/tasks/${bad}?tab=spec`, "<script>");
  await see(`/ui/tasks/${bad}?tab=objects`, "onerror=");
  await see(`/ui/tasks/${bad}?tab=raw`, bad);
  await see(`/ui/tasks/${ids.running}/logs#L102`, "<script>window.hacked=1</script>");
  await see(`/ui/?q=${encodeURIComponent(`name:${markup}`)}`, "No task matches");
  await see(`/ui/${markup}`, "Nothing here");
  await see(`/ui/groups?q=${encodeURIComponent(markup)}`, "No group matches");
  await see(`/ui/groups/${encodeURIComponent(`<img src=x onerror="window.hacked=3">`)}`, "Nothing here");
  await page.route((url) => url.pathname === "/groups", (route) => route.fulfill({ json: { groups: [{ group: markup, user: markup, status: "failed", total: 1, by_status: { failed: 1 }, progress: 1, submitted_at: "2026-11-22T10:00:00Z", first_failure: { task_id: markup, name: markup, reason: markup, message: markup, ended_at: "2026-11-22T10:00:00Z" } }] } }));
  await see("/ui/groups", `${markup} ${markup}`);
  const failed = { login: { identified_by: "oidc", methods: ["oidc"] }, login_error: markup };
  await page.route(`${server.url}/session`, (route) => route.fulfill({ json: failed }));
  await see("/ui/login", markup);
  await page.unroute(`${server.url}/session`);
  await page.goto(`${server.url}/ui/new`);
  await page.fill(".editor textarea", `name: ${JSON.stringify(markup)}\nrun: x\n`);
  await page.waitForSelector(".verdict.bad");
  assert.equal(await page.evaluate(() => /** @type {any} */ (window).hacked), undefined);
  assert.equal(await page.locator("main img, main script").count(), 0);
  await ann.post(`/tasks/${bad}/stop`);
  await close(page);
});

test("many tasks are stopped after one question with their number, and a failure is named", async () => {
  const bob = server.as("bob");
  const page = await openPage(browser, server, "bob", { path: "/ui/?status=pending&sort=created" });
  await loaded(page);
  await page.click(".row[data-index='20'] input");
  await page.click(".row[data-index='29'] input", { modifiers: ["Shift"] });
  await page.waitForSelector(".selection:has-text('10 tasks selected')");
  const chosen = await page.$$eval(".row[aria-selected='true']", (all) => all.map((r) => r.dataset.id));
  assert.equal(chosen.length, 10);
  await page.route(`**/tasks/${chosen[3]}/stop`, (route) => route.fulfill({ status: 503, contentType: "application/json", body: `{"detail":"the log does not answer"}` }));
  await page.click(".selection .danger");
  await page.waitForSelector("dialog:has-text('Stop 10 tasks?')");
  await page.click("dialog .danger");
  await page.waitForSelector(`.toast:has-text('${chosen[3]}')`);
  assert.match(await page.textContent(".toast"), /Stopped 9 tasks.*1 task could not be stopped/);
  for (const [i, id] of chosen.entries()) assert.equal((await bob.get(`/tasks/${id}`)).status === "stopped", i !== 3, id);
  await close(page);
});

test("the groups are those of the API, live, by name and by status", async () => {
  const ann = server.as("ann@example.com");
  const page = await openPage(browser, server, "ann@example.com", { path: "/ui/groups" });
  const shown = () => page.$$eval(".groups tbody tr", (all) => all.map((r) => r.textContent));
  const row = (text) => page.waitForSelector(`.groups tr:has-text(${JSON.stringify(text)})`);
  await row("5 tasks: 1 completed, 1 failed, 2 running, 1 pending");
  assert.equal(await page.getAttribute(".groups .by-phase", "aria-label"), "1 completed, 1 failed, 2 running, 1 pending");
  assert.match((await shown())[0], /running.*sweep-1.*40 %.*swept-fails.*exit code 3.*Error/);
  await ann.post("/tasks/batch?group=later.2", [task("one"), task("two")]);
  await row("later.2");
  await ann.post("/tasks/stop?group=later.2");
  await row("2 stopped");
  await page.click(".tab.stopped");
  await eventually(async () => (await shown()).length === (await ann.get("/groups?status=stopped")).groups.length, "the stopped groups");
  await page.click(".tabs button:has-text('All')");
  await page.fill(".search input", "sweep");
  await eventually(async () => { const all = await shown(); return all.length === 1 && all[0].includes("sweep-1"); }, "the search");
  assert.equal(new URL(page.url()).search, "?q=sweep");
  await page.focus(".groups tbody a");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".group-page h1:has-text('sweep-1')");
  await page.route((url) => url.pathname === "/groups", (route) => route.fulfill({ status: 503, json: { detail: "the log does not answer", reason: "Unavailable" } }));
  await page.goto(`${server.url}/ui/groups`);
  await page.waitForSelector(".notice.bad:has-text('the log does not answer')");
  await close(page);
  const empty = await openPage(browser, server, "carl", { path: "/ui/groups" });
  await empty.waitForSelector("h2:has-text('No groups yet')");
  await close(empty);
});

test("the page of a group has its tasks and its first failure, and stops the group after a question", async () => {
  const ann = server.as("ann@example.com");
  const page = await openPage(browser, server, "ann@example.com", { path: "/ui/?q=name:swept-runs" });
  await page.click(".row .cell.group a");
  await page.waitForURL(`${server.url}/ui/groups/sweep-1`);
  await loaded(page);
  const want = async (more = "") => (await ann.get(`/tasks?view=row&group=sweep-1${more}`)).tasks.map((t) => t.id);
  assert.deepEqual(await rowIDs(page), await want());
  await eventually(async () => (await tab(page, "running")) === 2 && (await tab(page, "pending")) === 1, "the counts");
  await page.click(".tab.failed");
  await eventually(async () => JSON.stringify(await rowIDs(page)) === JSON.stringify([ids.sweptFails]), "the failed task");
  assert.equal(await page.getAttribute(".why-box a", "href"), `/ui/tasks/${ids.sweptFails}`);
  await page.click(".tabs button:has-text('All')");
  const more = await ann.submit(task("outside")), late = (await ann.post("/tasks/submit?group=sweep-1", task("late"))).task_id;
  await page.mouse.move(5, 400);
  await page.waitForSelector(`.row[data-id='${late}']`);
  assert.deepEqual(await rowIDs(page), await want());
  await page.click("text=Stop the group");
  await page.waitForSelector("dialog:has-text('Stop the group sweep-1?')");
  assert.equal((await ann.get("/groups/sweep-1")).by_status.stopped, 0);
  await page.click("dialog .danger:has-text('Stop 4 tasks')");
  await page.waitForSelector(".toast:has-text('Stopped 4 tasks of the group sweep-1')");
  await page.waitForSelector(".task-title .status.failed");
  await eventually(async () => (await tab(page, "stopped")) === 4, "the counts");
  assert.equal(await page.isDisabled("text=Stop the group"), true);
  assert.notEqual((await ann.get(`/tasks/${more}`)).status, "stopped");
  await ann.post(`/tasks/${more}/stop`);
  await page.goto(`${server.url}/ui/groups/none`);
  await page.waitForSelector("h2:has-text('Nothing here')");
  await close(page);
});

test("a task shows its group, its predecessors, its time limit, and how to connect to its ports", async () => {
  const page = await openPage(browser, server, "ann@example.com", { path: `/ui/tasks/${ids.running}` });
  await page.waitForSelector(`.terminal:has-text('k8s-cli jobs port-forward ${ids.running}')`);
  const text = await page.textContent("main");
  assert.match(text, /Time limit4h, 3h \d+m left/);
  assert.match(text, /listens on 8888, 9000-9010/);
  await page.goto(`${server.url}/ui/tasks/${ids.after}`);
  await page.waitForSelector(`.why-message a[href='/ui/tasks/${ids.running}']`);
  await page.waitForSelector(".before li:has-text('running')");
  await page.goto(`${server.url}/ui/tasks/${ids.sweptFails}`);
  assert.equal(await (await page.waitForSelector(".inline a:has-text('sweep-1')")).getAttribute("href"), "/ui/groups/sweep-1");
  await page.goto(`${server.url}/ui/queue`);
  await page.waitForSelector(".card:has(h2:has-text('Wait for other tasks')) a[href*='WaitsForTask']");
  await close(page);
});

test("the usage is that of the API, by day and by group", async () => {
  const page = await openPage(browser, server, "ann@example.com", { path: "/ui/me" });
  for (const by of ["day", "group"]) {
    await page.click(`text=By ${by}`);
    const { rows: want, total } = await server.as("ann@example.com").get(`/usage?since=30d&by=${by}`);
    await eventually(async () => {
      const tasks = await page.$$eval(".usage tbody tr", (all) => all.map((r) => `${r.querySelector("th")?.textContent} ${r.querySelectorAll("td")[1].textContent}`));
      return tasks.length === want.length && want.every((r) => tasks.includes(`${r[by] || "no group"} ${r.tasks}`));
    }, `the usage by ${by}`);
    assert.match(await page.textContent(".usage tfoot"), new RegExp(`^Total${total.tasks}`));
  }
  await close(page);
});

test("the log shows colours, finds lines, and downloads as it is", async () => {
  const ann = server.as("ann@example.com");
  const page = await openPage(browser, server, "ann@example.com", { path: `/ui/tasks/${ids.running}/logs` });
  await eventually(async () => (await page.textContent(".table-foot")).includes("20,000 lines"), "all lines");
  const lines = logLines();
  assert.ok((await page.$$(".line")).length < 120);
  await page.fill(".log-tools input", "checkpoint");
  await eventually(async () => (await page.textContent(".found")) === `${lines.filter((l) => l.includes("checkpoint")).length} lines`, "the count");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".line.current mark:has-text('checkpoint')");
  await page.click("text=Only matches");
  await eventually(async () => (await page.textContent(".table-foot")).startsWith("80 of 20,000"), "the filter");
  await page.click("text=Only matches");
  await page.fill(".log-tools input", "");
  await page.goto(`${server.url}/ui/tasks/${ids.running}/logs#L101`);
  await page.reload();
  await page.waitForSelector(".line.target .fc1:has-text('red words')");
  assert.match(await page.textContent(".line.target .text"), /^red words and the rest$/);
  assert.equal(await page.$eval(".line.target .fc1", (e) => getComputedStyle(e).color), "rgb(179, 38, 30)");
  const near = await page.$$eval(".line .text", (all) => all.map((e) => e.textContent));
  assert.ok(near.includes("eval 100%") && near.includes(markup) && near.some((t) => t.endsWith("5,000 more characters: in the download")), "progress bars, markup, long lines");
  assert.equal(await page.getAttribute(".line a[rel]", "href"), "https://example.com/a?b=1");
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("text=Download")]);
  assert.equal(readFileSync(await download.path(), "utf8"), (await ann.call("GET", `/tasks/${ids.running}/logs?follow=false`)).text);
  await close(page);
});

test("a link to a far line shows the line before the page has read the lines in front of it", async () => {
  const page = await openPage(browser, server, "ann@example.com", { path: "/ui/me" });
  let release = () => {};
  const held = new Promise((resolve) => { release = () => resolve(undefined); });
  await page.route("**/logs?follow=true*", async (route) => { await held; await route.continue(); });
  await page.goto(`${server.url}/ui/tasks/${ids.running}/logs#L15000`);
  await page.waitForSelector(".line.target .text:has-text('step 14999 ')");
  await page.waitForSelector(".note:has-text('around line 15,000')");
  const places = () => page.$$eval(".line", (all) => all.map((e) => `${e.querySelector(".number")?.textContent} ${e.querySelector(".text")?.textContent}`));
  const before = await places();
  assert.ok(before.length > 20 && before.every((l) => { const [number, , step] = l.split(" "); return Number(number) === Number(step) + 1; }), "the numbers of the lines");
  release();
  await eventually(async () => (await page.textContent(".table-foot")).includes("20,000 lines"), "all lines");
  await page.waitForSelector(".note", { state: "detached" });
  const after = await places();
  assert.ok(before.filter((l) => after.includes(l)).length > 20, `the lines stay: ${before[9]}, ${after[9]}`);
  await page.waitForSelector(".line.target .text:has-text('step 14999 ')");
  await close(page);
});

test("a task of two nodes has a chip for each, which hides exactly its lines", async () => {
  const page = await openPage(browser, server, "ann@example.com", { path: `/ui/tasks/${ids.two}/logs` });
  await eventually(async () => (await page.textContent(".table-foot")).includes("40,000 lines"), "all lines");
  assert.equal(await page.locator(".chip").count(), 2);
  await page.click(".chip:has-text('node 1')");
  await eventually(async () => (await page.textContent(".table-foot")).startsWith("20,000 of 40,000"), "the lines of node 0");
  await eventually(async () => (await page.$$eval(".line .rank", (all) => all.map((e) => e.textContent))).every((r) => r === "0"), "no line of node 1");
  await close(page);
});

test("a task of another user looks like an unknown task", async () => {
  const page = await openPage(browser, server, "carl", { path: `/ui/tasks/${ids.running}` });
  const texts = [];
  for (const path of [`/ui/tasks/${ids.running}`, "/ui/tasks/zzzzzzzz", `/ui/tasks/${ids.running}/logs`, "/ui/nothing"]) {
    await page.goto(server.url + path);
    await page.waitForSelector("h2:has-text('Nothing here')");
    texts.push((await page.innerHTML("main")).trim());
  }
  assert.equal(new Set(texts).size, 1);
  await close(page);
});

test("the new task gets a verdict while one types, and is submitted once", async () => {
  const page = await openPage(browser, server, "ann@example.com", { path: "/ui/new" });
  await page.fill(".editor textarea", "name: typed\nresources:\n  cpus: many\nrun: echo\n");
  await page.waitForSelector(".findings .error:has-text('cpus')");
  assert.equal(await page.isDisabled("text=Submit the task"), true);
  await page.fill(".editor textarea", "name: typed\nresources:\n  cpus: 1\nrun: echo\n");
  await page.waitForSelector(".verdict.good");
  await page.click("text=Kubernetes objects");
  assert.match(await page.textContent(".code"), /kind: Job/);
  await page.dblclick("text=Submit the task");
  await page.waitForSelector(".task-head h1:has-text('typed')");
  const { tasks } = await server.as("ann@example.com").get("/tasks?name=typed");
  assert.equal(tasks.length, 1);
  await page.goto(`${server.url}/ui/new`);
  await page.fill(".editor textarea", "name: swept\nresources: {cpus: 1}\nenvs:\n  LR: x\nrun: echo\n");
  await page.click("summary:has-text('Grid')");
  await page.fill("#grid", "LR=0.1, 0.01\nSEED=1, 2");
  await page.fill("#grid-group", "-wrong");
  await page.waitForSelector("#group-problem");
  assert.equal(await page.isDisabled("button:has-text('Submit 4 tasks')"), true);
  await page.fill("#grid-group", "grid-1");
  await page.fill("#grid-parallel", "1");
  await page.check(".check-label input");
  await page.click("button:has-text('Submit 4 tasks')");
  await page.waitForURL(`${server.url}/ui/groups/grid-1`);
  assert.equal((await server.as("ann@example.com").get("/tasks?group=grid-1&reason=MaxParallelTasks")).tasks.length, 3, "one task at once");
  await server.as("ann@example.com").post("/tasks/stop?group=grid-1");
  const swept = (await server.as("ann@example.com").get("/tasks?name=swept")).tasks;
  const envs = await Promise.all(swept.map(async (t) => (await server.as("ann@example.com").get(`/tasks/${t.task_id}/spec`)).envs));
  assert.deepEqual(envs.map((e) => `${e.LR} ${e.SEED} ${e.SKYPILOT_JOB_RANK}/${e.SKYPILOT_NUM_JOBS}`).sort(), ["0.01 1 2/4", "0.01 2 3/4", "0.1 1 0/4", "0.1 2 1/4"]);
  await close(page);
});

test("the keyboard alone leads from the list to the log and to a stop", async () => {
  const ann = server.as("ann@example.com");
  const id = await ann.submit(task("by-keyboard"));
  const page = await openPage(browser, server, "ann@example.com");
  await page.waitForSelector(`.row[data-index='0'][data-id='${id}']`);
  await page.keyboard.press("?");
  await page.waitForSelector("dialog:has-text('Keys')");
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog", { state: "detached" });
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("k");
  await page.waitForSelector(".row.cursor[data-index='0']");
  await page.keyboard.press("l");
  await page.waitForSelector(".log-head");
  await page.keyboard.press("Escape");
  await page.waitForSelector(".row");
  await eventually(async () => { // the list ignores keys until it has its rows again
    if (!(await page.$(".row.cursor"))) await page.keyboard.press("j");
    return (await page.$(`.row.cursor[data-id='${id}']`)) !== null;
  }, "the cursor in the first row");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".task-head h1:has-text('by-keyboard')");
  await page.keyboard.press("s");
  await page.waitForSelector("dialog:has-text('Stop the task by-keyboard?')");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), "Stop 1 task");
  await page.keyboard.press("Enter");
  await ann.await(id, (t) => t.status === "stopped");
  await page.waitForSelector("dialog", { state: "detached" });
  await page.keyboard.press("g");
  await page.keyboard.press("v");
  await page.waitForSelector("h1:has-text('Volumes')");
  await close(page);
});

test("an ended task shows one duration, names its phases by cause, and what it came after", async () => {
  const ann = server.as("ann@example.com");
  const first = await ann.submit(task("first-step", "2s"));
  const second = (await ann.post(`/tasks/submit?after=${first}`, task("second-step", "2s"))).task_id;
  await ann.await(second, (t) => t.status === "completed");
  const page = await openPage(browser, server, "ann@example.com", { path: `/ui/tasks/${second}` });
  await page.waitForSelector(`.before a[href='/ui/tasks/${first}']`);
  await page.waitForSelector(".phases li:has-text('waits for other tasks')");
  const { metadata: m } = await ann.get(`/tasks/${second}`);
  const seconds = Math.floor((Date.parse(m.nodes[0].finished_at) - Date.parse(m.nodes[0].started_at)) / 1000);
  const shown = async () => [await page.textContent(".inline div:has(dt:has-text('Duration')) dd"), await page.textContent(".as-cards tbody td:nth-child(5)")];
  await eventually(async () => (await shown()).every((d) => d === `${seconds}s`), `the duration ${seconds}s`);
  assert.match(await page.textContent(".phases"), new RegExp(`running (0 ms|${seconds}(\\.\\d)? s)`));
  await close(page);
});

test("all tasks of a filtered list are stopped with one request", async () => {
  const ann = server.as("ann@example.com");
  await ann.batch(Array.from({ length: 30 }, (_, i) => task(`Filtered-by-word-${i}`)));
  const other = await ann.submit(task("stays"));
  const page = await openPage(browser, server, "ann@example.com", { path: "/ui/?q=WORD+filtered+-word-7" });
  await loaded(page);
  await eventually(async () => (await page.textContent(".table-foot")).startsWith("29 tasks"), "both words, without the one that is excluded");
  let requests = 0;
  page.on("request", (r) => { if (r.method() === "POST" && r.url().includes("/stop")) requests++; });
  await page.click(".row[data-index='0'] input");
  await page.click("text=Select all 29");
  await page.click(".selection .danger:has-text('Stop all')");
  await page.click("dialog .danger");
  await page.waitForSelector(".toast:has-text('Stopped 29 tasks')");
  assert.equal(requests, 1);
  assert.notEqual((await ann.get(`/tasks/${other}`)).status, "stopped");
  assert.equal((await ann.get("/tasks?name=Filtered-by-word-7")).tasks[0].status === "stopped", false);
  await ann.post("/tasks/stop?name_prefix=Filtered");
  await ann.post(`/tasks/${other}/stop`);
  await page.fill(".search input", "since:yesterday");
  await page.waitForSelector("#search-error:has-text('since')");
  assert.equal(await page.locator(".notice.bad").count(), 0, "the error is beside the field");
  await close(page);
});

test("a sweep has its variables as columns, which select and order, and its failed tasks run again", async () => {
  const ann = server.as("ann@example.com");
  const point = (lr, seed) => task(`sweep-${lr}-${seed}`, seed === 2 ? "1s" : "3h", { ...(seed === 2 && { exitCode: 4 }), annotations: { "k8s-cli/point": `LR=${lr} SEED=${seed}` } });
  await ann.post("/tasks/batch?group=points", [point("0.1", 1), point("0.02", 1), point("0.1", 2), point("10", 1)]);
  await eventually(async () => (await ann.get("/groups/points")).by_status.failed === 1, "the failed task");
  const page = await openPage(browser, server, "ann@example.com", { path: "/ui/groups/points", viewport: { width: 1600, height: 900 } });
  await loaded(page);
  const column = () => page.$$eval(".row[data-id] .cell[class*='point:LR']", (all) => all.map((e) => e.textContent));
  await page.click(".sort:has-text('LR')");
  await eventually(async () => JSON.stringify(await column()) === JSON.stringify(["0.02", "0.1", "0.1", "10"]), "numbers by their size");
  await page.waitForSelector(".row .why:has-text('exit code 4')");
  await page.click(".by-variable button:has-text('LR')");
  const values = () => page.$$eval("section[aria-label='Tasks by LR'] tbody tr", (all) => all.map((row) => row.textContent));
  await eventually(async () => /^0.021.*,0.12.*1 failed.*,101/.test(String(await values())), "the tasks of each value, in the order of the values");
  await page.click(".row .value:has-text('0.1')");
  await eventually(async () => (await column()).length === 2 && new URL(page.url()).searchParams.get("q") === "point:LR=0.1", "the tasks with the value");
  await page.click("button:has-text('Run the failed task again')");
  await page.click("dialog .primary");
  await page.waitForSelector(".toast:has-text('Submitted 1 task')");
  const again = (await ann.get("/tasks?group=points&view=row&point=SEED%3D2")).tasks;
  assert.equal(again.length, 2);
  await ann.post("/tasks/stop?group=points");
  await close(page);
});

test("the order of a pipeline is drawn", async () => {
  const ann = server.as("ann@example.com");
  await ann.post("/tasks/batch?group=ordered", [{ ...task("get"), idempotency_key: "o-1" }, { ...task("left"), idempotency_key: "o-2", after: ["o-1"] }, { ...task("right"), idempotency_key: "o-3", after: ["o-1"] }, { ...task("join"), idempotency_key: "o-4", after: ["o-2", "o-3"] }]);
  const page = await openPage(browser, server, "ann@example.com", { path: "/ui/groups/ordered" });
  await page.waitForSelector(".order a[aria-label^='join'][aria-label*='after left, right']");
  const x = (name) => page.$eval(`.order a[aria-label^='${name},'] rect`, (e) => Number(e.getAttribute("x")));
  assert.ok(await x("get") < await x("left") && await x("left") === await x("right") && await x("right") < await x("join"));
  assert.equal(await page.locator(".order path").count(), 4);
  await ann.post("/tasks/stop?group=ordered");
  await close(page);
});

test("a draft stays, a grid takes envs on one line, and Ctrl+Enter submits", async () => {
  const page = await openPage(browser, server, "ann@example.com", { path: "/ui/new" });
  await page.waitForSelector(".editor textarea:focus");
  await page.fill(".editor textarea", "name: drafted\nresources: {cpus: 1}\nenvs: {LR: 0.5, NOTE: \"a, b\"}\nrun: echo\n");
  await page.click("summary:has-text('Grid')");
  await page.fill("#grid", "LR=1, 2");
  await page.click("a[href='/ui/queue']");
  await page.waitForSelector("h1:has-text('Queue')");
  await page.goBack();
  await page.waitForSelector("button:has-text('Submit 2 tasks'):enabled");
  await page.focus(".editor textarea");
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector(".group-page h1");
  const swept = (await server.as("ann@example.com").get("/tasks?name=drafted")).tasks;
  const envs = await Promise.all(swept.map(async (t) => (await server.as("ann@example.com").get(`/tasks/${t.task_id}/spec`)).envs));
  assert.deepEqual(envs.map((e) => `${e.LR} ${e.NOTE}`).sort(), ["1 a, b", "2 a, b"]);
  await page.goto(`${server.url}/ui/new`);
  assert.equal(await page.inputValue(".editor textarea"), "", "the draft was submitted");
  await page.fill(".editor textarea", "run: echo\nenvs: !!map {A: 1}\n");
  await page.click("summary:has-text('Grid')");
  await page.fill("#grid", "A=1, 2");
  await page.waitForSelector(".field-error:has-text('The grid needs envs')");
  await server.as("ann@example.com").post("/tasks/stop?name=drafted");
  await close(page);
});

test("a file of several tasks is submitted as a pipeline or a job group", async () => {
  const ann = server.as("ann@example.com");
  const page = await openPage(browser, server, "ann@example.com", { path: "/ui/new" });
  await page.fill(".editor textarea", "name: piped\n---\nname: one\nresources: {cpus: 1}\nrun: echo\n---\nname: two\nresources:\n  cpus: many\nrun: echo\n");
  await page.waitForSelector(".findings .error:has-text('task 2, resources.cpus')");
  assert.match(await page.textContent(".findings .error"), /line 9/);
  await page.fill(".editor textarea", "name: piped\n---\nname: one\nresources: {cpus: 1}\nrun: echo\n---\nname: two\nresources: {cpus: 1}\nrun: echo\n");
  await page.click("button:has-text('Submit 2 tasks'):enabled");
  await page.waitForSelector(".order a[aria-label*='two'][aria-label*='after one']");
  const group = new URL(page.url()).pathname.split("/").pop() || "";
  assert.match(group, /^piped-/);
  assert.equal((await ann.get(`/groups/${group}`)).total, 2);
  await ann.post(`/tasks/stop?group=${group}`);
  await page.goto(`${server.url}/ui/new`);
  await page.fill(".editor textarea", "name: together\nexecution: parallel\nprimary_tasks: [one]\n---\nname: one\nresources: {cpus: 1}\nrun: echo\n---\nname: two\nresources: {cpus: 1}\nrun: echo\n");
  await page.click("button:has-text('Submit 2 tasks'):enabled");
  await page.waitForSelector(".row .task-name:has-text('two')");
  const { tasks } = await ann.get(`/tasks?group=${new URL(page.url()).pathname.split("/").pop()}`);
  assert.deepEqual(tasks.map((t) => t.metadata.job_group), ["together", "together"]);
  await ann.post("/tasks/stop?name=one");
  await close(page);
});

test("the menu of columns closes, and the commands to copy are those of the CLI", async () => {
  const page = await openPage(browser, server, "ann@example.com");
  await loaded(page);
  await page.click("summary:has-text('Columns')");
  await page.keyboard.press("Escape");
  assert.equal(await page.locator(".menu[open]").count(), 0);
  await page.click("summary:has-text('Columns')");
  await page.click("h1");
  assert.equal(await page.locator(".menu[open]").count(), 0);
  await page.goto(`${server.url}/ui/tasks/${ids.two}/logs?node=1`);
  await page.waitForSelector(`button[title='k8s-cli jobs logs ${ids.two} --node 1']`);
  await page.goto(`${server.url}/ui/me`);
  await page.waitForSelector(`.terminal:has-text('k8s-cli auth login ann@example.com --api-url ${server.url}')`);
  await close(page);
});

const everyPage = () => ["/ui/", "/ui/groups", "/ui/groups/sweep-1", "/ui/groups?status=stopped&q=none", `/ui/tasks/${ids.running}`, `/ui/tasks/${ids.after}`, `/ui/tasks/${ids.failed}`, `/ui/tasks/${ids.two}`, `/ui/tasks/${ids.failed}?tab=events`, `/ui/tasks/${ids.running}?tab=spec`, `/ui/tasks/${ids.two}/logs`, "/ui/queue", "/ui/capacity", "/ui/volumes", `/ui/new?from=${ids.running}`, "/ui/me", "/ui/nothing"];

for (const colorScheme of /** @type {("light" | "dark")[]} */ (["light", "dark"])) {
  test(`no page has serious faults of accessibility in ${colorScheme}`, async () => {
    const page = await openPage(browser, server, "ann@example.com", { colorScheme, bypassCSP: true });
    const found = [];
    for (const path of [...everyPage(), "/ui/login"]) {
      await page.goto(server.url + path);
      await page.waitForSelector(path === "/ui/login" ? "#login-user, .page" : "main h1, main h2, main .line");
      await eventually(async () => (await page.$$(".loading")).length === 0, `${path} loaded`);
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => /** @type {any} */ (window).axe.run(document, { resultTypes: ["violations"] }));
      for (const v of violations) if (["serious", "critical"].includes(v.impact)) found.push(`${path}: ${v.id}: ${v.nodes.slice(0, 3).map((n) => `${n.html.slice(0, 160)} ${n.any?.[0]?.message || ""}`).join("; ")}`);
    }
    assert.deepEqual(found, []);
    await close(page);
  });
}

test("no page scrolls sideways on a screen of 320 pixels", async () => {
  const page = await openPage(browser, server, "ann@example.com", { viewport: { width: 320, height: 640 } });
  for (const path of everyPage()) {
    await page.goto(server.url + path);
    await page.waitForSelector("main h1, main h2, main .line");
    await eventually(async () => (await page.$$(".loading")).length === 0, `${path} loaded`);
    const wide = await page.evaluate(() => [document.documentElement, document.querySelector("main")].some((e) => e && e.scrollWidth > 320));
    assert.equal(wide, false, path);
  }
  await page.goto(`${server.url}/ui/tasks/${ids.running}`);
  const stop = await page.waitForSelector(".actions .danger");
  const box = await stop.boundingBox();
  assert.ok(box && box.height >= 36 && box.y + box.height < 640, "the button to stop is in reach");
  await close(page);
});

test("on a narrow screen no bar covers a number, no text is cut, and a wide table scrolls by keyboard", async () => {
  const page = await openPage(browser, server, "ann@example.com", { viewport: { width: 375, height: 720 } });
  for (const path of ["/ui/queue", "/ui/capacity"]) {
    await page.goto(server.url + path);
    await page.waitForSelector("main h1");
    await eventually(async () => (await page.$$(".loading")).length === 0, `${path} loaded`);
    const cut = await page.$$eval("main :is(p, li, td, dd, small, b)", (all) => all
      .filter((e) => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== "inline" || !e.closest(".scroll-x") && e.getBoundingClientRect().right > innerWidth)
      .map((e) => e.outerHTML.slice(0, 160)));
    assert.deepEqual(cut, [], path);
  }
  const covered = await page.$$eval(".bar", (all) => all.filter((bar) => {
    const b = bar.getBoundingClientRect(), text = document.createRange();
    return [...(bar.parentElement?.childNodes || [])].filter((n) => n !== bar && n.textContent?.trim()).some((n) => {
      text.selectNode(n);
      return [...text.getClientRects()].some((r) => r.left < b.right && r.right > b.left && r.top < b.bottom && r.bottom > b.top);
    });
  }).map((bar) => bar.parentElement?.outerHTML.slice(0, 160)));
  assert.deepEqual(covered, []);
  await page.focus(".scroll-x[aria-label='Machines']");
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("aria-label")), "Machines");
  await close(page);
});

test("a task that the user may not open is no link, and only what orders the list is a button", async () => {
  const page = await openPage(browser, server, "ann@example.com");
  await page.evaluate(() => localStorage.setItem("all", "true"));
  await page.goto(`${server.url}/ui/?q=train-4-1999`);
  await page.waitForSelector(`.row[data-id='${manyIDs[1999]}'] span.task-name`);
  assert.equal(await page.locator(`.row[data-id='${manyIDs[1999]}'] a`).count(), 0);
  await page.goto(`${server.url}/ui/?q=two-nodes`);
  await page.waitForSelector(`.row[data-id='${ids.two}'] a[href='/ui/tasks/${ids.two}']`);
  assert.equal(await page.locator("[role=columnheader]:has-text('Submitted') button").count(), 1);
  assert.equal(await page.locator("[role=columnheader]:has-text('Duration') button").count(), 0, "the server has no order by duration");
  await close(page);
});

test("a log that goes away while lines come leaves no error", async () => {
  const page = await openPage(browser, server, "ann@example.com", { path: `/ui/tasks/${ids.running}/logs` });
  for (let i = 0; i < 5; i++) {
    await page.waitForSelector(".line");
    appendLog(Array.from({ length: 500 }, (_, n) => `more ${i} ${n}`));
    await page.click("nav a[href='/ui/']");
    await loaded(page);
    await page.goBack();
  }
  await close(page);
});

test("a server that goes away is said in words, and its events are shown once when it is back", async () => {
  const ann = server.as("ann@example.com");
  const page = await openPage(browser, server, "ann@example.com");
  await loaded(page);
  await page.waitForSelector(".live:has-text('Live')");
  const before = (await rowIDs(page)).slice(0, 10);
  await server.kill();
  await page.waitForSelector(".banner:has-text('has not responded')");
  assert.deepEqual((await rowIDs(page)).slice(0, 10), before, "the data stays");
  await server.start();
  await page.waitForSelector(".banner:has-text('has not responded')", { state: "detached" });
  const id = await ann.submit(task("after-the-restart"));
  await page.waitForSelector(`.row[data-id='${id}']`);
  assert.equal(await page.locator(`.row[data-id='${id}']`).count(), 1);
  await page.goto(`${server.url}/ui/tasks/${id}?tab=events`);
  await ann.await(id, (t) => t.status === "running");
  const want = async () => (await ann.get(`/tasks/${id}/events`)).events.map((e) => e.status);
  await eventually(async () => { const all = await want(); return all.length >= 2 && JSON.stringify(await page.$$eval(".events .status span", (s) => s.map((e) => e.textContent))) === JSON.stringify(all); }, "the events");
  await close(page);
});

