import { boundedJson, type JsonBounds } from '../json/bounded-json.ts';

/** One line, one event: a constant lower-case message and fields. */
export type LogFields = Readonly<Record<string, unknown>>;
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** One event. */
export interface LogRecord {
  /** ISO 8601, in UTC. */
  readonly time: string;
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
}

export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** Returns a logger that adds `fields` to each of its lines. */
  child(fields: LogFields): Logger;
}

export interface LoggerOptions {
  /** Lines below this level are dropped. A function returns the level of an area, the field `area` of the logger. */
  readonly level: LogLevel | ((area: string | undefined) => LogLevel);
  /** `text` for people, `json` (one object a line) for machines. */
  readonly format: 'text' | 'json';
  readonly write: (line: string) => void;
  readonly now?: () => Date;
}

/** The order of the levels by severity. */
export const LOG_LEVELS: Readonly<Record<LogLevel, number>> = { debug: 10, info: 20, warn: 30, error: 40 };

export function createLogger(options: LoggerOptions, bound: LogFields = {}): Logger {
  const now = options.now ?? (() => new Date());
  const area = areaOf(bound);
  // Read for each line, because an option can be a property that changes.
  const levelOf = (): LogLevel => (typeof options.level === 'string' ? options.level : options.level(area));
  const emit = (level: LogLevel, message: string, fields: LogFields = {}): void => {
    if (LOG_LEVELS[level] < LOG_LEVELS[levelOf()]) return;
    const all = { ...bound, ...fields };
    options.write(formatRecord({ time: now().toISOString(), level, message, fields: all }, options.format));
  };
  return {
    debug: (message, fields) => emit('debug', message, fields),
    info: (message, fields) => emit('info', message, fields),
    warn: (message, fields) => emit('warn', message, fields),
    error: (message, fields) => emit('error', message, fields),
    child: (fields) => createLogger(options, { ...bound, ...fields }),
  };
}

/** Returns the area in the fields of a logger or a line. */
export function areaOf({ area }: LogFields): string | undefined {
  return typeof area === 'string' ? area : undefined;
}

const LEFT_OUT = 'left out; set log.content (AANA_LOG_CONTENT=true) to have it here';

/** Returns a logger without the field `content`. Lines have texts of requests and models only in this field. */
export function withoutContent(log: Logger): Logger {
  const strip = (fields: LogFields | undefined): LogFields | undefined => {
    if (!fields || !('content' in fields)) return fields;
    return { ...fields, content: LEFT_OUT };
  };
  return {
    debug: (message, fields) => log.debug(message, strip(fields)),
    info: (message, fields) => log.info(message, strip(fields)),
    warn: (message, fields) => log.warn(message, strip(fields)),
    error: (message, fields) => log.error(message, strip(fields)),
    child: (fields) => withoutContent(log.child(strip(fields) ?? {})),
  };
}

/** Returns a logger that writes the lines of `info` as `debug`, for work that is no news to people. */
export function withoutNews(log: Logger): Logger {
  return {
    debug: (message, fields) => log.debug(message, fields),
    info: (message, fields) => log.debug(message, fields),
    warn: (message, fields) => log.warn(message, fields),
    error: (message, fields) => log.error(message, fields),
    child: (fields) => withoutNews(log.child(fields)),
  };
}

/** A logger that drops all lines. */
export const silentLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  // A logger that is made from this one keeps its own methods.
  child() {
    return this;
  },
};

/** Bounds of the fields of one line. A field can contain any output of a guest or a model. */
const FIELD_BOUNDS: JsonBounds = { maxDepth: 16, maxElements: 2_000, maxChars: 64 * 1024 };

/** Fields that people read as several lines. */
const TEXTS = ['stack', 'text'] as const;

/**
 * Returns the line of an event with its line break, of bounded length for any message and fields. As text, further
 * lines of a message, a stack or a text follow, and begin with four spaces, so that none looks like another event. The
 * function never throws. No field replaces `time`, `level` or `message`.
 */
export function formatRecord({ time, level, message, fields }: LogRecord, format: 'text' | 'json'): string {
  if (format === 'json') {
    const { time: _time, level: _level, message: _message, ...rest } = fields;
    const head = JSON.stringify({ time, level, message });
    const tail = boundedJson(rest, FIELD_BOUNDS);
    return tail === '{}' ? `${head}\n` : `${head.slice(0, -1)},${tail.slice(1)}\n`;
  }
  const [first, ...further] = linesOf(message);
  const { rest, lines } = apart(fields);
  // Those of a plugin are one object.
  const own = isObject(fields['fields']) ? apart(fields['fields']) : { rest: fields['fields'], lines: [] };
  const pairs = Object.entries(own.lines.length > 0 ? { ...rest, fields: own.rest } : rest)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ` ${key}=${textValue(value)}`);
  const head = `${time.slice(11, 23)} ${level.toUpperCase().padEnd(5)} ${first}${pairs.join('')}`;
  const below = [...further, ...lines, ...own.lines].map((line) => (line.startsWith('    ') ? line : `    ${line}`));
  return `${[head, ...below].map(onOneLine).join('\n')}\n`;
}

const linesOf = (text: string): string[] => text.trimEnd().split(/\r?\n/);

/** Takes the texts with several lines out of fields. */
function apart(fields: LogFields): { readonly rest: LogFields; readonly lines: readonly string[] } {
  const rest = { ...fields };
  const lines: string[] = [];
  for (const key of TEXTS) {
    const value = rest[key];
    if (typeof value !== 'string' || !value.includes('\n')) continue;
    delete rest[key];
    lines.push(...linesOf(value.slice(0, FIELD_BOUNDS.maxChars)));
  }
  return { rest, lines };
}

const isObject = (value: unknown): value is LogFields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function textValue(value: unknown): string {
  if (typeof value === 'string' && value.length < FIELD_BOUNDS.maxChars && /^[\w./:@%+-]+$/.test(value)) return value;
  return boundedJson(value, FIELD_BOUNDS);
}

// oxlint-disable-next-line no-control-regex -- the characters that end a line or command a terminal
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

/** Returns a text in which characters that end a line or command a terminal are escaped. */
function onOneLine(text: string): string {
  return text.replace(CONTROLS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
