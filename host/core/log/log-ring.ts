import { boundedJson, type JsonBounds } from '../json/bounded-json.ts';
import { type Deferred, deferred } from '../deferred.ts';
import type { LogFields, Logger, LogLevel, LogRecord } from './logger.ts';
import { LOG_LEVELS } from './logger.ts';

const DEFAULT_RECORDS = 2000;
/** Of the fields of one record, as JSON; longer texts in them are cut. */
const MAX_FIELD_CHARACTERS = 4000;
const RECORD_BOUNDS: JsonBounds = { maxDepth: 16, maxElements: 2_000, maxChars: 64 * 1024 };

export interface ReadLogOptions {
  /** How many of the last ones, at most. */
  readonly lines: number;
  /** Whether those that come are given too, until the ring is closed. */
  readonly follow: boolean;
  /** Those that speak of this deployment. */
  readonly deployment?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The last events of a log, for those who ask later. A reader that is slow misses some and is told how many; nobody
 * waits for it.
 */
export class LogRing {
  readonly #limit: number;
  readonly #records: LogRecord[] = [];
  /** Number of the first record that is kept, counted from the first that ever was. */
  #first = 0;
  /** What followers wait for. */
  #news: Deferred<void> | undefined;
  #isClosed = false;

  constructor(limit: number = DEFAULT_RECORDS) {
    this.#limit = limit;
  }

  add(record: LogRecord): void {
    this.#records.push(shortened(record));
    if (this.#records.length > this.#limit) {
      this.#records.shift();
      this.#first += 1;
    }
    this.#wake();
  }

  /** Followers get what there is, and then their end. */
  close(): void {
    this.#isClosed = true;
    this.#wake();
  }

  /** A logger that writes to `log` and keeps here what is of `level` or above. */
  tap(log: Logger, level: LogLevel, bound: LogFields = {}): Logger {
    const take = (at: LogLevel, message: string, fields: LogFields = {}): void => {
      log[at](message, fields);
      if (LOG_LEVELS[at] >= LOG_LEVELS[level])
        this.add({ time: new Date().toISOString(), level: at, message, fields: { ...bound, ...fields } });
    };
    return {
      debug: (message, fields) => take('debug', message, fields),
      info: (message, fields) => take('info', message, fields),
      warn: (message, fields) => take('warn', message, fields),
      error: (message, fields) => take('error', message, fields),
      child: (fields) => this.tap(log.child(fields), level, { ...bound, ...fields }),
    };
  }

  async *read({ lines, follow, deployment, signal }: ReadLogOptions): AsyncGenerator<LogRecord, void, undefined> {
    const speaksOf = ({ fields }: LogRecord): boolean =>
      deployment === undefined || fields['deployment'] === deployment;
    let next = this.#first + this.#records.length;
    const last = lines === 0 ? [] : this.#records.filter(speaksOf).slice(-lines);
    const onAbort = (): void => this.#wake();
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      yield* last;
      while (follow) {
        signal?.throwIfAborted();
        const news = (this.#news ??= deferred()).promise; // before it is looked, so that nothing is missed
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
          if (speaksOf(record)) yield record;
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

/** Fields as JSON gives them back, with errors as their messages and without endless texts. */
function shortened(whole: LogRecord): LogRecord {
  const { fields, ...record } = whole;
  if (Object.values(fields).every(isShort)) return whole; // as most are
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
