import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { delay } from '../../base/core/abort.ts';
import type { Logger } from '../../base/core/log/logger.ts';

export interface UsageFileOptions {
  readonly path: string;
  readonly maxBytes: number;
  readonly maxFiles: number;
  readonly log: Logger;
  /** Called with the number of records that were dropped because the file could not take them. */
  readonly onLost: (records: number) => void;
}

/** Most characters that wait for the file. */
const MOST_WAITING = 16 * 1024 * 1024;
const RETRY_MS = 1000;

/** Appends records to a file, and begins a new one when it is large. */
export class UsageFile {
  readonly #options: UsageFileOptions;
  #waiting: string[] = [];
  #waitingChars = 0;
  #working: Promise<void> | undefined;
  /** Whether the file may end within a line. */
  #isTorn = true;
  #hasFailed = false;
  readonly #stopping = new AbortController();

  constructor(options: UsageFileOptions) {
    this.#options = options;
  }

  /** Takes lines without line breaks. They are written soon. */
  add(lines: readonly string[]): void {
    const chars = lines.reduce((sum, line) => sum + line.length + 1, 0);
    if (this.#waitingChars + chars > MOST_WAITING) return this.#options.onLost(lines.length);
    for (const line of lines) this.#waiting.push(`${line}\n`);
    this.#waitingChars += chars;
    this.#working ??= this.#work().finally(() => (this.#working = undefined));
  }

  /** Writes what waits. What the file does not take now is lost. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#working;
  }

  async #work(): Promise<void> {
    const { log, path, onLost } = this.#options;
    while (this.#waiting.length > 0) {
      const lines = this.#waiting;
      this.#waiting = [];
      this.#waitingChars = 0;
      try {
        await this.#append(lines);
        this.#hasFailed = false;
      } catch (error) {
        if (!this.#hasFailed) log.error('records of usage cannot be written; they wait', { file: path, error });
        this.#hasFailed = true;
        this.#isTorn = true;
        this.#takeBack(lines);
        if (this.#stopping.signal.aborted) return onLost(this.#waiting.splice(0).length);
        await delay(RETRY_MS, this.#stopping.signal).catch(() => {});
      }
    }
  }

  #takeBack(lines: readonly string[]): void {
    this.#waiting = [...lines, ...this.#waiting];
    this.#waitingChars = this.#waiting.reduce((sum, line) => sum + line.length, 0);
  }

  /** Writes whole lines, as many into each file as it has room for. */
  async #append(lines: string[]): Promise<void> {
    const { path, maxBytes } = this.#options;
    await mkdir(dirname(path), { recursive: true });
    while (lines.length > 0) {
      const found = await stat(path).catch(() => undefined);
      if (found?.isDirectory() === true) throw new Error(`${path} is a folder`);
      let bytes = found?.size ?? 0;
      let count = 0;
      for (const line of lines) {
        bytes += Buffer.byteLength(line);
        if (bytes > maxBytes && bytes > Buffer.byteLength(line)) break; // an empty file takes a line of any length
        count += 1;
      }
      if (count === 0) {
        await this.#rotate();
        continue;
      }
      await this.#write(lines.slice(0, count).join(''));
      lines.splice(0, count); // the rest is taken back when a later write fails
    }
  }

  async #write(text: string): Promise<void> {
    const file = await open(this.#options.path, 'a+', 0o600);
    try {
      if (this.#isTorn && (await endsInLine(file))) await file.appendFile('\n');
      this.#isTorn = true;
      await file.appendFile(text);
      this.#isTorn = false;
    } finally {
      await file.close();
    }
  }

  async #rotate(): Promise<void> {
    const { path, maxFiles } = this.#options;
    await rm(`${path}.${maxFiles}`, { force: true });
    for (let number = maxFiles - 1; number >= 1; number -= 1)
      await rename(`${path}.${number}`, `${path}.${number + 1}`).catch(absent);
    await rename(path, `${path}.1`);
    this.#isTorn = false;
  }
}

/** Whether the last byte of a file is no line break, because a write was cut off. */
async function endsInLine(file: Awaited<ReturnType<typeof open>>): Promise<boolean> {
  const { size } = await file.stat();
  if (size === 0) return false;
  const { buffer } = await file.read({ buffer: Buffer.alloc(1), position: size - 1 });
  return buffer[0] !== 0x0a;
}

function absent(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}
