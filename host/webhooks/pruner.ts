import { delay } from '../core/abort.ts';
import type { Logger } from '../core/log/logger.ts';
import type { Storage } from '../storage/index.ts';

export interface PrunerOptions {
  readonly storage: Storage;
  readonly log: Logger;
  /** How long deliveries are kept after their end; 0 is for ever. */
  readonly retentionMs: number;
}

const PRUNE_EVERY_MS = 600_000;
/** Most rows that one transaction removes, because other writers wait for it. */
const BATCH = 500;

/** Removes old deliveries from the outbox. Every host does it; they do not disturb each other. */
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
        await this.#prune();
      } catch (error) {
        this.#options.log.warn('old webhook deliveries were not removed', { error });
      }
      await delay(PRUNE_EVERY_MS, signal).catch(() => {});
    }
  }

  async #prune(): Promise<void> {
    const { storage, retentionMs } = this.#options;
    for (let removed = BATCH; removed === BATCH && !this.#stopping.signal.aborted;) {
      removed = await storage.write(({ webhookDeliveries, connection }) =>
        webhookDeliveries.prune(connection.now() - retentionMs, BATCH),
      );
    }
  }
}
