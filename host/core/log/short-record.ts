import { boundedJson, type JsonBounds } from '../json/bounded-json.ts';
import type { LogRecord } from './logger.ts';

/** Most characters of each field of a record, as JSON. Longer texts are cut. */
const MAX_FIELD_CHARACTERS = 4000;
const RECORD_BOUNDS: JsonBounds = { maxDepth: 16, maxElements: 2_000, maxChars: 64 * 1024 };

/** Returns the record with fields that are JSON: errors become their messages, and long texts are cut. */
export function shortRecord(whole: LogRecord): LogRecord {
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
