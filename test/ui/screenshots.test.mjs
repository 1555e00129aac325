// Writes the screenshots of docs/images.
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";
import { Server, eventually, openBrowser, openPage, removeLog, task, writeLog } from "./harness.mjs";

const images = fileURLToPath(new URL("../../docs/images/", import.meta.url));
const user = "ann@example.com";
const names = ["train-resnet", "eval-llama", "prepare-imagenet", "finetune-qwen-7b", "sweep-lr", "render-frames", "export-onnx", "ablation-heads"];

/** @type {Server} */ let server;
/** @type {import("playwright-core").Browser} */ let browser;
/** @type {Record<string, string>} */ const ids = {};

const kinds = (i) => [
  { after: "3h" }, { after: "2s" }, { after: "1s" }, { after: "3h", num_nodes: 2 }, { after: "2s", exitCode: 3 }, { after: "1s" }, { after: "4s" }, { after: "2s" },
][i % 8];

before(async () => {
  mkdirSync(images, { recursive: true });
  writeLog(lines());
  server = await new Server(["--max-active-jobs-per-user", "70"]).start();
  browser = await openBrowser();
  const ann = server.as(user);
  const all = Array.from({ length: 64 }, (_, i) => { const { after: end, ...more } = kinds(i); return task(`${names[i % 8]}-${i}`, end, more); });
  await ann.batch(all);
  ids.two = await ann.submit(task("finetune-qwen-7b", "3h", { num_nodes: 4, resources: { cpus: 8, memory: 64 } }));
  ids.huge = await ann.submit(task("pretrain", "3h", { resources: { cpus: 8, memory: 64, accelerators: "H100:8" } }));
  for (const [name, size] of [["datasets", "200Gi"], ["checkpoints", "50Gi"], ["results", "10Gi"]]) await ann.post("/volumes/create", { name, size });
  await ann.await(ids.two, (t) => t.status === "running");
  await ann.await(ids.huge, (t) => t.metadata.reason === "Unschedulable");
  await eventually(async () => (await ann.get("/summary")).by_status.completed >= 30, "completed tasks", 120_000);
  await ann.batch(Array.from({ length: 3 }, (_, i) => task(`sweep-lr-${i}`, "3h")));
});

after(async () => {
  await browser?.close();
  await server?.as(user).post("/tasks/stop").catch(() => {});
  await server?.stop();
  removeLog();
});

function lines() {
  const e = "\x1b", all = ["+ python train.py --epochs 90", `${e}[1m${e}[36mLoading dataset imagenet-1k${e}[0m from /data (1,281,167 images)`];
  for (let i = 0; i < 600; i++) {
    all.push(`${e}[32mINFO${e}[0m  step ${String(i * 50).padStart(6)} | loss ${(2.3 / (1 + i / 40)).toFixed(4)} | lr 1.0e-03 | ${e}[90m${812 + (i % 17)} img/s${e}[0m`);
    if (i % 37 === 0) all.push(`${e}[33mWARN${e}[0m  slow batch: the data loader waited 1.3 s, see https://example.com/docs/loader`);
    if (i % 50 === 9) all.push("eval  10%|#    |\reval  50%|##   |\reval 100%|#####| 100/100");
  }
  return all;
}

/** @type {[string, () => string, object, ((page: any) => Promise<unknown>)?][]} */
const shots = [
  ["tasks-light", () => "/ui/", {}],
  ["tasks-dark", () => "/ui/", { colorScheme: "dark" }],
  ["tasks-narrow", () => "/ui/", { viewport: { width: 360, height: 720 } }],
  ["task-dark", () => `/ui/tasks/${ids.huge}`, { colorScheme: "dark" }],
  ["log-light", () => `/ui/tasks/${ids.two}/logs`, {}],
    ["capacity-dark", () => "/ui/capacity", { colorScheme: "dark" }],
  ["new-light", () => "/ui/new", {}, async (page) => {
    await page.fill(".editor textarea", "name: train\nnum_nodes: 2\nresources:\n  cpus: 8\n  memory: 32\nenvs:\n  EPOCHS: 90\nrun: |\n  torchrun train.py --epochs $EPOCHS\n");
    await page.waitForSelector(".verdict.good");
    await page.click("text=Kubernetes objects");
  }],
];

for (const [name, path, options, act] of shots) {
  test(name, async () => {
    const page = await openPage(browser, server, user, { path: path(), viewport: { width: 1200, height: 720 }, ...options });
    await page.waitForSelector("main h1, main .line");
    await eventually(async () => (await page.$$(".loading")).length === 0, "loaded");
    await act?.(page);
    await page.waitForTimeout(1200);
    await page.screenshot({ path: `${images}${name}.png` });
    await page.context().close();
  });
}
