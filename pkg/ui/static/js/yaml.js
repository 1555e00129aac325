// Writes data as YAML. Keys keep their order.

/** @param {any} value @returns {string} */
export function toYAML(value) {
  if (isEmpty(value) || typeof value !== "object") return scalar(value, "") + "\n";
  return lines(value, "").join("\n") + "\n";
}

/** @param {any} v */
const isEmpty = (v) => v && typeof v === "object" && Object.keys(v).length === 0;

/** @param {any} value @param {string} indent @returns {string[]} */
function lines(value, indent) {
  if (Array.isArray(value)) {
    return value.flatMap((item) => {
      if (typeof item !== "object" || item === null || isEmpty(item)) return [`${indent}- ${scalar(item, indent + "  ")}`];
      const inner = lines(item, indent + "  ");
      return [`${indent}- ${inner[0].slice(indent.length + 2)}`, ...inner.slice(1)];
    });
  }
  return Object.entries(value).flatMap(([key, v]) => {
    const name = indent + text(key) + ":";
    if (typeof v !== "object" || v === null || isEmpty(v)) return [`${name} ${scalar(v, indent + "  ")}`];
    return [name, ...lines(v, Array.isArray(v) ? indent : indent + "  ")];
  });
}

/** @param {any} v @param {string} indent */
function scalar(v, indent) {
  if (isEmpty(v)) return Array.isArray(v) ? "[]" : "{}";
  if (typeof v !== "string") return String(v);
  if (!v.includes("\n") || /[^\S\n]\n|^\s|\r|[\x00-\x08\x0b-\x1f]/.test(v)) return text(v);
  const body = v.replace(/\n+$/, "");
  const end = v.slice(body.length);
  const chomp = end === "" ? "-" : end === "\n" ? "" : "+";
  return "|" + chomp + "\n" + (body + end.slice(1)).split("\n").map((l) => (l ? indent + l : "")).join("\n");
}

/** @param {string} s a string on one line */
function text(s) {
  const plain = /^[A-Za-z_./$][\w./$@ +=,()~%^;<>?!*&|{}[\]'"\\:#-]*$/.test(s) && !/: |:$| #|\s$/.test(s);
  const special = /^(true|false|yes|no|on|off|null|~|\.nan|\.inf|y|n)$/i.test(s) || /^\.\d/.test(s);
  return plain && !special ? s : JSON.stringify(s);
}
