// The part of xterm.js that the pages use.
export interface TerminalOptions { [name: string]: unknown; theme?: Record<string, string>; disableStdin?: boolean }
export class Terminal {
  constructor(options?: TerminalOptions);
  readonly cols: number;
  readonly rows: number;
  options: TerminalOptions;
  open(parent: HTMLElement): void;
  write(data: string | Uint8Array, callback?: () => void): void;
  reset(): void;
  focus(): void;
  dispose(): void;
  loadAddon(addon: object): void;
  attachCustomKeyEventHandler(handler: (event: KeyboardEvent) => boolean): void;
  onData(listener: (text: string) => void): object;
  onBinary(listener: (text: string) => void): object;
  onResize(listener: (size: { cols: number; rows: number }) => void): object;
}
