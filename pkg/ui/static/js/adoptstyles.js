// Makes a script that writes styles into the document work under a Content-Security-Policy without
// 'unsafe-inline': style elements become adopted style sheets, and style attributes become
// properties of the object model. The document of the terminal imports this file before xterm.js.

const tag = "adopted-style";

/** Stands for a style element: its text is a style sheet of the document while it is in the document. */
class AdoptedStyle extends HTMLElement {
  sheet = new CSSStyleSheet();
  text = "";

  connectedCallback() {
    this.hidden = true;
    document.adoptedStyleSheets.push(this.sheet);
  }

  disconnectedCallback() { document.adoptedStyleSheets = document.adoptedStyleSheets.filter((s) => s !== this.sheet); }

  get textContent() { return this.text; }
  set textContent(text) { this.sheet.replaceSync((this.text = text || "")); }
}

customElements.define(tag, AdoptedStyle);

const create = document.createElement.bind(document), setAttribute = Element.prototype.setAttribute;

document.createElement = /** @type {any} */ ((/** @type {string} */ name, /** @type {any} */ o) => create(name.toLowerCase() === "style" ? tag : name, o));

/** @this {Element} @param {string} name @param {string} value */
Element.prototype.setAttribute = function (name, value) {
  if (name.toLowerCase() === "style" && this instanceof HTMLElement) this.style.cssText = value;
  else setAttribute.call(this, name, value);
};
