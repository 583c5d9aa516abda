import { within } from '../clock.ts';

/** What lines are written to. */
export interface LineSink {
  /** Resolves when the text was taken. Rejects with the reason when some of it may be lost. */
  write(text: string): Promise<void>;
  /** Writes what is possible at once. Called when the process ends. Never throws. */
  writeLast(text: string): void;
}

export interface LineWriterOptions {
  readonly sink: LineSink;
  /** Most characters that wait. Further lines are dropped. Default: 1 Mi. */
  readonly maxChars?: number;
  /** Returns the line that tells readers how many lines are missing there, and why. */
  readonly notice: (lines: number, reason: string) => string;
  /** Milliseconds between a failed write, such as one to a full disk, and the next one. Default: 1000. */
  readonly retryMs?: number;
}

const MAX_CHARS = 1024 * 1024;
/** Most characters of one write, so that a slow reader gets lines soon. */
const MAX_WRITE_CHARS = 64 * 1024;
const RETRY_MS = 1000;
/** Reasons after which no write can succeed. */
const FINAL: ReadonlySet<string> = new Set(['EPIPE', 'ERR_STREAM_DESTROYED', 'EBADF']);
const QUEUE_FULL = 'queue_full';

/** Lines that were dropped for one reason. */
export interface DroppedLines {
  readonly reason: string;
  readonly lines: number;
}

/**
 * Writes lines one write at a time, and never makes anybody wait. Lines that have no room or cannot be written are
 * dropped and counted. The first write that succeeds afterwards says at their place how many are missing.
 */
export class LineWriter {
  readonly #options: LineWriterOptions;
  readonly #dropped = new Map<string, number>();
  #waiting: string[] = [];
  #waitingChars = 0;
  /** Lines that are missing before those that wait, because their write failed. */
  #lost = 0;
  #lostReason = '';
  /** Lines that are missing after those that wait, because they had no room. */
  #refused = 0;
  #writing: Promise<void> | undefined;
  #isPausing = false;
  #hasEnded = false;

  constructor(options: LineWriterOptions) {
    this.#options = options;
  }

  /** Takes a line with its line break. */
  write(line: string): void {
    if (this.#hasEnded) return this.#count(1, this.#lostReason);
    // After a refused line, further lines wait for the notice, so that the notice is where lines are missing.
    if (this.#refused > 0 || this.#waitingChars + line.length > (this.#options.maxChars ?? MAX_CHARS)) {
      this.#refused += 1;
      return this.#count(1, QUEUE_FULL);
    }
    this.#waiting.push(line);
    this.#waitingChars += line.length;
    if (!this.#isPausing) this.#start();
  }

  /** Returns how many lines were dropped so far, by reason. */
  dropped(): DroppedLines[] {
    return [...this.#dropped].map(([reason, lines]) => ({ reason, lines }));
  }

  /** Waits until all lines are written, at most `ms` milliseconds. */
  async flush(ms: number): Promise<void> {
    if (this.#writing) await within(this.#writing, ms);
  }

  /** Passes what still waits to the sink. For the end of the process. */
  end(): void {
    if (this.#waiting.length > 0) this.#options.sink.writeLast(this.#waiting.join(''));
    this.#waiting = [];
  }

  #start(): void {
    this.#writing ??= this.#writeAll().finally(() => (this.#writing = undefined));
  }

  async #writeAll(): Promise<void> {
    while (!this.#isPausing && !this.#hasEnded && (this.#waiting.length > 0 || this.#lost > 0 || this.#refused > 0))
      await this.#writeSome();
  }

  async #writeSome(): Promise<void> {
    const { sink, notice } = this.#options;
    const lines = this.#take();
    const [lost, reason] = [this.#lost, this.#lostReason];
    const refused = this.#waiting.length === 0 ? this.#refused : 0;
    this.#lost = 0;
    this.#refused -= refused;
    const before = lost === 0 ? '' : notice(lost, reason);
    const after = refused === 0 ? '' : notice(refused, QUEUE_FULL);
    try {
      await sink.write(`${before}${lines.join('')}${after}`);
    } catch (error) {
      this.#lose(lines.length, (error as NodeJS.ErrnoException).code ?? (error as Error).name);
      this.#lost += lost + refused; // their notices did not arrive
    }
  }

  #take(): string[] {
    let chars = 0;
    let lines = 0;
    for (const { length } of this.#waiting) {
      if (lines > 0 && chars + length > MAX_WRITE_CHARS) break;
      chars += length;
      lines += 1;
    }
    this.#waitingChars -= chars;
    return this.#waiting.splice(0, lines);
  }

  #lose(lines: number, reason: string): void {
    this.#count(lines, reason);
    this.#lost += lines;
    this.#lostReason = reason;
    if (FINAL.has(reason)) {
      this.#hasEnded = true;
      this.#count(this.#waiting.length, reason);
      this.#waiting = [];
      return;
    }
    this.#isPausing = true;
    const timer = setTimeout(() => {
      this.#isPausing = false;
      this.#start();
    }, this.#options.retryMs ?? RETRY_MS);
    timer.unref();
  }

  #count(lines: number, reason: string): void {
    if (lines > 0) this.#dropped.set(reason, (this.#dropped.get(reason) ?? 0) + lines);
  }
}
