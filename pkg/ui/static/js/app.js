// The frame of all pages: navigation, banner, dialogs, keys, and the page itself.
import { html, render, useEffect, useRef, useState } from "./html.js";
import { server } from "./api.js";
import { Banner, useHealth } from "./banner.js";
import { help, useKeys } from "./keys.js";
import { closeStream, openStream } from "./live.js";
import { NotFound } from "./notfound.js";
import { Dialog, Failure, Icon, Loading, Toasts, announcement } from "./parts.js";
import { go, place } from "./router.js";
import { readSession } from "./session.js";
import { useStore } from "./store.js";
import { setTheme, theme } from "./theme.js";
import { scope } from "./scope.js";
import { TasksPage } from "./pages/tasks.js";

/** Pages other than the first one are loaded when they are opened. @type {[RegExp, string, string][]} */
const routes = [
  [/^\/ui\/tasks\/([^/]+)\/logs\/?$/, "logs", "LogPage"],
  [/^\/ui\/tasks\/([^/]+)\/?$/, "task", "TaskPage"],
  [/^\/ui\/groups\/([^/]+)\/?$/, "group", "GroupPage"],
  [/^\/ui\/groups\/?$/, "groups", "GroupsPage"],
  [/^\/ui\/queue\/?$/, "queue", "QueuePage"],
  [/^\/ui\/capacity\/?$/, "capacity", "CapacityPage"],
  [/^\/ui\/volumes(?:\/([^/]+))?\/?$/, "volumes", "VolumesPage"],
  [/^\/ui\/new\/?$/, "new", "NewPage"],
  [/^\/ui\/me\/?$/, "me", "MePage"],
  [/^\/ui\/login\/?$/, "login", "LoginPage"],
];

const tries = 4;

/** Loads the module of a page, and tries again under another URL, because a browser remembers a failure. @param {string} name */
async function loadPage(name) {
  for (let i = 1; ; i++) {
    try {
      return await import(`./pages/${name}.js` + (i > 1 ? "?try=" + i : ""));
    } catch (err) {
      if (i === tries) throw err;
      await new Promise((resolve) => setTimeout(resolve, 500 * i));
    }
  }
}

/** @type {[string, string, string, string][]} */
const links = [["/ui/", "Tasks", "tasks", "t"], ["/ui/groups", "Groups", "groups", "g"], ["/ui/queue", "Queue", "queue", "q"], ["/ui/capacity", "Capacity", "capacity", "c"], ["/ui/volumes", "Volumes", "volumes", "v"]];

/** @param {string} path @param {string} href */
const isCurrent = (path, href) => (href === "/ui/" ? path === "/ui/" || path.startsWith("/ui/tasks/") : path.startsWith(href));

/** @param {{path: string, onHelp: () => void}} p */
function Navigation({ path, onHelp }) {
  const { session } = useStore(server);
  const link = (/** @type {[string, string, string, string]} */ [href, label, icon]) => html`<a href=${href} key=${href} aria-current=${isCurrent(path, href) ? "page" : undefined}><${Icon} name=${icon} /><span>${label}</span></a>`;
  return html`<nav class="nav" aria-label="Pages">
    <a class="brand" href="/ui/" aria-label="k8s-cli: tasks"><${Icon} name="menu" class="brand-mark" /><b>k8s-cli</b></a>
    <div class="nav-links">${links.map(link)}</div>
    <a class="button primary nav-new" href="/ui/new" aria-current=${path.startsWith("/ui/new") ? "page" : undefined}><${Icon} name="plus" /><span>New task</span></a>
    <div class="nav-end">
      <${ThemeButton} />
      <button class="icon-button wide-only" title="Keys (?)" aria-label="Keys" onClick=${onHelp}><${Icon} name="keys" /></button>
      <a class="nav-user" href="/ui/me" title=${session?.user || "Me"} aria-current=${path.startsWith("/ui/me") ? "page" : undefined}><${Icon} name="user" /><span class="clip">${session?.user || "Me"}</span></a>
    </div></nav>`;
}

const themes = ["auto", "light", "dark"];

function ThemeButton() {
  const now = useStore(theme);
  const next = themes[(themes.indexOf(now) + 1) % themes.length];
  return html`<button class="icon-button" title=${`Colours: ${now === "auto" ? "as the system" : now}. Change to ${next === "auto" ? "those of the system" : next}.`}
    aria-label=${`Colours: ${now}`} onClick=${() => setTheme(next)}><${Icon} name=${now} /></button>`;
}

/** @param {{path: string}} p */
function Page({ path }) {
  const [loaded, setLoaded] = useState(/** @type {{path: string, Component?: any, error?: Error, args?: string[]}} */ ({ path: "" }));
  const isTasks = path === "/ui/" || path === "/ui";
  useEffect(() => {
    if (isTasks) return;
    const route = routes.find(([form]) => form.test(path));
    if (!route) { setLoaded({ path }); return; }
    const args = /** @type {string[]} */ (/** @type {RegExpExecArray} */ (route[0].exec(path)).slice(1).map((s) => s && decode(s)));
    let current = true;
    loadPage(route[1]).then((m) => { if (current) setLoaded({ path, Component: m[route[2]], args }); }, (error) => { if (current) setLoaded({ path, error }); });
    return () => { current = false; };
  }, [path]);
  if (isTasks) return html`<${TasksPage} />`;
  if (loaded.path !== path) return html`<div class="page"><${Loading} /></div>`;
  if (loaded.error) return html`<div class="page"><${Failure} error=${new Error("The server did not send a part of the page.")} title="The page could not be loaded" retry=${() => location.reload()} /></div>`;
  if (!loaded.Component) return html`<${NotFound} />`;
  return html`<${loaded.Component} key=${path} id=${loaded.args?.[0]} />`;
}

/** @param {string} s */
function decode(s) { try { return decodeURIComponent(s); } catch { return s; } }

/** @param {{onClose: () => void}} p */
function Help({ onClose }) {
  return html`<${Dialog} title="Keys" onClose=${onClose} wide>
    <div class="key-help">${help.map(([title, keys]) => html`<section key=${title}><h3>${title}</h3><dl>${keys.map(([key, what]) => html`<dt><kbd>${key}</kbd></dt><dd>${what}</dd>`)}</dl></section>`)}</div>
    <p class="buttons"><button class="button" autofocus onClick=${onClose}>Close</button></p><//>`;
}

function App() {
  const { path, search } = useStore(place);
  const state = useStore(server), { all } = useStore(scope), spoken = useStore(announcement);
  const [showHelp, setHelp] = useState(false);
  const user = state.session?.user;
  useHealth();
  useEffect(() => { readSession().catch(() => setTimeout(() => location.reload(), 5000)); }, []);
  useEffect(() => {
    if (!user) return closeStream();
    openStream(user, all);
  }, [user, all]);
  // A screen reader and the keyboard begin at the new page.
  const shown = useRef(path);
  useEffect(() => {
    if (shown.current === path) return;
    shown.current = path;
    if (document.activeElement === document.body || !document.activeElement?.isConnected) document.getElementById("main")?.focus({ preventScroll: true });
  }, [path]);
  const away = state.session && (state.needsLogin || !user) && !path.startsWith("/ui/login");
  useEffect(() => {
    if (away) go("/ui/login?next=" + encodeURIComponent(path + search + location.hash), { replace: true });
  }, [away]);
  useKeys({
    "?": () => setHelp(true),
    "g t": () => go("/ui/"), "g g": () => go("/ui/groups"), "g q": () => go("/ui/queue"), "g c": () => go("/ui/capacity"),
    "g v": () => go("/ui/volumes"), "g n": () => go("/ui/new"), "g m": () => go("/ui/me"),
    Escape: () => { if (path !== "/ui/") history.length > 1 ? history.back() : go("/ui/"); },
  }, [path]);
  if (path.startsWith("/ui/login")) return html`<main class="login-frame"><${Banner} /><${Page} path=${path} /></main>`;
  return html`<a class="skip" href="#main">Skip to the content</a>
    <${Navigation} path=${path} onHelp=${() => setHelp(true)} />
    <main id="main" tabindex="-1"><${Banner} />${state.session && user ? html`<${Page} path=${path} />` : html`<div class="page"><${Loading} /></div>`}</main>
    <${Toasts} /><div class="offscreen" aria-live="polite">${spoken}</div>
    ${showHelp && html`<${Help} onClose=${() => setHelp(false)} />`}`;
}

render(html`<${App} />`, /** @type {Element} */ (document.getElementById("app")));
