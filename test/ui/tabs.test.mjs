// Many tabs of one browser, lists while their tasks change, and networks that fail: the pages stay
// right, or say that they are not.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Link, Server, appendLog, eventually, login, openBrowser, openPage, openTab, removeLog, task, writeLog } from "./harness.mjs";

/** @type {Server} */ let server;
/** @type {import("playwright-core").Browser} */ let browser;

const user = "ann@example.com";
const rowIDs = (page) => page.$$eval(".row[data-id]", (all) => all.map((r) => r.dataset.id));
const loaded = (page) => page.waitForSelector(".row[data-id]");
const close = async (page) => { const { faults } = page; await page.context().close(); assert.deepEqual(faults, []); };
const foot = (page) => page.textContent(".table-foot");

before(async () => {
  writeLog(Array.from({ length: 50 }, (_, i) => `line ${i}`));
  server = await new Server().start();
  browser = await openBrowser();
});

after(async () => {
  await browser?.close();
  await server?.stop();
  removeLog();
});

/** @returns {Promise<{log: number, event: number}>} open streams of the server */
async function streams() {
  const { text } = await server.as(user).call("GET", "/metrics");
  const of = (kind) => Number(new RegExp(`^k8s_cli_http_streams\\{kind="${kind}"\\} (\\d+)`, "m").exec(text)?.[1]);
  return { log: of("logs"), event: of("events") };
}

/** Hides a page or shows it again, as a browser does with a tab. */
const hide = (page, hidden) => page.evaluate((hidden) => {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}, hidden);

test("eight logs and two lists in one browser are live, with two streams", async () => {
  const ann = server.as(user);
  const ids = await ann.batch(Array.from({ length: 8 }, (_, i) => task(`logs-${i}`)));
  for (const id of ids) await ann.await(id, (t) => t.status === "running");
  const first = await openPage(browser, server, user, { path: `/ui/tasks/${ids[0]}/logs` });
  const logs = [first];
  for (const id of ids.slice(1)) logs.push(await openTab(first.context(), server, `/ui/tasks/${id}/logs`));
  const lists = [await openTab(first.context(), server, "/ui/"), await openTab(first.context(), server, "/ui/?status=running")];
  for (const page of lists) await loaded(page);
  for (const page of logs) await page.waitForSelector(".line:has-text('line 49')");
  appendLog(["appended"]);
  for (const page of logs) await page.waitForSelector(".line:has-text('appended')");
  const id = await ann.submit(task("seen-in-both"));
  for (const page of lists) await page.waitForSelector(`.row[data-id='${id}']`);
  await eventually(async () => { const { log, event } = await streams(); return log <= 1 && event === 1; }, "two streams");
  for (const page of [...logs, ...lists]) await hide(page, true);
  await eventually(async () => { const { log, event } = await streams(); return log === 0 && event === 0; }, "hidden tabs hold no stream");
  const hiddenID = await ann.submit(task("while-hidden"));
  for (const page of lists) await hide(page, false);
  for (const page of lists) await page.waitForSelector(`.row[data-id='${hiddenID}']`);
  await hide(logs[3], false);
  await eventually(async () => { const { log, event } = await streams(); return log === 1 && event === 1; }, "the shown tab follows its log");
  await ann.post("/tasks/stop");
  await logs[3].waitForSelector(".log-state .status.stopped");
  for (const page of [...logs, ...lists]) assert.deepEqual(page.faults, []);
  await first.context().close();
});

test("a list by status has the tasks of the server while they change, or says that it differs", async () => {
  const ann = server.as(user);
  const ids = await ann.batch(Array.from({ length: 40 }, (_, i) => task(`changes-${i}`)));
  for (const id of ids) await ann.await(id, (t) => t.status === "running");
  const page = await openPage(browser, server, user, { path: "/ui/?status=running" });
  await loaded(page);
  await page.mouse.move(5, 400);
  const stopped = await openTab(page.context(), server, "/ui/?status=stopped&sort=created");
  await loaded(stopped);
  await stopped.mouse.move(5, 400);
  const agrees = async (p, path) => {
    const want = (await ann.get(path)).tasks.map((t) => t.id), seen = await rowIDs(p);
    return seen.length > 0 && seen.every((id, i) => id === want[i]) && (await foot(p)).startsWith(`${want.length} task`);
  };
  for (let round = 0; round < 10; round++) {
    const left = [...ids], victim = left[(7 * round) % left.length];
    await ann.post(`/tasks/${victim}/stop`);
    const added = await ann.batch([task(`more-${round}`), task(`more-${round}-b`)]);
    for (const id of added) await ann.await(id, (t) => t.status === "running");
    await eventually(() => agrees(page, "/tasks?view=row&status=running"), `the running tasks, round ${round}`);
    await eventually(() => agrees(stopped, "/tasks?view=row&status=stopped&sort=created"), `the stopped tasks, round ${round}`);
  }
  // While somebody reads, rows keep their places, and the page says that the list differs.
  await page.hover(".row[data-index='2']");
  const before = await rowIDs(page);
  await ann.post(`/tasks/${before[1]}/stop`);
  await page.waitForSelector(`.row[data-id='${before[1]}'] .status.stopped`);
  await page.waitForSelector(".new-rows:has-text('The list has changed')");
  assert.deepEqual(await rowIDs(page), before);
  await page.click(".new-rows");
  await page.mouse.move(5, 400);
  await eventually(() => agrees(page, "/tasks?view=row&status=running"), "the list after the button");
  await ann.post("/tasks/stop");
  assert.deepEqual(stopped.faults, []);
  await close(page);
});

test("a batch of thousands leaves the list right", async () => {
  const other = server.as("bob");
  await other.batch(Array.from({ length: 150 }, (_, i) => task(`old-${i}`)));
  const page = await openPage(browser, server, "bob");
  await loaded(page);
  await page.mouse.move(5, 400);
  const ids = await other.batch(Array.from({ length: 4000 }, (_, i) => task(`batch-${i}`)));
  await eventually(async () => (await rowIDs(page))[0] === ids.at(-1) && (await foot(page)).startsWith("4,150 tasks"), "the list");
  await page.hover(".row[data-index='3']");
  await other.batch(Array.from({ length: 400 }, (_, i) => task(`later-${i}`)));
  await page.waitForSelector(".new-rows:has-text('400 new tasks')");
  await page.click(".new-rows");
  await eventually(async () => (await foot(page)).startsWith("4,550 tasks"), "the list after the button");
  await page.mouse.move(5, 400);
  await other.post("/tasks/stop");
  await close(page);
});

test("rows that the server did not send once are read again", async () => {
  const page = await openPage(browser, server, "bob");
  await loaded(page);
  let refused = 0;
  await page.route(/\/tasks\?.*cursor=/, (route) => (refused++ < 2 ? route.fulfill({ status: 503, json: { detail: "not now" } }) : route.continue()));
  await page.$eval(".table", (el) => { el.scrollTop = 20_000; });
  await page.waitForSelector(".table-foot:has-text('tries again')");
  await eventually(async () => (await page.$$(".row[aria-busy]")).length === 0 && (await rowIDs(page)).length > 10, "the rows");
  await page.waitForSelector(".table-foot:has-text('tries again')", { state: "detached" });
  await close(page);
});

test("a network that falls silent is said, and what happened meanwhile is shown when it is back", async () => {
  const link = await new Link(server.url, "http").open();
  const near = { url: link.url };
  const context = await browser.newContext();
  await login(context, near, user);
  const page = await openTab(context, near, "/ui/");
  await page.waitForSelector(".live:has-text('Live')");
  link.silence(true);
  await page.waitForSelector(".banner:has-text('has not responded')");
  const seconds = Number(/for (\d+)s/.exec(await page.textContent(".banner") || "")?.[1]);
  assert.ok(seconds >= 3, `the time counts from the last response: ${seconds}`);
  assert.equal(await page.locator(".live:has-text('Live')").count(), 0);
  const id = await server.as(user).submit(task("in-the-silence"));
  link.silence(false);
  await page.waitForSelector(".banner:has-text('has not responded')", { state: "detached" });
  await page.waitForSelector(`.row[data-id='${id}']`);
  await server.as(user).post(`/tasks/${id}/stop`);
  await page.waitForSelector(`.row[data-id='${id}'] .status.stopped`);
  link.close();
  await close(page);
});

test("a page whose script fails to load once is loaded again", async () => {
  const page = await openPage(browser, server, "bob");
  await loaded(page);
  let refused = 0;
  await page.route(/\/pages\/queue\.js/, (route) => (refused++ < 1 ? route.abort() : route.continue()));
  await page.click("a[href='/ui/queue']");
  await page.waitForSelector("h1:has-text('Queue')");
  assert.ok(refused > 1);
  await close(page);
});
