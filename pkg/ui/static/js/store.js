// Values that several components show.
import { useEffect, useState } from "./html.js";

/**
 * @template T
 * @param {T} value
 */
export function createStore(value) {
  /** @type {Set<(value: T) => void>} */
  const listeners = new Set();
  return {
    get: () => value,
    /** @param {T} next */
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const listener of [...listeners]) listener(value);
    },
    /** @param {Partial<T>} part */
    patch(part) { this.set({ ...value, ...part }); },
    /** @param {(value: T) => void} listener */
    subscribe(listener) {
      listeners.add(listener);
      return () => { listeners.delete(listener); };
    },
  };
}

/**
 * @template T
 * @param {{get: () => T, subscribe: (listener: (value: T) => void) => () => void}} store
 * @returns {T}
 */
export function useStore(store) {
  const [value, setValue] = useState(store.get());
  useEffect(() => {
    setValue(() => store.get());
    return store.subscribe((next) => setValue(() => next));
  }, [store]);
  return value;
}

/** The time in milliseconds, once a second while the page is visible. */
export const clock = createStore(Date.now());
setInterval(() => { if (!document.hidden) clock.set(Date.now()); }, 1000);

/**
 * Calls fn now, and then at most once in a period, however often the returned function is called.
 * @param {() => void} fn
 * @param {number} period milliseconds
 */
export function throttle(fn, period) {
  let last = -Infinity;
  let timer = 0;
  const run = () => { timer = 0; last = performance.now(); fn(); };
  const call = () => {
    if (timer) return;
    const wait = last + period - performance.now();
    if (wait <= 0) run();
    else timer = window.setTimeout(run, wait);
  };
  call.cancel = () => { clearTimeout(timer); timer = 0; };
  return call;
}
