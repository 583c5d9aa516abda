import type { Readable } from 'node:stream';

const MAX_LINE_CHARACTERS = 2000;

/** The last lines of a process's output, which often explain its end. */
export class RecentLines {
  readonly #lines: string[] = [];
  readonly #limit: number;

  constructor(limit = 50) {
    this.#limit = limit;
  }

  get last(): string | undefined {
    return this.#lines.at(-1);
  }

  get all(): readonly string[] {
    return this.#lines;
  }

  /** Reads lines from `stream` until it ends. `onLine` is called with each line that is not empty. */
  follow(stream: Readable, onLine: (line: string) => void): void {
    let rest = '';
    const take = (line: string): void => {
      const text = line.trimEnd().slice(0, MAX_LINE_CHARACTERS);
      if (text === '') return;
      this.#lines.push(text);
      if (this.#lines.length > this.#limit) this.#lines.shift();
      onLine(text);
    };
    stream.setEncoding('utf8');
    stream.on('data', (text: string) => {
      const lines = (rest + text).split(/\r?\n|\r/);
      rest = (lines.pop() ?? '').slice(-MAX_LINE_CHARACTERS);
      lines.forEach(take);
    });
    stream.on('end', () => take(rest));
    stream.on('error', () => {});
  }
}
