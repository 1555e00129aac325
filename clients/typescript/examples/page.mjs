// Serves a page that shows the tasks of a user, live.
// Run: K8S_CLI_API_URL=http://localhost:8000 K8S_CLI_USER=ann@example.com node page.mjs, and open http://localhost:8080
import { createServer } from "node:http";
import { Client } from "../index.js";

const client = new Client({ url: process.env.K8S_CLI_API_URL, user: process.env.K8S_CLI_USER });
const entities = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const escape = (text) => String(text).replace(/[&<>"']/g, (c) => entities[c]);

const script = `
  const update = async () => { document.querySelector("tbody").innerHTML = await (await fetch("/rows")).text(); };
  new EventSource("/changes").onmessage = update;`;

async function rows() {
  const html = [];
  for await (const t of client.list({ since: "7d" })) {
    const cells = [t.name, t.status, t.metadata.message || t.metadata.reason || "", t.created_at];
    html.push(`<tr>${cells.map((c) => `<td>${escape(c)}</td>`).join("")}</tr>`);
  }
  return html.join("\n");
}

const page = async () => `<!doctype html><meta charset="utf-8"><title>Tasks</title>
  <table><thead><tr><th>Name<th>Status<th>Reason<th>Submitted</thead><tbody>${await rows()}</tbody></table>
  <script>${script}</script>`;

async function changes(response) {
  const abort = new AbortController();
  response.on("close", () => abort.abort());
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  response.write(": open\n\n");
  try {
    for await (const e of client.events({ signal: abort.signal })) response.write(`data: ${e.task_id}\n\n`);
  } catch {
    response.end(); // the browser opens another stream
  }
}

const server = createServer(async (request, response) => {
  if (request.url === "/changes") return changes(response);
  try {
    const body = request.url === "/rows" ? await rows() : await page();
    response.writeHead(200, { "Content-Type": "text/html; charset=utf-8" }).end(body);
  } catch (err) {
    response.writeHead(502).end(err.message);
  }
});
server.listen(Number(process.env.PORT || 8080), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
