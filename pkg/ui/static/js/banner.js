// What is wrong with the connection or the data, in words, on every page.
import { html, useEffect } from "./html.js";
import { responded, server, unreachable } from "./api.js";
import { duration } from "./format.js";
import { Icon } from "./parts.js";
import { clock, createStore, useStore } from "./store.js";

export const health = createStore(/** @type {{degraded: string[], detail: string}} */ ({ degraded: [], detail: "" }));

const period = 3000;
const limit = 4000; // until a server that does not respond counts as unreachable

/** Reads /readyz now and then, while the page is visible. */
export async function readHealth() {
  try {
    const response = await fetch("/readyz", { headers: { Accept: "application/json" }, signal: AbortSignal.timeout(limit) });
    const body = await response.json();
    responded();
    health.set({ degraded: body.degraded || [], detail: body.ready ? "" : body.detail || "The server is not ready." });
  } catch {
    unreachable();
  }
}

export function useHealth() {
  useEffect(() => {
    readHealth();
    const timer = setInterval(() => { if (!document.hidden) readHealth(); }, period);
    return () => clearInterval(timer);
  }, []);
}

/** @param {any} state @param {{degraded: string[], detail: string}} h @param {number} now @returns {string[]} */
function problems(state, h, now) {
  if (state.unreachableSince && now - state.unreachableSince > 1500) {
    return [`The server has not responded for ${duration(now - state.unreachableSince)}. The page shows the last data and tries again.`];
  }
  const list = [];
  if (h.detail) list.push(`The server is not ready: ${h.detail}`);
  if (state.stale) {
    const what = state.stale.what === "cluster" ? "The Kubernetes API server does not respond" : "The log of the server (NATS) does not respond";
    list.push(`${what}. The data may be ${duration(1000 * state.stale.age + now - state.stale.at)} old.`);
  }
  for (const d of h.degraded) list.push(d.charAt(0).toUpperCase() + d.slice(1) + (/[.!?]$/.test(d) ? "" : "."));
  if (!list.length && state.stream === "retrying" && !state.needsLogin) list.push("Live updates are interrupted. The page connects again.");
  return list;
}

export function Banner() {
  const state = useStore(server), h = useStore(health), now = useStore(clock);
  const list = problems(state, h, now);
  if (!list.length) return null;
  return html`<div class="banner" role="alert"><${Icon} name="warning" /><div>${list.map((text) => html`<p key=${text.slice(0, 20)}>${text}</p>`)}</div></div>`;
}

