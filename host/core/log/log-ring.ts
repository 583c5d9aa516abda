import { boundedJson, type JsonBounds } from '../json/bounded-json.ts';
import { type Deferred, deferred } from '../deferred.ts';
import type { LogFields, Logger, LogLevel, LogRecord } from './logger.ts';
import { areaOf, LOG_LEVELS } from './logger.ts';

const DEFAULT_RECORDS = 2000;
/** Most characters of each field of a record, as JSON. Longer texts are cut. */
const MAX_FIELD_CHARACTERS = 4000;
const RECORD_BOUNDS: JsonBounds = { maxDepth: 16, maxElements: 2_000, maxChars: 64 * 1024 };

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
  #onRecord: ((record: LogRecord) => void) | undefined;

  constructor(limit: number = DEFAULT_RECORDS) {
    this.#limit = limit;
  }

  /** Number of records that were added so far. */
  get added(): number {
    return this.#first + this.#records.length;
  }

  /** Calls `receive` with each record that is added from now on. Errors in its fields have become texts. */
  set onRecord(receive: (record: LogRecord) => void) {
    this.#onRecord = receive;
  }

  add(whole: LogRecord): void {
    const record = shortened(whole);
    this.#records.push(record);
    this.#onRecord?.(record);
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
  tap(log: Logger, levelOf: (area: string | undefined) => LogLevel, bound: LogFields = {}): Logger {
    const area = areaOf(bound);
    const take = (at: LogLevel, message: string, fields: LogFields = {}): void => {
      log[at](message, fields);
      if (LOG_LEVELS[at] >= LOG_LEVELS[levelOf(area)])
        this.add({ time: new Date().toISOString(), level: at, message, fields: { ...bound, ...fields } });
    };
    return {
      debug: (message, fields) => take('debug', message, fields),
      info: (message, fields) => take('info', message, fields),
      warn: (message, fields) => take('warn', message, fields),
      error: (message, fields) => take('error', message, fields),
      child: (fields) => this.tap(log.child(fields), levelOf, { ...bound, ...fields }),
    };
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

/** Returns the record with fields that are JSON: errors become their messages, and long texts are cut. */
function shortened(whole: LogRecord): LogRecord {
  const { fields, ...record } = whole;
  if (Object.values(fields).every(isShort)) return whole; // most records need no change
  const kept = Object.entries(fields).flatMap(([key, value]): [string, unknown][] =>
    value === undefined ? [] : [[key, shortenedField(value)]],
  );
  return { ...record, fields: Object.fromEntries(kept) };
}

function isShort(value: unknown): boolean {
  return typeof value === 'string'
    ? value.length <= MAX_FIELD_CHARACTERS
    : typeof value === 'number' || typeof value === 'boolean';
}

function shortenedField(value: unknown): unknown {
  if (value instanceof Error) return shortenedField(value.message);
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  const text = typeof value === 'string' ? value : boundedJson(value, RECORD_BOUNDS);
  if (text.length > MAX_FIELD_CHARACTERS) return `${text.slice(0, MAX_FIELD_CHARACTERS)}…`;
  return typeof value === 'string' ? value : (JSON.parse(text) as unknown);
}
