import type { AttemptBatch } from '../storage/index.ts';

/** Values and progress that wait to be written together. */
const FLUSH_MS = 50;
const MOST_CHUNKS = 256;

interface Pending {
  chunks: string[];
  progress: number | undefined;
}

export interface AttemptReportOptions {
  /** Writes a batch, and tries again for as long as that makes sense. */
  readonly write: (batch: AttemptBatch) => Promise<void>;
  /** Called once, when a batch could not be written: the attempt is of no use any more. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * Collects what an attempt streams, and hands it on in batches, one at a time: a write for each token would be the
 * slowest part of it.
 */
export class AttemptReport {
  /** All values so far. */
  readonly values: string[] = [];
  readonly #options: AttemptReportOptions;
  #pending: Pending = { chunks: [], progress: undefined };
  #batches = 0;
  #writing: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: AttemptReportOptions) {
    this.#options = options;
  }

  /** Resolves when there is room for more: while batches cannot be written, a stream waits. */
  readonly add = async (chunk: string): Promise<void> => {
    this.values.push(chunk);
    this.#pending.chunks.push(chunk);
    this.#flushSoon();
    if (this.#pending.chunks.length >= MOST_CHUNKS) await this.flush();
  };

  /** A fraction from 0 to 1. */
  readonly progress = (fraction: number): void => {
    const percent = Math.round(Math.min(1, Math.max(0, fraction)) * 1000) / 10;
    if (!Number.isFinite(percent)) return;
    this.#pending.progress = percent;
    this.#flushSoon();
  };

  /** Writes what is left; rejects when this or an earlier write failed. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => this.#writePending());
    return this.#writing;
  }

  /** Drops what is left. */
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

  #flushSoon(): void {
    this.#timer ??= setTimeout(() => void this.flush().catch(() => {}), FLUSH_MS); // onFailure has been told
  }
}
