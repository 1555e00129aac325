// Login. Offers what the server accepts.
import { html, useEffect, useState } from "../html.js";
import { server } from "../api.js";
import { Icon, Loading } from "../parts.js";
import { go } from "../router.js";
import { login } from "../session.js";
import { useStore } from "../store.js";

/** @returns {string} the page to open after the login */
function nextPage() {
  const next = new URLSearchParams(location.search).get("next") || "/ui/";
  return next.startsWith("/ui/") && !next.startsWith("/ui/login") ? next : "/ui/";
}

export function LoginPage() {
  const { session } = useStore(server);
  const [problem, setProblem] = useState("");
  useEffect(() => { if (session?.login_error) setProblem(session.login_error); }, [session]);
  useEffect(() => { document.title = "Log in · k8s-cli"; }, []);
  useEffect(() => { if (session?.user && !server.get().needsLogin) go(nextPage(), { replace: true }); }, [session?.user]);
  if (!session) return html`<div class="login-box"><${Loading} lines=${3} /></div>`;
  const { methods, identified_by: by, issuer } = session.login;
  return html`<div class="login-box"><h1 class="brand"><${Icon} name="menu" class="brand-mark" />k8s-cli</h1><p class="dim">Computational tasks on Kubernetes</p>
    ${problem && html`<p class="field-error" role="alert"><${Icon} name="warning" />${problem}</p>`}
    ${methods.includes("oidc") && html`<p><a class="button primary big" target="_self" href=${"/session/oidc/start?next=" + encodeURIComponent(nextPage())}><${Icon} name="user" />Log in${issuer ? ` at ${hostOf(issuer)}` : ""}</a></p>`}
    ${methods.includes("name") && html`<${Form} field="user" label="Your name" hint="The server trusts the name and asks for no password." type="text" placeholder="ann@example.com" />`}
    ${methods.includes("token") && html`<${Form} field="token" label=${by === "tokenreview" ? "Kubernetes token" : "Token"} type="password"
      hint=${by === "tokenreview" ? `For example the output of kubectl create token ann${session.login.audience ? " --audience " + session.login.audience : ""}.` : "The server keeps the token out of reach of scripts in the browser."} />`}
    ${!methods.length && html`<p role="alert">A proxy in front of this server must log you in. The request came without a user name: open the address of the proxy, or ask the administrator.</p>`}
  </div>`;
}

/** @param {string} issuer */
function hostOf(issuer) { try { return new URL(issuer).host; } catch { return "the issuer"; } }

/** @param {{field: "user" | "token", label: string, hint: string, type: string, placeholder?: string}} p */
function Form({ field, label, hint, type, placeholder }) {
  const [value, setValue] = useState("");
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = async (/** @type {Event} */ e) => {
    e.preventDefault();
    setBusy(true);
    setError("");
    try {
      await login(/** @type {any} */ ({ [field]: value.trim() }));
    } catch (err) { setError(/** @type {Error} */ (err).message); }
    setBusy(false);
  };
  return html`<form onSubmit=${submit}><label for=${"login-" + field}>${label}</label>
    <input id=${"login-" + field} name=${field === "user" ? "username" : "token"} type=${type} required autofocus maxLength="65536" placeholder=${placeholder} value=${value} autocomplete=${field === "user" ? "username" : "off"}
      onInput=${(/** @type {any} */ e) => setValue(e.currentTarget.value)} aria-describedby=${"hint-" + field} />
    <p class="dim small" id=${"hint-" + field}>${hint}</p>
    ${error && html`<p class="field-error" role="alert"><${Icon} name="warning" />${error}</p>`}
    <button class="button primary big" disabled=${busy}>Log in</button></form>`;
}
