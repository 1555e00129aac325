// The pages with many tasks and many changes. Prints medians of times; only sizes have limits.
import assert from "node:assert/strict";
import { Agent, request } from "node:http";
import { after, before, test } from "node:test";
import { Server, eventually, heap, openBrowser, openPage, report, task } from "./harness.mjs";

const many = 100_000, changesPerSecond = 200, seconds = 60, repeats = 5;

/** @type {Server} */ let server;
/** @type {import("playwright-core").Browser} */ let browser;
/** @type {string[]} */ let ids;

before(async () => {
  server = await new Server(["--max-active-jobs-per-user", "10"]).start();
  browser = await openBrowser();
  const max = server.as("max");
  ids = [];
  for (let from = 0; from < many; from += 25_000) ids.push(...(await max.batch(Array.from({ length: 25_000 }, (_, i) => task(`train-${(from + i) % 97}-${from + i}`)))));
});

after(async () => {
  await browser?.close();
  await server?.as("max").post("/tasks/stop").catch(() => {});
  await server?.stop();
});

test(`a cold load of ${many} tasks`, async () => {
  const times = [], sizes = [], heaps = [];
  for (let n = 0; n < repeats; n++) {
    const page = await openPage(browser, server, "max", { path: "/ui/me" });
    const cdp = await page.context().newCDPSession(page);
    await cdp.send("Network.enable");
    await cdp.send("Network.setCacheDisabled", { cacheDisabled: true });
    let bytes = 0;
    cdp.on("Network.dataReceived", (e) => { bytes += e.encodedDataLength; });
    const began = Date.now();
    await page.goto(`${server.url}/ui/`, { waitUntil: "commit" });
    await page.waitForSelector(".row[data-id]");
    times.push(Date.now() - began);
    await page.waitForSelector(".tab b:has-text('100,000')");
    sizes.push(bytes / 1000);
    heaps.push(await heap(page));
    assert.ok((await page.$$(".row")).length <= 150);
    await page.context().close();
  }
  report("first rows", times, "ms");
  report("transferred", sizes, "kB");
  report("heap", heaps, "MB");
  assert.ok(Math.max(...sizes) <= 250 && Math.max(...heaps) <= 60);
});

test("scrolling by the bar", async () => {
  const page = await openPage(browser, server, "max");
  await page.waitForSelector(".row[data-id]");
  const times = [];
  for (const share of [0.5, 0.2, 0.8, 0.35, 0.65]) {
    const time = await page.$eval(".table", async (el, { share, many }) => {
      const began = performance.now();
      el.scrollTop = share * el.scrollHeight;
      const shown = () => [...document.querySelectorAll(".row[data-id]")].some((r) => Math.abs(Number(/** @type {HTMLElement} */ (r).dataset.index) - share * many) < 60);
      while (!shown()) await new Promise((done) => setTimeout(done, 5));
      return performance.now() - began;
    }, { share, many });
    times.push(time);
  }
  report("rows after a jump", times, "ms");
  await page.focus(".table");
  await page.keyboard.press("End");
  await page.waitForSelector(`.row[data-id='${ids[0]}']`);
  const heapNow = await heap(page);
  report("heap after jumps", [heapNow], "MB");
  assert.ok(heapNow <= 60);
  await page.context().close();
});

test(`${changesPerSecond} changes a second for ${seconds} s`, async () => {
  const page = await openPage(browser, server, "max");
  await page.waitForSelector(".live:has-text('Live')");
  await page.hover(".row[data-index='7']");
  const under = await page.$eval(".row:hover", (r) => /** @type {HTMLElement} */ (r).dataset.id);
  await page.evaluate(() => {
    const w = /** @type {any} */ (window);
    w.long = [];
    new PerformanceObserver((list) => { for (const e of list.getEntries()) w.long.push(e.duration); }).observe({ entryTypes: ["longtask"] });
  });
  const sent = await stopSteadily([...ids].reverse().slice(0, changesPerSecond * seconds));
  const began = Date.now();
  const want = (await server.as("max").get("/summary")).by_status.stopped;
  assert.equal(want, sent);
  await eventually(async () => (await page.textContent(".tab.stopped b")).replaceAll(",", "") === String(want), "the count of stopped tasks");
  report("counts after the last change", [Date.now() - began], "ms");
  assert.equal(await page.$eval(".row:hover", (r) => /** @type {HTMLElement} */ (r).dataset.id), under, "the row under the pointer");
  const long = await page.evaluate(() => /** @type {any} */ (window).long);
  console.log(`# ${sent} changes, ${long.length} long tasks, longest ${Math.round(Math.max(0, ...long))} ms`);
  report("heap after the changes", [await heap(page)], "MB");
  await page.context().close();
});

/** Stops tasks at a steady rate. @param {string[]} all */
async function stopSteadily(all) {
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  const stop = (id) => new Promise((resolve, reject) => {
    const r = request(`${server.url}/tasks/${id}/stop`, { method: "POST", agent, headers: { "X-User": "max" } }, (a) => { a.resume(); a.on("end", () => (a.statusCode === 200 ? resolve(undefined) : reject(new Error(`stop: ${a.statusCode}`)))); });
    r.on("error", reject);
    r.end();
  });
  const began = Date.now(), pending = [], failures = [];
  for (let i = 0; i < all.length; i++) {
    const due = began + (1000 * i) / changesPerSecond;
    if (due > Date.now()) await new Promise((done) => setTimeout(done, due - Date.now()));
    pending.push(stop(all[i]).catch((err) => failures.push(err)));
  }
  await Promise.all(pending);
  agent.destroy();
  assert.deepEqual(failures, []);
  console.log(`# ${all.length} stops in ${((Date.now() - began) / 1000).toFixed(1)} s`);
  return all.length;
}
