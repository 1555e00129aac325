/** A position in the log of one node. */
export class Cursor {
    /** @type {{second: number, key: string}[]} */ recent: {
        second: number;
        key: string;
    }[];
    newest: number;
    latest: string;
    dropped: number;
    empty: boolean;
    /** Moves the position after a line. @param {number} second @param {string} time @param {string} key */
    advance(second: number, time: string, key: string): void;
    trim(): void;
    /** The second from which to resume the log. */
    since(): number;
    /** Returns a function that recognises the repeated lines of a log that is resumed from since, and the lines that are still to be repeated. The caller calls the function once for each line, in order. */
    repeats(): {
        has: (second: number, time: string, key: string) => boolean;
        left: Map<string, number>;
    };
}
/** Removes repeated lines from the responses with the log of a task, and knows from where to resume it. */
export class LogPosition {
    /** @type {Map<number, Cursor>} */ cursors: Map<number, Cursor>;
    /** @type {Map<number, ReturnType<Cursor["repeats"]>>} */ again: Map<number, ReturnType<Cursor["repeats"]>>;
    resumable: boolean;
    lines: number;
    /** The value of X-Log-Resume. */
    token(): string;
    /** Whether the server can send the rest of the log. Servers accept about 16 KB of headers. */
    canResume(): boolean;
    /** Whether the response has repeated all lines that a response from this position on repeats. @param {string} rest text after its last newline */
    isWhole(rest: string): boolean;
    /** The second of the newest line. */
    newest(): number;
    /** Begins a response. @param {boolean} resumable whether each line begins with its time */
    begin(resumable: boolean): void;
    /** @param {string} line @param {boolean} timestamps @returns {string | null} the line for the caller, or null if the line is a repetition */
    accept(line: string, timestamps: boolean): string | null;
}
