import { type Deferred, deferred } from '../deferred.ts';
import { LOG_LEVELS, type Logger, type LogLevel, type LogRecord } from './logger.ts';
import { shortRecord } from './short-record.ts';
import { tapLog } from './tap-log.ts';

const DEFAULT_RECORDS = 2000;

export interface ReadLogOptions {
  /** Most records to read, counted from the last one. */
  readonly lines: number;
  /** Whether new records are read too, until the ring is closed. */
  readonly follow: boolean;
  /** Only records with this deployment in their fields. */
  readonly deployment?: string | undefined;
  /** Only records with this replica in their fields. */
  readonly replica?: string | undefined;
  /** Only records with this area in their fields. */
  readonly area?: string | undefined;
  /** Only records of this level or above. */
  readonly level?: LogLevel | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The last records of a log, for later readers. A slow reader misses records and reads how many; nothing waits for it.
 */
export class LogRing {
  readonly #limit: number;
  readonly #records: LogRecord[] = [];
  /** The number of the oldest record in the ring, counted from the first record that was added. */
  #first = 0;
  /** Resolves when there is a new record. Followers wait for it. */
  #news: Deferred<void> | undefined;
  #isClosed = false;

  constructor(limit: number = DEFAULT_RECORDS) {
    this.#limit = limit;
  }

  /** Number of records that were added so far. */
  get added(): number {
    return this.#first + this.#records.length;
  }

  add(record: LogRecord): void {
    this.#records.push(shortRecord(record));
    if (this.#records.length > this.#limit) {
      this.#records.shift();
      this.#first += 1;
    }
    this.#wake();
  }

  /** Ends the followers after the records that are in the ring. */
  close(): void {
    this.#isClosed = true;
    this.#wake();
  }

  /**
   * Returns a logger that writes to `log` and also adds records to the ring: those of the level that `levelOf` returns
   * for their area, or above.
   */
  tap(log: Logger, levelOf: (area: string | undefined) => LogLevel): Logger {
    return tapLog(log, levelOf, (record) => this.add(record));
  }

  async *read({
    lines,
    follow,
    signal,
    level = 'debug',
    ...wanted
  }: ReadLogOptions): AsyncGenerator<LogRecord, void, undefined> {
    const { deployment, replica, area } = wanted;
    const isWanted = (record: LogRecord): boolean =>
      LOG_LEVELS[record.level] >= LOG_LEVELS[level] &&
      (deployment === undefined || record.fields['deployment'] === deployment) &&
      (replica === undefined || record.fields['replica'] === replica) &&
      (area === undefined || record.fields['area'] === area);
    let next = this.#first + this.#records.length;
    const last = lines === 0 ? [] : this.#records.filter(isWanted).slice(-lines);
    const onAbort = (): void => this.#wake();
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      yield* last;
      while (follow) {
        signal?.throwIfAborted();
        const news = (this.#news ??= deferred()).promise; // before the ring is read, so that no record is missed
        if (next < this.#first) {
          yield {
            time: new Date().toISOString(),
            level: 'warn',
            message: 'lines left out: the reader is too slow',
            fields: { lines: this.#first - next },
          };
          next = this.#first;
        }
        const record = this.#records[next - this.#first];
        if (record) {
          next += 1;
          if (isWanted(record)) yield record;
        } else if (this.#isClosed) return;
        else await news;
      }
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }

  #wake(): void {
    this.#news?.resolve();
    this.#news = undefined;
  }
}
