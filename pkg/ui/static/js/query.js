// The search language of the list of tasks.

const fields = ["name", "user", "group", "label", "reason", "since", "before", "status", "gpus", "machine", "exit", "point"];
const always = ["user", "since", "before"]; // fields that cannot exclude tasks
const phases = ["pending", "running", "completed", "failed", "stopped"];

/** @typedef {{params: Record<string, string|string[]>, id: string, error: string}} Search */

/**
 * Translates a search into parameters of GET /tasks. Words without a field are a part of the
 * name, and all must be contained; a word in the form of an id also names a task. A minus excludes tasks.
 * @param {string} text for example: train user:ann -reason:OOMKilled label:team=vision since:2d
 * @returns {Search}
 */
export function parse(text) {
  /** @type {Record<string, string[]>} */
  const found = {};
  /** @type {string[]} */
  const words = [];
  let error = "";
  for (const token of text.match(/(?:[^\s"]|"[^"]*"?)+/g) || []) {
    const excludes = /^-[^\s-]/.test(token);
    const plain = token.slice(excludes ? 1 : 0).replaceAll('"', "").replace(/^#/, "");
    const at = plain.indexOf(":");
    const field = plain.slice(0, at).toLowerCase(), value = plain.slice(at + 1);
    if (at <= 0) (excludes ? (found["not_name_contains"] ||= []) : words).push(plain);
    else if (!fields.includes(field)) error ||= `"${field}:" is not a field of the search. Use ${fields.map((f) => f + ":").join(", ")}.`;
    else if (!value) error ||= `"${field}:" needs a value, for example ${example[field]}.`;
    else if (field === "status" && !phases.includes(value)) error ||= `"${value}" is not a status. Use ${phases.join(", ")}.`;
    else if (excludes && always.includes(field)) error ||= `"-${field}:" is not possible: only ${fields.filter((f) => !always.includes(f)).map((f) => `-${f}:`).join(", ")} exclude tasks.`;
    else (found[(excludes ? "not_" : "") + field] ||= []).push(value);
  }
  return { params: toParams(found, words), id: words.length === 1 && /^[a-z0-9]{8}$/.test(words[0]) ? words[0] : "", error: error || repeated(found) };
}

/** @type {Record<string, string>} */
const example = { name: "name:train", user: "user:ann@example.com", group: "group:sweep-k3x9q", label: "label:team=vision", reason: "reason:OOMKilled", since: "since:2d", before: "before:1h", status: "status:failed", gpus: "gpus:H100", machine: "machine:gpu-17", exit: "exit:137", point: "point:LR=0.1" };

/** @param {Record<string, string[]>} found */
function repeated(found) {
  const one = ["name", "user", "group", "since", "before"].find((f) => found[f]?.length > 1);
  return one ? `"${one}:" can be used only once.` : "";
}

/** @param {Record<string, string[]>} found @param {string[]} words */
function toParams(found, words) {
  /** @type {Record<string, string|string[]>} */
  const params = {};
  const name = found.name?.[0];
  if (name?.endsWith("*")) params.name_prefix = name.slice(0, -1);
  else if (name) params.name = name;
  if (words.length) params.name_contains = words;
  for (const f of ["user", "group", "since", "before"]) if (found[f]) params[f] = found[f][0];
  for (const f of ["label", "reason", "status", "gpus", "machine", "exit", "point", ...Object.keys(found).filter((f) => f.startsWith("not_"))]) if (found[f]) params[f] = found[f];
  return params;
}
