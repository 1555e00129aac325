// Grids: one task for each combination of the values of variables.

/** @param {string} text NAME=value, value on each line @returns {{variables: [string, string[]][], error: string}} */
export function parseGrid(text) {
  /** @type {[string, string[]][]} */
  const variables = [];
  for (const line of text.split("\n").map((l) => l.trim()).filter(Boolean)) {
    const m = /^([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.+)$/.exec(line);
    if (!m) return { variables: [], error: `"${line}" is not NAME=value, value` };
    if (variables.some(([name]) => name === m[1])) return { variables: [], error: `The variable ${m[1]} is there twice` };
    const values = m[2].split(",").map((v) => v.trim()).filter(Boolean);
    if (new Set(values).size < values.length) return { variables: [], error: `The variable ${m[1]} has the same value twice` };
    variables.push([m[1], values]);
  }
  return { variables, error: "" };
}

/** @param {[string, string[]][]} variables @returns {number} */
export const numberOf = (variables) => (variables.length ? variables.reduce((n, [, values]) => n * values.length, 1) : 0);

/** @param {[string, string[]][]} variables @returns {Record<string, string>[]} all combinations; the caller checks their number */
export function combinations(variables) {
  if (!variables.length) return [];
  /** @type {Record<string, string>[]} */
  let all = [{}];
  for (const [name, values] of variables) all = all.flatMap((one) => values.map((v) => ({ ...one, [name]: v })));
  return all;
}

/** @param {string} text the inside of { } on one line @returns {string[]} its entries */
function entries(text) {
  const parts = text.match(/(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|\{[^{}]*\}|\[[^[\]]*\]|[^,{}[\]"'])+/g) || [];
  return parts.map((p) => p.trim()).filter(Boolean);
}

/**
 * Sets variables in the envs of a task file, and leaves the rest of the text as it is.
 * @param {string} yaml
 * @param {Record<string, string>} values
 */
export function withEnvs(yaml, values) {
  const lines = yaml.split("\n");
  const entry = (/** @type {string} */ k, /** @type {string} */ v, /** @type {string} */ indent) => `${indent}${k}: ${JSON.stringify(v)}`;
  let at = lines.findIndex((l) => /^envs:/.test(l));
  const flow = /^envs:\s*\{(.*)\}\s*(#.*)?$/.exec(lines[at] || "");
  if (flow) {
    const others = entries(flow[1]).filter((e) => !(e.split(":")[0].trim().replace(/^["']|["']$/g, "") in values));
    lines[at] = `envs: {${[...others, ...Object.entries(values).map(([k, v]) => entry(k, v, ""))].join(", ")}}`;
    return lines.join("\n");
  }
  if (at >= 0 && !/^envs:\s*(#.*)?$/.test(lines[at])) throw new Error("The grid needs envs with one variable on each line, envs in { } on one line, or no envs.");
  if (at < 0) {
    at = lines.findIndex((l) => /^[A-Za-z_]/.test(l));
    lines.splice(at, 0, "envs:");
  }
  let end = at + 1;
  while (end < lines.length && (/^\s/.test(lines[end]) || lines[end] === "" || lines[end].startsWith("#"))) end++;
  const block = lines.slice(at + 1, end);
  const indent = /^(\s+)[^\s#]/.exec(block.find((l) => /^\s+[^\s#]/.test(l)) || "")?.[1] || "  ";
  for (const [k, v] of Object.entries(values)) {
    const i = block.findIndex((l) => l.startsWith(indent) && new RegExp(`^\\s+["']?${k}["']?\\s*:`).test(l));
    if (i >= 0) block[i] = entry(k, v, indent);
    else block.unshift(entry(k, v, indent));
  }
  lines.splice(at + 1, end - at - 1, ...block);
  return lines.join("\n");
}
