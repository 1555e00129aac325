import { html } from "./html.js";
import { Notice } from "./parts.js";

/** The same page for unknown addresses and for tasks of other users. */
export function NotFound() {
  return html`<div class="page"><${Notice} title="Nothing here" icon="search"><p>There is no such page, task or group, or another user owns it.</p>
    <p><a class="button" href="/ui/">All tasks</a></p><//></div>`;
}
