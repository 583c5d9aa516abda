/** Values and progress that wait to be written together. */
const FLUSH_MS = 50;
const MOST_CHUNKS = 256;

interface Pending {
  chunks: string[];
  progress: number | undefined;
}

/** Collects what an attempt streams, and hands it on in batches, one at a time: a write for each token would be the slowest part of it. */
export class AttemptReport {
  /** All values so far. */
  readonly values: string[] = [];
  readonly #write: (batch: { readonly chunks: readonly string[]; readonly progress: number | undefined }) => Promise<void>;
  #pending: Pending = { chunks: [], progress: undefined };
  #writing: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(write: (batch: { readonly chunks: readonly string[]; readonly progress: number | undefined }) => Promise<void>) {
    this.#write = write;
  }

  /** Resolves when there is room for more. */
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

  /** Writes what is left; rejects when a write failed. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(async () => {
      const { chunks, progress } = this.#pending;
      if (chunks.length === 0 && progress === undefined) return;
      this.#pending = { chunks: [], progress: undefined };
      await this.#write({ chunks, progress });
    });
    return this.#writing;
  }

  /** Drops what is left. */
  drop(): void {
    clearTimeout(this.#timer);
    this.#pending = { chunks: [], progress: undefined };
  }

  #flushSoon(): void {
    this.#timer ??= setTimeout(() => void this.flush().catch(() => {}), FLUSH_MS); // the next flush tells of the failure
  }
}
