import { signalWithin } from '../../core/abort.ts';
import type { Logger } from '../../core/log/logger.ts';
import type { Attributes, Counter, Telemetry } from '../../core/telemetry.ts';
import type { Send } from './otlp-sender.ts';

export interface ExportQueueOptions<T> {
  /** What the items are, for log lines: `spans`. */
  readonly noun: string;
  /** Resolves with the function that sends items, which is asked for at once. */
  readonly sender: Promise<Send<readonly T[]>>;
  /** Most items that wait. Further ones are dropped. */
  readonly maxQueueSize: number;
  /** Most items of one request. */
  readonly maxBatchSize: number;
  /** Longest time in milliseconds that an item waits for others. */
  readonly scheduleDelayMs: number;
  /** Milliseconds that a batch may take, repetitions included. Then it is dropped. */
  readonly exportTimeoutMs: number;
  readonly counters: ExportCounters;
  readonly log: Logger;
}

const LOG_EVERY_MS = 60_000;
const QUEUE_FULL: Attributes = { 'error.type': 'queue_full' };

/** The counters of one kind of items. */
export interface ExportCounters {
  readonly queued: Counter;
  readonly exported: Counter;
}

/** Returns the counters of exported spans, with the names of OpenTelemetry's conventions for SDKs. */
export function spanCounters(telemetry: Pick<Telemetry, 'counter'>): ExportCounters {
  return {
    queued: telemetry.counter('otel.sdk.processor.span.processed', {
      unit: '{span}',
      description: 'Ended spans of sampled traces, by the reason if there was no room for them.',
      attributes: ['error.type'],
    }),
    exported: telemetry.counter('otel.sdk.exporter.span.exported', {
      unit: '{span}',
      description: 'Spans that were sent to a collector, by the reason if it did not take them.',
      attributes: ['error.type'],
    }),
  };
}

/** Returns the counters of exported log lines, like {@link spanCounters}. */
export function logCounters(telemetry: Pick<Telemetry, 'counter'>): ExportCounters {
  return {
    queued: telemetry.counter('otel.sdk.processor.log.processed', {
      unit: '{log_record}',
      description: 'Log lines to export, by the reason if there was no room for them.',
      attributes: ['error.type'],
    }),
    exported: telemetry.counter('otel.sdk.exporter.log.exported', {
      unit: '{log_record}',
      description: 'Log lines that were sent to a collector, by the reason if it did not take them.',
      attributes: ['error.type'],
    }),
  };
}

/**
 * Sends items in batches, one at a time. Nothing waits for it: items without room are dropped, counted, and reported in
 * the log once a minute.
 */
export class ExportQueue<T> {
  readonly #options: ExportQueueOptions<T>;
  readonly #queued: Counter;
  readonly #exported: Counter;
  readonly #closing = new AbortController();
  #waiting: T[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #dropped = 0;
  #reason = '';
  /** Set for a minute after each line about dropped items. */
  #logTimer: NodeJS.Timeout | undefined;

  constructor(options: ExportQueueOptions<T>) {
    this.#options = options;
    options.sender.catch(() => {}); // each batch reports it
    ({ queued: this.#queued, exported: this.#exported } = options.counters);
  }

  add(item: T): void {
    if (this.#waiting.length >= this.#options.maxQueueSize) {
      this.#queued.add(1, QUEUE_FULL);
      return this.#drop(1, `too many ${this.#options.noun} wait`);
    }
    this.#queued.add(1);
    this.#waiting.push(item);
    if (this.#sending) return;
    if (this.#waiting.length >= this.#options.maxBatchSize) this.#start();
    else this.#timer ??= setTimeout(() => this.#start(), this.#options.scheduleDelayMs).unref();
  }

  /** Sends what waits for up to `graceMs`, and drops the rest. May be called twice. */
  async close(graceMs: number): Promise<void> {
    if (this.#waiting.length > 0) this.#start();
    const timer = setTimeout(() => this.#closing.abort(), graceMs);
    await this.#sending;
    clearTimeout(timer);
    this.#closing.abort();
    clearTimeout(this.#timer);
    clearTimeout(this.#logTimer);
    this.#logDropped();
  }

  #start(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sending ??= this.#sendAll().finally(() => (this.#sending = undefined));
  }

  async #sendAll(): Promise<void> {
    const { noun, sender, maxBatchSize, exportTimeoutMs } = this.#options;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, maxBatchSize);
      try {
        const signal = signalWithin(exportTimeoutMs, this.#closing.signal);
        const refused = await (await sender)(batch, signal);
        this.#exported.add(batch.length - refused);
        if (refused > 0) this.#lose(refused, `the collector refused some ${noun}`, 'rejected');
      } catch (error) {
        const { name, message } = error as Error;
        this.#lose(batch.length, message, name);
      }
    }
  }

  #lose(count: number, reason: string, type: string): void {
    this.#exported.add(count, { 'error.type': type });
    this.#drop(count, reason);
  }

  #drop(count: number, reason: string): void {
    this.#dropped += count;
    this.#reason = reason;
    if (this.#logTimer === undefined) this.#logDropped();
  }

  #logDropped(): void {
    this.#logTimer = undefined;
    if (this.#dropped === 0) return;
    const { log, noun } = this.#options;
    log.warn(`${noun} dropped`, { [noun.replace(/^.* /, '')]: this.#dropped, reason: this.#reason });
    this.#dropped = 0;
    this.#logTimer = setTimeout(() => this.#logDropped(), LOG_EVERY_MS).unref();
  }
}
