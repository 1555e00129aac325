// Who the user is, and login and logout.
import { get, request, send, server, setSessionKey } from "./api.js";

/** @typedef {{user?: string, groups?: string[], admin?: boolean, all_users?: boolean, exec?: boolean, by?: string, expires_at?: string, login_error?: string, login: {identified_by: string, methods: string[], issuer?: string, audience?: string}}} Session */

/** Reads the session. Does not fail without a login. */
export async function readSession() {
  const { data } = await get("/session");
  adopt(data);
  return data;
}

/** @param {Session} session */
function adopt(session) {
  server.patch({ session, needsLogin: !session.user });
}

/** Tells the other tabs of the browser about a login or logout. */
const tabs = new BroadcastChannel("k8s-cli-session");
tabs.onmessage = () => { readSession().catch(() => {}); };

/** @param {{user: string} | {token: string}} credentials */
export async function login(credentials) {
  const begun = await send("/session", { body: credentials });
  setSessionKey(begun.session_key || "");
  const session = await readSession();
  if (!session.user) throw new Error("The browser did not store the session. Use HTTPS, or open the page as localhost.");
  tabs.postMessage("begun");
}

/** @param {boolean} all ends all sessions of the user */
export async function logout(all) {
  await request("/session" + (all ? "?all=true" : ""), { method: "DELETE" });
  sessionStorage.clear(); // drafts
  setSessionKey("");
  await readSession();
  tabs.postMessage("ended");
}
