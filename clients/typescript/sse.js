// Server-sent events, by the rules of the HTML standard. fetch instead of EventSource sends
// headers and shows the status of a response.

/** Parses server-sent events. */
export class EventParser {
  constructor() { this.rest = ""; this.id = ""; this.data = ""; }

  /** @param {string} text @param {(data: string, id: string) => void} emit called also for a keep-alive with an id, with empty data */
  push(text, emit) {
    const lines = (this.rest + text).split("\n");
    this.rest = /** @type {string} */ (lines.pop());
    for (const line of lines) this.line(line.replace(/\r$/, ""), emit);
  }

  /** @param {string} line @param {(data: string, id: string) => void} emit */
  line(line, emit) {
    if (line === "") {
      if (this.data || this.id) emit(this.data, this.id);
      this.id = this.data = "";
    } else if (line.startsWith("data:")) this.data += (this.data && "\n") + line.slice(5).replace(/^ /, "");
    else if (line.startsWith("id:")) this.id = line.slice(3).trim();
  }
}

/** @param {string} id @returns {[number, number]} */
const position = (id) => { const [entry, n] = id.split(".").map(Number); return [entry || 0, n || 0]; };

/** @param {string} a @param {string} b @returns {boolean} whether the event with the id a is later than that with the id b */
export function later(a, b) {
  const [x, y] = [position(a), position(b)];
  return x[0] > y[0] || (x[0] === y[0] && x[1] > y[1]);
}
