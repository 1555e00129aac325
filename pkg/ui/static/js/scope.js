// Whose tasks the pages show: those of the user, or those of all users.
import { createStore } from "./store.js";

const stored = () => { try { return localStorage.getItem("all") === "true"; } catch { return false; } };

export const scope = createStore({ all: stored() });

/** @param {boolean} all */
export function showAll(all) {
  try { localStorage.setItem("all", String(all)); } catch { /* private windows may have no storage */ }
  scope.set({ all });
}
