import type { IncomingHttpHeaders } from 'node:http';

/** The fields of an answer that say whether it may be kept, how long it is fresh, and how to ask for changes. */
const NAMES = ['etag', 'last-modified', 'cache-control', 'expires', 'date', 'age'] as const;

export type AnswerFields = Partial<Record<(typeof NAMES)[number], string>>;

/** When an answer was asked for and received, in milliseconds since 1970. */
export interface AnswerTimes {
  readonly requestedAt: number;
  readonly receivedAt: number;
}

export interface Answer extends AnswerTimes {
  readonly fields: AnswerFields;
}

/** No server needs more for what is read here. A longer field takes time to read, so its answer is not kept. */
const MAX_FIELD_CHARS = 1024;
/** Seconds that no answer exceeds (RFC 9111, section 1.2.2). */
const MAX_SECONDS = 2 ** 31;
/** An entity tag, weak or strong (RFC 9110, section 8.8.3). Others are not sent back: `*` would match every version. */
const ENTITY_TAG = /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/;
/** All three forms of dates begin so. `Date.parse` alone would take `9999` for a year. */
const DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /;
/** A directive: its name, and its value in quotes or without. */
const DIRECTIVE = /([\w!#$%&'*+.^`|~-]+)(?:\s*=\s*(?:"([^"]*)"|([^\s,"]*)))?/g;

/** What is before the first directive and after the last one, and between two. */
const START = /^[\s,]*$/;
const BETWEEN = /^\s*,[\s,]*$/;

/** Returns the fields of an answer that are kept with it. */
export function fieldsOf(headers: IncomingHttpHeaders): AnswerFields {
  const found = NAMES.map((name) => [name, headers[name]] as const).filter(([, value]) => typeof value === 'string');
  return Object.fromEntries(found) as AnswerFields;
}

/**
 * Returns whether a cache of one user may keep the answer to a GET with status 200, and could use it again (RFC 9111,
 * section 3). An answer whose end is told only by the end of the connection may be cut, so it is not kept.
 */
export function isKeepable(headers: IncomingHttpHeaders, times: AnswerTimes): boolean {
  if (forbidsKeeping(headers)) return false;
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return false;
  const fields = fieldsOf(headers);
  return lifetimeMs({ ...times, fields }) > 0 || conditionsFor(fields).length > 0;
}

/**
 * Returns whether an answer, also one with status 304, must not be kept. Requests for a URL always have the same
 * fields, so of `Vary` only `*` counts.
 */
export function forbidsKeeping(headers: IncomingHttpHeaders): boolean {
  const fields = fieldsOf(headers);
  const variesAlways = headers.vary?.split(',').some((name) => name.trim() === '*') ?? false;
  const isLong = Object.values(fields).some(({ length }) => length > MAX_FIELD_CHARS);
  return variesAlways || isLong || directivesOf(fields).has('no-store');
}

/** Returns whether a kept answer may be used without a question to its server (RFC 9111, section 4.2). */
export function isFresh(answer: Answer, now: number): boolean {
  const { fields, requestedAt, receivedAt } = answer;
  if (now < receivedAt) return false; // the clock was set back, so ages are not known
  const date = timeOf(fields.date);
  const apparent = date === undefined ? 0 : Math.max(0, receivedAt - date);
  const told = (secondsOf(fields.age) ?? 0) * 1000 + Math.max(0, receivedAt - requestedAt);
  return Math.max(apparent, told) + (now - receivedAt) < lifetimeMs(answer);
}

/** Returns the fields of a request for a file only if it has changed; none where the server gave no validators. */
export function conditionsFor(fields: AnswerFields): [name: string, value: string][] {
  const { etag, 'last-modified': modified } = fields;
  return [
    ...(etag !== undefined && ENTITY_TAG.test(etag) ? [['if-none-match', etag] satisfies [string, string]] : []),
    ...(timeOf(modified) !== undefined ? [['if-modified-since', modified!] satisfies [string, string]] : []),
  ];
}

/** Returns whether an answer 304 speaks of the kept version (RFC 9111, section 4.3.4). */
export function isSameVersion(kept: AnswerFields, headers: IncomingHttpHeaders): boolean {
  const opaque = (tag: string): string => tag.replace(/^W\//, '');
  return headers.etag === undefined || kept.etag === undefined || opaque(headers.etag) === opaque(kept.etag);
}

/** Returns the fields of a kept answer after an answer 304. Dates and ages are those of the new answer. */
export function renewed({ date: _date, age: _age, ...kept }: AnswerFields, headers: IncomingHttpHeaders): AnswerFields {
  return { ...kept, ...fieldsOf(headers) };
}

/** A server that names no lifetime gets a question each time: nothing is guessed from the age of a file. */
function lifetimeMs({ fields, receivedAt }: Answer): number {
  const directives = directivesOf(fields);
  if (directives.has('no-cache')) return 0;
  const ages = directives.get('max-age');
  if (ages) return Math.min(...ages.map((age) => secondsOf(age) ?? 0)) * 1000;
  const expires = timeOf(fields.expires);
  return expires === undefined ? 0 : Math.max(0, expires - (timeOf(fields.date) ?? receivedAt));
}

/**
 * Returns the values of each directive of `Cache-Control`, by its name in lower case. A field that breaks the grammar
 * could be read in several ways, so its answer is never fresh.
 */
function directivesOf({ 'cache-control': text = '' }: AnswerFields): Map<string, string[]> {
  const found = new Map<string, string[]>();
  let end = 0;
  for (const { 0: whole, 1: name = '', 2: quoted, 3: plain = '', index } of text.matchAll(DIRECTIVE)) {
    if (!(end === 0 ? START : BETWEEN).test(text.slice(end, index))) found.set('no-cache', []);
    end = index + whole.length;
    const key = name.toLowerCase();
    found.set(key, [...(found.get(key) ?? []), quoted ?? plain]);
  }
  if (!START.test(text.slice(end))) found.set('no-cache', []);
  return found;
}

function secondsOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+$/.test(text) ? Math.min(Number(text), MAX_SECONDS) : undefined;
}

function timeOf(text: string | undefined): number | undefined {
  if (text === undefined || !DATE.test(text)) return undefined;
  const time = Date.parse(text.endsWith(' GMT') ? text : `${text} GMT`); // one of the forms has no zone
  return Number.isNaN(time) ? undefined : time;
}
