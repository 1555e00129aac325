// A list that only has the rows on the screen in the document. Browsers limit the height of an
// element, so a very long list is scaled: the scroll position then selects a row in proportion.
import { html, useCallback, useEffect, useLayoutEffect, useRef, useState } from "./html.js";

const maxHeight = 8_000_000;
const extra = 6; // rows above and below the screen

/**
 * The part of a list that is on the screen.
 * @param {number} total rows
 * @param {number} rowHeight
 * @param {number} scrollTop
 * @param {number} height of the screen
 */
export function visible(total, rowHeight, scrollTop, height) {
  const full = total * rowHeight;
  const shown = Math.min(full, maxHeight);
  const ratio = shown > height && full > shown ? (full - height) / (shown - height) : 1;
  const top = Math.max(0, Math.min(scrollTop, shown - height)) * ratio;
  const first = Math.max(0, Math.floor(top / rowHeight) - extra);
  const last = Math.min(total, Math.ceil((top + height) / rowHeight) + extra);
  return { first, last, offset: first * rowHeight - top + Math.max(0, Math.min(scrollTop, shown - height)), spacer: shown, ratio, top };
}

/** @param {number} index @param {number} total @param {number} rowHeight @param {number} height @returns {number} scrollTop that shows a row at the top */
export function scrollTo(index, total, rowHeight, height) {
  const v = visible(total, rowHeight, 0, height);
  return (index * rowHeight) / v.ratio;
}

/**
 * @param {{total: number, rowHeight: number, row: (index: number) => any, onRange?: (first: number, last: number) => void,
 *   scroller: {current: HTMLElement | null}, class?: string, version?: any, onScroll?: (top: number) => void, role?: string}} p
 */
export function VirtualRows({ total, rowHeight, row, onRange, scroller, class: c = "", onScroll, role = "rowgroup" }) {
  const [view, setView] = useState({ top: 0, height: 600 });
  const measure = useCallback(() => {
    const el = scroller.current;
    if (!el) return;
    onScroll?.(el.scrollTop);
    setView((v) => (v.top === el.scrollTop && v.height === el.clientHeight ? v : { top: el.scrollTop, height: el.clientHeight }));
  }, [onScroll]);
  useLayoutEffect(() => {
    const el = scroller.current;
    if (!el) return;
    measure();
    el.addEventListener("scroll", measure, { passive: true });
    const observer = new ResizeObserver(measure);
    observer.observe(el);
    return () => { el.removeEventListener("scroll", measure); observer.disconnect(); };
  }, [measure, total === 0]);
  const v = visible(total, rowHeight, view.top, view.height);
  useEffect(() => { onRange?.(v.first, v.last); }, [v.first, v.last, onRange]);
  const rows = [];
  for (let i = v.first; i < v.last; i++) rows.push(row(i));
  return html`<div class=${"spacer " + c} role=${role} style=${{ height: v.spacer + "px" }}>
    <div class="window" role="presentation" style=${{ transform: `translateY(${v.offset}px)` }}>${rows}</div></div>`;
}
