// The template function of all pages. htm turns a tagged template into calls of Preact's h, so
// text from users is always a text node and never markup.
import { h } from "../vendor/preact.js";
import htm from "../vendor/htm.js";

export const html = htm.bind(h);
export { Fragment, render } from "../vendor/preact.js";
export { useEffect, useLayoutEffect, useMemo, useRef, useState, useCallback } from "../vendor/hooks.js";
