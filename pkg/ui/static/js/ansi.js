// Colours of terminals. Only SGR sequences have an effect; all other control sequences are
// removed. Every piece of text becomes a text node, so a log cannot contain markup.

/** @typedef {{fg: string, bg: string, bold: boolean, dim: boolean, italic: boolean, underline: boolean, inverse: boolean, strike: boolean}} Style */

// CSI, OSC and DCS strings, other escapes, and control characters except tab.
const control = /\x1b\[([0-9;:<=>?]*)[ -/]*([@-~])|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)|\x1b[ -/]*[0-~]?|[\x00-\x08\x0b-\x1f\x7f]|\x9b/g;

/** @returns {Style} */
const plain = () => ({ fg: "", bg: "", bold: false, dim: false, italic: false, underline: false, inverse: false, strike: false });

/** @param {string} line @returns {string} the text without control sequences */
export function strip(line) {
  return /[\x00-\x08\x0b-\x1f\x7f\x9b]/.test(line) ? line.replace(control, "") : line;
}

/** A progress bar overwrites its line: the last part remains. @param {string} line */
export function collapse(line) {
  if (!line.includes("\r")) return line;
  const parts = line.split("\r");
  while (parts.length > 1 && parts[parts.length - 1] === "") parts.pop();
  return /** @type {string} */ (parts.pop());
}

/**
 * @param {string} line
 * @returns {{text: string, style: Style}[]} the pieces of a line with their styles
 */
export function pieces(line) {
  if (!/[\x00-\x08\x0b-\x1f\x7f\x9b]/.test(line)) return [{ text: line, style: plain() }];
  const result = [];
  let style = plain(), at = 0;
  for (const m of line.matchAll(control)) {
    if (m.index > at) result.push({ text: line.slice(at, m.index), style });
    at = m.index + m[0].length;
    if (m[2] === "m") style = apply(style, m[1]);
  }
  if (at < line.length) result.push({ text: line.slice(at), style });
  return result;
}

/** @param {Style} style @param {string} params */
function apply(style, params) {
  const s = { ...style };
  const codes = params.split(/[;:]/).map((p) => (p === "" ? 0 : Number(p)));
  for (let i = 0; i < codes.length; i++) {
    const c = codes[i];
    if (c === 38 || c === 48) {
      const colour = codes[i + 1] === 5 ? indexed(codes[i + 2]) : codes[i + 1] === 2 ? rgb(codes.slice(i + 2, i + 5)) : "";
      i += codes[i + 1] === 5 ? 2 : codes[i + 1] === 2 ? 4 : 1;
      if (c === 38) s.fg = colour; else s.bg = colour;
    } else simple(s, c);
  }
  return s;
}

/** @param {Style} s @param {number} c */
function simple(s, c) {
  if (c === 0) Object.assign(s, plain());
  else if (c === 1) s.bold = true;
  else if (c === 2) s.dim = true;
  else if (c === 3) s.italic = true;
  else if (c === 4) s.underline = true;
  else if (c === 7) s.inverse = true;
  else if (c === 9) s.strike = true;
  else if (c === 22) s.bold = s.dim = false;
  else if (c === 23) s.italic = false;
  else if (c === 24) s.underline = false;
  else if (c === 27) s.inverse = false;
  else if (c === 29) s.strike = false;
  else if (c >= 30 && c <= 37) s.fg = "c" + (c - 30);
  else if (c === 39) s.fg = "";
  else if (c >= 40 && c <= 47) s.bg = "c" + (c - 40);
  else if (c === 49) s.bg = "";
  else if (c >= 90 && c <= 97) s.fg = "c" + (c - 82);
  else if (c >= 100 && c <= 107) s.bg = "c" + (c - 92);
}

/** @param {number} n one of 256 colours @returns {string} a class name c0-c15, or #rrggbb */
function indexed(n) {
  if (!(n >= 0 && n <= 255)) return "";
  if (n < 16) return "c" + n;
  if (n >= 232) return rgb([8 + 10 * (n - 232), 8 + 10 * (n - 232), 8 + 10 * (n - 232)]);
  const level = (/** @type {number} */ v) => (v ? 55 + 40 * v : 0);
  return rgb([level(Math.floor((n - 16) / 36)), level(Math.floor((n - 16) / 6) % 6), level((n - 16) % 6)]);
}

/** @param {number[]} channels */
function rgb(channels) {
  if (channels.length !== 3 || channels.some((v) => !(v >= 0 && v <= 255))) return "";
  return "#" + channels.map((v) => v.toString(16).padStart(2, "0")).join("");
}
