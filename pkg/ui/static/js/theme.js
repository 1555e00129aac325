// Light or dark: the choice of the user, or that of the system.
import { createStore } from "./store.js";

/** @returns {string} */
const stored = () => { try { return localStorage.getItem("theme") || "auto"; } catch { return "auto"; } };

export const theme = createStore(stored());

/** @param {string} value light, dark or auto */
export function setTheme(value) {
  try { localStorage.setItem("theme", value); } catch { /* private windows may have no storage */ }
  theme.set(value);
}

const show = () => {
  const value = theme.get();
  if (value === "auto") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.dataset.theme = value;
};
theme.subscribe(show);
show();
