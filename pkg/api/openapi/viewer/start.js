// Replaces the plain list of operations by the viewer, which reads the same description.
"use strict";

const plain = document.querySelector("main");
const operations = new Map([...plain.querySelectorAll("section[id]")].map((section) => [section.id, section.dataset.target]));

// target returns the hash of the viewer for #submitTask and #tag/tasks/operation/submitTask.
const target = () => operations.get(decodeURIComponent(location.hash).split("/").pop().replace(/^#/, ""));

customElements.whenDefined("rapi-doc").then(() => {
  const viewer = document.createElement("rapi-doc");
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const attributes = {
    "spec-url": "openapi.json", "render-style": "focused", "theme": dark ? "dark" : "light", "load-fonts": "false",
    "show-header": "false", "allow-server-selection": "false", "fetch-credentials": "same-origin", "schema-style": "table",
    "show-method-in-nav-bar": "as-colored-text", "nav-item-spacing": "compact", "schema-description-expanded": "true",
    "regular-font": "system-ui, sans-serif", "mono-font": "ui-monospace, monospace", "update-route": "true",
  };
  for (const [name, value] of Object.entries(attributes)) viewer.setAttribute(name, value);
  if (target()) history.replaceState(null, "", "#" + target());
  viewer.addEventListener("spec-loaded", () => { plain.hidden = true; });
  addEventListener("hashchange", () => {
    if (target()) viewer.scrollToPath(target());
  });
  document.body.append(viewer);
});
