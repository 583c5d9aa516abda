import type { AttemptBatch } from '../storage/index.ts';

/** Values of this period, with the progress, are written together. */
const FLUSH_MS = 50;
/** Progress without values is written after this time, because each write is a row of the database. */
const PROGRESS_FLUSH_MS = 1000;
const MOST_CHUNKS = 256;

interface Pending {
  chunks: string[];
  progress: number | undefined;
}

export interface AttemptReportOptions {
  /** Writes a batch. Repeats the write while the database is away. */
  readonly write: (batch: AttemptBatch) => Promise<void>;
  /** Called once, when a batch could not be written. The attempt then has no use. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * Collects the values that an attempt streams and writes them in batches, one batch at a time. A write for each token
 * would be the slowest part of the attempt.
 */
export class AttemptReport {
  /** All values of the attempt so far. */
  readonly values: string[] = [];
  readonly #options: AttemptReportOptions;
  #pending: Pending = { chunks: [], progress: undefined };
  #batches = 0;
  #writing: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #flushAt = 0;
  /** The last progress that was given, in percent. */
  #progress: number | undefined;

  constructor(options: AttemptReportOptions) {
    this.#options = options;
  }

  /** Adds a value. Resolves when there is room for another one, so a stream waits while batches cannot be written. */
  readonly add = async (chunk: string): Promise<void> => {
    this.values.push(chunk);
    this.#pending.chunks.push(chunk);
    this.#flushIn(FLUSH_MS);
    if (this.#pending.chunks.length >= MOST_CHUNKS) await this.flush();
  };

  /** Sets the progress, a fraction from 0 to 1. */
  readonly progress = (fraction: number): void => {
    const percent = Math.round(Math.min(1, Math.max(0, fraction)) * 1000) / 10;
    if (!Number.isFinite(percent)) return;
    if (percent === this.#progress) return;
    this.#pending.progress = this.#progress = percent;
    this.#flushIn(PROGRESS_FLUSH_MS);
  };

  /** Writes the rest. Rejects when this or an earlier write failed. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#writePending());
    return this.#writing;
  }

  /** Drops the rest. */
  drop(): void {
    clearTimeout(this.#timer);
    this.#pending = { chunks: [], progress: undefined };
  }

  async #writePending(): Promise<void> {
    const { chunks, progress } = this.#pending;
    if (chunks.length === 0 && progress === undefined) return;
    this.#pending = { chunks: [], progress: undefined };
    this.#batches += 1;
    try {
      await this.#options.write({ number: this.#batches, chunks, progress });
    } catch (error) {
      this.#options.onFailure(error);
      throw error;
    }
  }

  /** Writes after at most this time. */
  #flushIn(ms: number): void {
    const at = performance.now() + ms;
    if (this.#timer && this.#flushAt <= at) return;
    clearTimeout(this.#timer);
    this.#flushAt = at;
    this.#timer = setTimeout(() => void this.flush().catch(() => {}), ms); // onFailure was called
  }
}
