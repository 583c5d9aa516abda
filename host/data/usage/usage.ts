import type { Logger } from '../../base/core/log/logger.ts';
import { noTelemetry, type Telemetry } from '../../base/core/telemetry.ts';
import type { Storage } from '../storage/index.ts';
import { RequestMeter, type MeteredRequest } from './request-meter.ts';
import type { UsageRecord } from './record.ts';
import { UsageFile } from './usage-file.ts';
import { type PostUsage, UsageOutbox } from './usage-outbox.ts';
import { UsageTelemetry } from './usage-telemetry.ts';

/** Named like the settings `usage.…`; times in seconds. */
export interface UsageConfig {
  readonly file: { readonly path: string | null; readonly max_bytes: number; readonly max_files: number };
  readonly http: {
    readonly url: string | null;
    readonly batch_size: number;
    readonly interval_s: number;
    readonly timeout_s: number;
    readonly max_waiting: number;
  };
}

export interface UsageOptions {
  readonly config: UsageConfig;
  readonly storage: Storage;
  readonly post: PostUsage;
  /** The `source` of the events. */
  readonly source: string;
  readonly log: Logger;
  readonly telemetry?: Telemetry | undefined;
}

/** Measures requests. Writes records of what they used if the configuration names a place for them. */
export class Usage {
  readonly #file: UsageFile | undefined;
  readonly #outbox: UsageOutbox | undefined;
  readonly #telemetry: UsageTelemetry;

  constructor({ config: { file, http }, storage, post, source, log, telemetry = noTelemetry }: UsageOptions) {
    const reports = new UsageTelemetry(telemetry);
    this.#telemetry = reports;
    if (file.path !== null)
      this.#file = new UsageFile({
        path: file.path,
        maxBytes: file.max_bytes,
        maxFiles: file.max_files,
        log,
        onLost: (records) => reports.lost(records, 'file'),
      });
    if (http.url !== null)
      this.#outbox = new UsageOutbox({
        storage,
        post,
        source,
        batchSize: http.batch_size,
        intervalMs: http.interval_s * 1000,
        timeoutMs: http.timeout_s * 1000,
        maxWaiting: http.max_waiting,
        log,
        begin: (work, records) => reports.begin(work, records),
        onDelivered: (records) => reports.delivered(records),
        onLost: (records, reason) => reports.lost(records, reason),
      });
  }

  /** Whether records need the database. */
  get needsStorage(): boolean {
    return this.#outbox !== undefined;
  }

  /** Begins to store and send records, also those that an ended host left. */
  start(): void {
    this.#outbox?.start();
  }

  /** Writes and stores what waits in memory. Call it before the database is closed. */
  async stop(): Promise<void> {
    await Promise.all([this.#file?.stop(), this.#outbox?.stop()]);
  }

  /** Begins to measure a request. */
  readonly begin = (request: MeteredRequest): RequestMeter =>
    new RequestMeter(request, this.#file || this.#outbox ? this.#take : undefined);

  readonly #take = (records: readonly UsageRecord[]): void => {
    this.#telemetry.made(records.length);
    this.#file?.add(records.map((record) => JSON.stringify(record)));
    this.#outbox?.add(records);
  };
}
