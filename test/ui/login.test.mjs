// Logins by token, in several tabs, and the tasks of all users.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Link, Server, openBrowser, openTab, task } from "./harness.mjs";

const nats = process.env.K8S_CLI_TEST_NATS || "";
const namespace = process.env.K8S_CLI_TEST_SECOND_NAMESPACE || "kube-public";
const tokens = { ann: "token-of-ann", bob: "token-of-bob", root: "token-of-root" };

/** @type {import("playwright-core").Browser} */ let browser;
/** @type {Server} identifies users by tokens */ let server;
/** @type {Link} between the server and NATS */ let link;
/** @type {Record<string, string>} */ const ids = {};

const close = async (...pages) => {
  await pages[0].context().close();
  assert.deepEqual(pages.flatMap((p) => p.faults), []);
};
const names = (page) => page.$$eval(".row[data-id] .task-name", (all) => all.map((e) => e.textContent).sort());

before(async () => {
  assert.ok(nats, "set K8S_CLI_TEST_NATS to the URL of a NATS server with JetStream and no data");
  link = await new Link(nats).open();
  server = new Server([], { nats: link.url, namespace });
  const file = join(server.dir, "tokens");
  writeFileSync(file, Object.entries(tokens).map(([user, token]) => `${createHash("sha256").update(token).digest("hex")} ${user}\n`).join(""));
  server.flags.push("--auth", "token", "--tokens-file", file, "--admins", "root");
  [browser] = await Promise.all([openBrowser(), server.start()]);
  ids.ann = await server.with(tokens.ann).submit(task("of-ann"));
  ids.bob = await server.with(tokens.bob).submit(task("of-bob"));
});

after(async () => {
  await browser?.close();
  link?.restore();
  for (const token of Object.values(tokens)) await server?.with(token).post("/tasks/stop").catch(() => {});
  await server?.stop();
  link?.close();
});

/** Logs in by the form. */
async function enter(page, token) {
  await page.fill("#login-token", token);
  await page.click("button:has-text('Log in')");
}

test("a token logs in, and another one does not", async () => {
  const context = await browser.newContext();
  const page = await openTab(context, server, `/ui/tasks/${ids.ann}`);
  await page.waitForSelector("#login-token[type=password]");
  await enter(page, "token-of-nobody");
  await page.waitForSelector(".field-error");
  await enter(page, tokens.ann);
  await page.waitForSelector("h1:has-text('of-ann')");
  assert.equal(new URL(page.url()).pathname, `/ui/tasks/${ids.ann}`, "the login returns to the page");
  const seen = await page.evaluate(() => document.cookie + JSON.stringify({ ...localStorage }));
  assert.match(seen, /^{"k8s-cli-session-key":"\w+"}$/, "no script can read the cookie or the token");
  await page.goto(`${server.url}/ui/`);
  await page.waitForSelector(".row[data-id]");
  assert.deepEqual(await names(page), ["of-ann"]);
  assert.equal(await page.locator(".segments").count(), 0, "a user has no view of all users");
  await close(page);
});

test("a second tab follows the login and the logout of the first one", async () => {
  const context = await browser.newContext();
  const first = await openTab(context, server, "/ui/queue"), second = await openTab(context, server, "/ui/volumes");
  await first.waitForSelector("#login-token");
  await second.waitForSelector("#login-token");
  await enter(first, tokens.bob);
  await first.waitForSelector("h1:has-text('Queue')");
  await second.waitForSelector("h1:has-text('Volumes')");
  await second.goto(`${server.url}/ui/me`);
  await second.click("text=Log out");
  await second.waitForSelector("#login-token");
  await first.waitForSelector("#login-token");
  await close(first, second);
});

test("an administrator sees and stops the tasks of all users", async () => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await openTab(context, server, "/ui/");
  await enter(page, tokens.root);
  await page.waitForSelector("h2:has-text('No tasks yet')");
  await page.click(".segments button:has-text('All')");
  await page.waitForSelector(`.row[data-id='${ids.bob}']`);
  assert.deepEqual(await names(page), ["of-ann", "of-bob"]);
  assert.deepEqual(await page.$$eval(".row[data-id] .cell.user", (all) => all.map((e) => e.textContent).sort()), ["ann", "bob"]);
  const later = await server.with(tokens.ann).submit(task("later"));
  await page.waitForSelector(`.row[data-id='${later}'] .cell.user:has-text('ann')`);
  await page.click(`.row[data-id='${later}'] input`);
  await page.click(".selection .danger");
  await page.click("dialog .danger");
  await page.waitForSelector(`.row[data-id='${later}'] .status.stopped`);
  assert.equal((await server.with(tokens.ann).get(`/tasks/${later}`)).status, "stopped");
  await page.click(".segments button:has-text('Mine')");
  await page.waitForSelector("h2:has-text('No tasks yet')");
  await close(page);
});
