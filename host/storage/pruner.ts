import { delay } from '../core/abort.ts';
import type { Logger } from '../core/log/logger.ts';
import type { Repositories } from './repositories/index.ts';
import type { Storage } from './storage.ts';

export interface PrunerOptions {
  readonly storage: Pick<Storage, 'write'>;
  readonly log: Logger;
  /** The rows for the log, such as `webhook deliveries`. */
  readonly what: string;
  /** How long rows are kept; 0 is for ever. */
  readonly retentionMs: number;
  /** Removes at most `limit` rows that are older than `before`. Returns their number. */
  readonly prune: (repositories: Repositories, before: number, limit: number) => Promise<number>;
}

const PRUNE_EVERY_MS = 600_000;
/** Most rows that one transaction removes, because other writers wait for it. */
const BATCH = 500;

/** Removes old rows. Every host does it; they do not disturb each other. */
export class Pruner {
  readonly #options: PrunerOptions;
  readonly #stopping = new AbortController();
  #loop: Promise<void> = Promise.resolve();

  constructor(options: PrunerOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#options.retentionMs > 0) this.#loop = this.#pruneUntilStopped();
  }

  /** Waits for the transaction that runs. May be called twice. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loop;
  }

  async #pruneUntilStopped(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        await this.#pruneAll();
      } catch (error) {
        this.#options.log.warn('old rows were not removed', { what: this.#options.what, error });
      }
      await delay(PRUNE_EVERY_MS, signal).catch(() => {});
    }
  }

  async #pruneAll(): Promise<void> {
    const { storage, retentionMs, prune } = this.#options;
    for (let removed = BATCH; removed === BATCH && !this.#stopping.signal.aborted;) {
      removed = await storage.write((repositories) =>
        prune(repositories, repositories.connection.now() - retentionMs, BATCH),
      );
    }
  }
}
