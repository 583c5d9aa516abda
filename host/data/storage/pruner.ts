import { RepeatedWork } from '../../base/core/async/repeated-work.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import type { Repositories } from './repositories/index.ts';
import type { Storage } from './storage.ts';

export interface PrunerOptions {
  readonly storage: Pick<Storage, 'write'>;
  readonly log: Logger;
  /** The rows for the log, such as `webhook deliveries`. */
  readonly what: string;
  /** How long rows are kept; 0 is for ever. */
  readonly retentionMs: number;
  /**
   * Removes at most `limit` rows that are older than `before`. Returns their number; it is called again until that is
   * 0.
   */
  readonly prune: (repositories: Repositories, before: number, limit: number) => Promise<number>;
}

const PRUNE_EVERY_MS = 600_000;
/** Most rows that one transaction removes, because other writers wait for it. */
const BATCH = 500;

/** Removes old rows. Every host does it; they do not disturb each other. */
export class Pruner {
  readonly #options: PrunerOptions;
  readonly #work: RepeatedWork;

  constructor(options: PrunerOptions) {
    this.#options = options;
    this.#work = new RepeatedWork({
      everyMs: PRUNE_EVERY_MS,
      work: (signal) => this.#prune(signal),
      onError: (error) => options.log.warn('old rows were not removed', { what: options.what, error }),
    });
  }

  /** May be called twice. */
  start(): void {
    if (this.#options.retentionMs > 0) this.#work.start();
  }

  /** Waits for the transaction that runs. May be called twice. */
  stop(): Promise<void> {
    return this.#work.stop();
  }

  async #prune(signal: AbortSignal): Promise<void> {
    const { storage, retentionMs, prune } = this.#options;
    for (let removed = 1; removed > 0 && !signal.aborted;) {
      removed = await storage.write((repositories) =>
        prune(repositories, repositories.connection.now() - retentionMs, BATCH),
      );
    }
  }
}
