// The address of the page. Links are ordinary links; this module only avoids loading the page again.
import { createStore } from "./store.js";

const read = () => ({ path: location.pathname, search: location.search, hash: location.hash });
export const place = createStore(read());

/** Opens an address below /ui/. @param {string} to @param {{replace?: boolean}} [o] */
export function go(to, { replace = false } = {}) {
  if (replace) history.replaceState(history.state, "", to);
  else history.pushState(null, "", to);
  place.set(read());
}

/** Changes the parameters of the address. @param {Record<string, string>} params empty values are removed */
export function setParams(params, { replace = true } = {}) {
  const search = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(params)) value ? search.set(name, value) : search.delete(name);
  const text = search.toString();
  go(location.pathname + (text ? "?" + text : "") + location.hash, { replace });
}

window.addEventListener("popstate", () => place.set(read()));
window.addEventListener("hashchange", () => place.set(read()));

document.addEventListener("click", (e) => {
  if (e.defaultPrevented || e.button || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
  const a = /** @type {Element} */ (e.target).closest?.("a[href]");
  if (!(a instanceof HTMLAnchorElement) || a.target || a.hasAttribute("download")) return;
  if (a.origin !== location.origin || !a.pathname.startsWith("/ui/")) return;
  if (a.hash && a.pathname === location.pathname && a.search === location.search) return;
  e.preventDefault();
  go(a.pathname + a.search + a.hash);
});
