/** @param {string} a @param {string} b @returns {boolean} whether the event with the id a is later than that with the id b */
export function later(a: string, b: string): boolean;
/** Parses server-sent events. */
export class EventParser {
    rest: string;
    id: string;
    data: string;
    /** @param {string} text @param {(data: string, id: string) => void} emit called also for a keep-alive with an id, with empty data */
    push(text: string, emit: (data: string, id: string) => void): void;
    /** @param {string} line @param {(data: string, id: string) => void} emit */
    line(line: string, emit: (data: string, id: string) => void): void;
}
