// Keys. No key acts while a field has the focus or a dialog is open.
import { useEffect } from "./html.js";

/** @typedef {Record<string, (e: KeyboardEvent) => void>} Bindings "/" or "g t" for two keys in a row */

/** @type {Bindings[]} */
const layers = [];
let prefix = "";
let prefixTimer = 0;

document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || isField(e.target) || document.querySelector("dialog[open]")) return;
  const name = prefix ? `${prefix} ${e.key}` : e.key;
  const waits = layers.some((b) => Object.keys(b).some((k) => k.startsWith(name + " ")));
  prefix = "";
  clearTimeout(prefixTimer);
  for (let i = layers.length - 1; i >= 0; i--) {
    const act = layers[i][name];
    if (!act) continue;
    e.preventDefault();
    act(e);
    return;
  }
  if (waits) {
    prefix = name;
    prefixTimer = window.setTimeout(() => { prefix = ""; }, 1500);
  }
});

/** @param {EventTarget | null} target */
function isField(target) {
  return target instanceof HTMLElement && (target.matches("input:not([type=checkbox]), textarea, select") || target.isContentEditable);
}

/** Binds keys while a component is shown; inner components go first. @param {Bindings} bindings @param {any[]} keys */
export function useKeys(bindings, keys) {
  useEffect(() => {
    layers.push(bindings);
    return () => { layers.splice(layers.indexOf(bindings), 1); };
  }, keys);
}

/** @type {[string, [string, string][]][]} */
export const help = [
  ["Everywhere", [["g t", "tasks"], ["g g", "groups"], ["g q", "queue"], ["g c", "capacity"], ["g v", "volumes"], ["g n", "new task"], ["g m", "me"], ["?", "these keys"], ["Esc", "close, or go back"]]],
  ["Tasks", [["/", "search"], ["j, ↓", "next row"], ["k, ↑", "previous row"], ["Enter", "open the task"], ["l", "open the log"], ["x", "select the row"], ["s", "stop the selected tasks or the row"], ["r", "run the task again"], ["u", "show new tasks"]]],
  ["Task", [["l", "log"], ["e", "events"], ["y", "task file"], ["s", "stop"], ["r", "run again"]]],
  ["Log", [["/", "search"], ["n, N", "next, previous match"], ["f", "follow"], ["w", "wrap lines"], ["t", "times"], ["Home, End", "first, last line"]]],
];
