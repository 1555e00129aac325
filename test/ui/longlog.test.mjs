// A log of a million lines on the page. Prints medians of times; only sizes have limits.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Server, eventually, heap, openBrowser, openPage, removeLog, report, task, writeLog } from "./harness.mjs";

const logLength = 1_000_000;

/** @type {Server} */ let server;
/** @type {import("playwright-core").Browser} */ let browser;

before(async () => {
  server = await new Server().start();
  browser = await openBrowser();
});

after(async () => {
  await browser?.close();
  await server?.as("ann").post("/tasks/stop").catch(() => {});
  await server?.stop();
  removeLog();
});

test(`a log of ${logLength} lines`, async () => {
  const line = (i) => `2026-11-23 step ${i} loss ${(1 / (1 + i)).toFixed(6)} throughput ${800 + (i % 97)} img/s${i % 1000 === 0 ? " checkpoint" : ""}`;
  writeLog(Array.from({ length: logLength }, (_, i) => line(i)), (i) => new Date(1.79e12 + i).toISOString().replace("Z", "000001Z"));
  const ann = server.as("ann");
  const id = await ann.submit(task("long-log"));
  await ann.await(id, (t) => t.status === "running");
  const page = await openPage(browser, server, "ann", { path: "/ui/me" });
  const began = Date.now();
  await page.goto(`${server.url}/ui/tasks/${id}/logs#L500000`);
  await page.waitForSelector(".line.target");
  report("line 500,000", [Date.now() - began], "ms");
  assert.match(await page.textContent(".line.target .text"), /step 499999 /);
  report("lines read by then", [Number((await page.textContent(".table-foot")).replaceAll(",", "").match(/(\d+) lines?/)?.[1])], "lines");
  await eventually(async () => (await page.textContent(".table-foot")).includes("1,000,000 lines"), "all lines");
  report("all lines", [Date.now() - began], "ms");
  assert.match(await page.textContent(".line.target .text"), /step 499999 /, "the line stays while the log grows");
  const js = await heap(page);
  const all = await page.evaluate(async () => /** @type {any} */ (performance).memory.usedJSHeapSize / 1e6);
  report("heap", [js], "MB");
  const searched = Date.now();
  await page.fill(".log-tools input", "checkpoint");
  await eventually(async () => (await page.textContent(".found")) === "1,000 lines", "the count");
  report("search", [Date.now() - searched], "ms");
  assert.ok(js <= 250 && all <= 250, `heap ${js}, ${all}`);
  await page.focus(".log");
  await page.keyboard.press("End");
  await eventually(async () => (await page.$$eval(".line .text", (l) => l.at(-1)?.textContent))?.includes("step 999999 "), "the last line");
  await ann.post(`/tasks/${id}/stop`);
  await page.context().close();
});
