import { fail } from '../base/core/errors.ts';

const UNITS: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
  y: 365 * 86_400_000,
};

/**
 * Returns the time of a text: `30d` after `now`, a date (0:00 UTC), or a time with offset; `never` is null. Throws
 * `ValidationError`.
 */
export function parseExpiry(text: string, now: number = Date.now()): string | null {
  if (text === 'never') return null;
  const [, count, unit] = /^(\d{1,6})([mhdwy])$/.exec(text) ?? [];
  const isDate = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2}))?$/.test(text);
  const at = new Date(unit !== undefined ? now + Number(count) * (UNITS[unit] ?? 0) : isDate ? text : Number.NaN);
  if (
    !(at.getUTCFullYear() <= 9999) ||
    (isDate && at.getUTCDate() !== Number(text.slice(8, 10)) && text.length === 10)
  ) {
    throw fail(
      'ValidationError',
      `${JSON.stringify(text)} is not a valid time; give 90d (m, h, d, w, y), 2027-01-31, ` +
        `2027-01-31T12:00:00Z, or never`,
    );
  }
  return at.toISOString();
}
