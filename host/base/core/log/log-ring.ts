import { boundedJson, type JsonBounds } from '../json/bounded-json.ts';
import { type Deferred, deferred } from '../deferred.ts';
import type { LogFields, Logger, LogLevel, LogRecord } from './logger.ts';
import { areaOf, LOG_LEVELS } from './logger.ts';

const DEFAULT_RECORDS = 2000;
const NO_FIELDS: LogFields = {};
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
  /** Only records with this worker in their fields; 0 for those without one. */
  readonly worker?: number | undefined;
  /** Only records of this level or above. */
  readonly level?: LogLevel | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The last records of a log, for later readers. A slow reader misses records and reads how many; nothing waits for it.
 */
export class LogRing {
  readonly #limit: number;
  /** The record with the number n, counted from the first record that was added, is at n modulo the limit. */
  readonly #records: KeptRecord[] = [];
  #added = 0;
  /** Resolves when there is a new record. Followers wait for it. */
  #news: Deferred<void> | undefined;
  #isClosed = false;
  readonly #receivers: ((record: KeptRecord) => void)[] = [];

  constructor(limit: number = DEFAULT_RECORDS) {
    this.#limit = limit;
  }

  /** Number of records that were added so far. */
  get added(): number {
    return this.#added;
  }

  /** Calls `receive` with each record that is added from now on. Errors in its fields have become texts. */
  onRecord(receive: (record: KeptRecord) => void): void {
    this.#receivers.push(receive);
  }

  /**
   * Adds a record of now.
   * @param bound fields of the logger, under those of the line; they are JSON of a short length
   */
  add(level: LogLevel, message: string, fields: LogFields = NO_FIELDS, bound: LogFields = NO_FIELDS): void {
    const record = new KeptRecord(Date.now(), level, message, bound, shortened(fields));
    this.#records[this.#added % this.#limit] = record;
    this.#added += 1;
    for (const receive of this.#receivers) receive(record);
    if (this.#news) this.#wake();
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
  tap(log: Logger, levelOf: (area: string | undefined) => LogLevel, bound: LogFields = NO_FIELDS): Logger {
    const area = areaOf(bound);
    const take = (at: LogLevel, message: string, fields: LogFields | undefined): void => {
      log[at](message, fields);
      if (LOG_LEVELS[at] >= LOG_LEVELS[levelOf(area)]) this.add(at, message, fields, bound);
    };
    return {
      debug: (message, fields) => take('debug', message, fields),
      info: (message, fields) => take('info', message, fields),
      warn: (message, fields) => take('warn', message, fields),
      error: (message, fields) => take('error', message, fields),
      child: (fields) => this.tap(log.child(fields), levelOf, { ...bound, ...shortened(fields) }),
    };
  }

  async *read({
    lines,
    follow,
    signal,
    level = 'debug',
    ...wanted
  }: ReadLogOptions): AsyncGenerator<LogRecord, void, undefined> {
    const { deployment, replica, area, worker } = wanted;
    const isWanted = (record: KeptRecord): boolean =>
      LOG_LEVELS[record.level] >= LOG_LEVELS[level] &&
      (deployment === undefined || record.field('deployment') === deployment) &&
      (replica === undefined || record.field('replica') === replica) &&
      (area === undefined || record.field('area') === area) &&
      (worker === undefined || (record.field('worker') ?? 0) === worker);
    let next = this.#added;
    const last = lines === 0 ? [] : this.#inOrder().filter(isWanted).slice(-lines);
    const onAbort = (): void => this.#wake();
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      for (const record of last) yield record.whole();
      while (follow) {
        signal?.throwIfAborted();
        const news = (this.#news ??= deferred()).promise; // before the ring is read, so that no record is missed
        const first = this.#added - this.#records.length;
        if (next < first) {
          yield {
            time: new Date().toISOString(),
            level: 'warn',
            message: 'lines left out: the reader is too slow',
            fields: { lines: first - next },
          };
          next = first;
        }
        const record = next < this.#added ? this.#records[next % this.#limit] : undefined;
        if (record) {
          next += 1;
          if (isWanted(record)) yield record.whole();
        } else if (this.#isClosed) return;
        else await news;
      }
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /** Returns the records, the oldest one first. */
  #inOrder(): KeptRecord[] {
    const oldest = this.#added % this.#limit;
    return this.#added <= this.#limit
      ? this.#records
      : [...this.#records.slice(oldest), ...this.#records.slice(0, oldest)];
  }

  #wake(): void {
    this.#news?.resolve();
    this.#news = undefined;
  }
}

/**
 * A record in the ring. Most are never read, and every request has one, so the time and the fields become what readers
 * get only when they are read.
 */
export class KeptRecord implements LogRecord {
  readonly #at: number;
  readonly level: LogLevel;
  readonly message: string;
  readonly #bound: LogFields;
  readonly #own: LogFields;

  constructor(at: number, level: LogLevel, message: string, bound: LogFields, own: LogFields) {
    this.#at = at;
    this.level = level;
    this.message = message;
    this.#bound = bound;
    this.#own = own;
  }

  get time(): string {
    return new Date(this.#at).toISOString();
  }

  get fields(): LogFields {
    const fields: Record<string, unknown> = { ...this.#bound, ...this.#own };
    for (const key in fields) if (fields[key] === undefined) delete fields[key];
    return fields;
  }

  /** Returns one field, without making all of them. */
  field(name: string): unknown {
    return this.#own[name] ?? this.#bound[name];
  }

  /** Returns a copy that is plain data. */
  whole(): LogRecord {
    return { time: this.time, level: this.level, message: this.message, fields: this.fields };
  }
}

/** Returns fields that are JSON: errors become their messages, and long texts are cut. */
function shortened(fields: LogFields): LogFields {
  for (const key in fields)
    if (!isShort(fields[key]))
      return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, shortenedField(value)]));
  return fields; // most lines need no change
}

/** The field of a line can have any value. Undefined ones are left out when the line is read. */
function isShort(value: unknown): boolean {
  return typeof value === 'string'
    ? value.length <= MAX_FIELD_CHARACTERS
    : typeof value === 'number' || typeof value === 'boolean' || value === undefined;
}

function shortenedField(value: unknown): unknown {
  if (value instanceof Error) return shortenedField(value.message);
  if (typeof value === 'number' || typeof value === 'boolean' || value === undefined) return value;
  const text = typeof value === 'string' ? value : boundedJson(value, RECORD_BOUNDS);
  if (text.length > MAX_FIELD_CHARACTERS) return `${text.slice(0, MAX_FIELD_CHARACTERS)}…`;
  return typeof value === 'string' ? value : (JSON.parse(text) as unknown);
}
