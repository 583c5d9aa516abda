import { AanaError } from '../../base/core/errors.ts';
import { newLeaseOwner } from '../../base/core/ids.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import type { Span } from '../../base/core/telemetry.ts';
import { RepeatedWork } from '../../base/core/async/repeated-work.ts';
import type { ClaimedUsage, Storage, TracedStorage } from '../storage/index.ts';
import { BATCH_TYPE, cloudEventBatch } from './cloud-events.ts';
import type { UsageRecord } from './record.ts';

/** Posts a batch, and returns the status of the answer. Rejects when there is none. */
export type PostUsage = (
  body: string,
  options: { readonly contentType: string; readonly timeoutMs: number; readonly signal: AbortSignal },
) => Promise<number>;

export interface UsageOutboxOptions {
  readonly storage: Storage;
  readonly post: PostUsage;
  /** The `source` of the events. */
  readonly source: string;
  readonly batchSize: number;
  readonly intervalMs: number;
  readonly timeoutMs: number;
  readonly maxWaiting: number;
  readonly log: Logger;
  /** Begins the span of work with so many records. */
  readonly begin: (work: 'store' | 'send', records: number) => Span;
  readonly onDelivered: (records: number) => void;
  /** Called with records that are dropped. */
  readonly onLost: (records: number, reason: LossReason) => void;
}

export type LossReason = 'full' | 'refused';

/** Time for which new records wait for others, before they are stored together. */
const STORE_EVERY_MS = 500;
/** Most records that wait in memory for the database, and most of one transaction. */
const MOST_IN_MEMORY = 20_000;
const MOST_STORED_AT_ONCE = 1000;
/** The time by which a lease is longer than a request. */
const LEASE_MARGIN_MS = 5000;
const LONGEST_DELAY_MS = 300_000;
/** Statuses that say that a record is wrong, so that the same one is refused again. */
const WRONG: ReadonlySet<number> = new Set([400, 413, 422]);

/**
 * Records that wait in the database until another server has taken them. Hosts that share a database share the work.
 */
export class UsageOutbox {
  readonly #options: UsageOutboxOptions;
  readonly #owner = newLeaseOwner();
  readonly #storing: RepeatedWork;
  readonly #sending: RepeatedWork;
  #waiting: UsageRecord[] = [];
  /** Requests in a row that failed. */
  #failures = 0;
  #hasFailedToStore = false;

  constructor(options: UsageOutboxOptions) {
    this.#options = options;
    const { log, intervalMs } = options;
    this.#storing = new RepeatedWork({
      everyMs: STORE_EVERY_MS,
      work: () => this.#storeAll(),
      onError: (error) => {
        if (!this.#hasFailedToStore) log.warn('records of usage wait for the database', { error });
        this.#hasFailedToStore = true;
      },
    });
    this.#sending = new RepeatedWork({
      everyMs: intervalMs,
      work: (signal) => this.#sendAll(signal),
      onError: (error) => log.warn('records of usage cannot be read', { error }),
    });
  }

  start(): void {
    this.#storing.start();
    this.#sending.start();
  }

  /** Stores what waits in memory. What waits in the database is sent after the next start, or by another host. */
  async stop(): Promise<void> {
    await Promise.all([this.#sending.stop(), this.#storing.stop()]);
    await this.#storeAll().catch((error: unknown) => {
      this.#options.log.error('records of usage are lost', { records: this.#waiting.length, error });
      this.#options.onLost(this.#waiting.splice(0).length, 'full');
    });
  }

  add(records: readonly UsageRecord[]): void {
    if (this.#waiting.length + records.length > MOST_IN_MEMORY) return this.#options.onLost(records.length, 'full');
    this.#waiting.push(...records);
  }

  async #storeAll(): Promise<void> {
    const { onLost } = this.#options;
    while (this.#waiting.length > 0) {
      const some = this.#waiting.slice(0, MOST_STORED_AT_ONCE);
      const isStored = await this.#store(some);
      this.#waiting.splice(0, some.length);
      this.#hasFailedToStore = false;
      if (!isStored) onLost(some.length, 'full');
    }
  }

  async #sendAll(signal: AbortSignal): Promise<void> {
    const { storage, batchSize, timeoutMs } = this.#options;
    while (!signal.aborted) {
      const leaseMs = timeoutMs + LEASE_MARGIN_MS;
      const claimed = await storage.write(({ usageRecords }) => usageRecords.claim(this.#owner, batchSize, leaseMs));
      if (claimed.length === 0 || !(await this.#send(claimed, signal))) return;
    }
  }

  /** Returns whether the records were stored. There is no room for them otherwise. */
  async #store(records: readonly UsageRecord[]): Promise<boolean> {
    const { storage, begin, maxWaiting } = this.#options;
    const span = begin('store', records.length);
    let failure: unknown;
    try {
      return await storage
        .inTrace(span.traceparent)
        .write(({ usageRecords }) => usageRecords.insert(records, maxWaiting));
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      span.end({ error: failure });
    }
  }

  /** Sends records. Returns whether the server took or refused all of them. */
  async #send(records: readonly ClaimedUsage[], signal: AbortSignal): Promise<boolean> {
    const outcome = await this.#sendOnce(records, signal);
    if (outcome !== 'wrong') return outcome === 'over';
    const half = Math.ceil(records.length / 2);
    return (await this.#send(records.slice(0, half), signal)) && (await this.#send(records.slice(half), signal));
  }

  /**
   * Returns `over` when the server took or refused the records, `later` when it did neither, `wrong` if it must say
   * which one is wrong.
   */
  async #sendOnce(records: readonly ClaimedUsage[], signal: AbortSignal): Promise<'over' | 'later' | 'wrong'> {
    const { storage, begin, log, onDelivered, onLost } = this.#options;
    const span = begin('send', records.length);
    const traced = storage.inTrace(span.traceparent);
    const { status, reason, error } = await this.#post(records, signal);
    let failure = error;
    try {
      if (status !== undefined && status >= 200 && status <= 299) {
        await this.#remove(traced, records);
        this.#failures = 0;
        onDelivered(records.length);
        return 'over';
      }
      failure ??= new Error(`the server answered ${status}`);
      if (status !== undefined && WRONG.has(status)) {
        if (records.length > 1) return 'wrong';
        await this.#remove(traced, records);
        log.error('a record of usage was refused and is dropped', { status, record: records[0]?.record });
        onLost(1, 'refused');
        return 'over';
      }
      this.#failures += 1;
      const delayMs = signal.aborted ? 0 : Math.min(LONGEST_DELAY_MS, 1000 * 2 ** Math.min(this.#failures, 20));
      if (!signal.aborted && this.#failures === 1)
        log.warn('records of usage were not taken, and are sent again', { status, reason });
      await traced.write(({ usageRecords }) => usageRecords.giveBack(this.#owner, delayMs));
      return 'later';
    } catch (stored) {
      failure = stored;
      throw stored;
    } finally {
      span.end({
        error: failure,
        attributes: status === undefined ? {} : { 'http.response.status_code': status },
      });
    }
  }

  /** Posts records. Returns the status of the answer, or the reason why there is none. */
  async #post(
    records: readonly ClaimedUsage[],
    signal: AbortSignal,
  ): Promise<{ readonly status?: number; readonly reason?: unknown; readonly error?: unknown }> {
    const { post, source, timeoutMs } = this.#options;
    try {
      const body = cloudEventBatch(
        records.map(({ record }) => JSON.parse(record) as UsageRecord),
        source,
      );
      return { status: await post(body, { contentType: BATCH_TYPE, timeoutMs, signal }) };
    } catch (error) {
      return { reason: error instanceof AanaError ? error.message : error, error };
    }
  }

  #remove(storage: TracedStorage, records: readonly ClaimedUsage[]): Promise<void> {
    return storage.write(({ usageRecords }) =>
      usageRecords.remove(
        this.#owner,
        records.map(({ seq }) => seq),
      ),
    );
  }
}
