import { fail } from '../../base/core/errors.ts';

/** Levels of metadata. A key of as many levels is longer than a collection takes. */
const MOST_LEVELS = 64;

/**
 * Returns the values of metadata, each by its path: `loc.lines.from`, `tags.0`. Null and undefined are left out. Throws
 * `ValidationError` for what has no paths. @param at where the metadata are
 */
export function flatMetadata(metadata: object | undefined, at: string): Record<string, unknown> {
  const flat = new Map<string, unknown>();
  for (const [path, value] of valuesOf(metadata ?? {}, '', at)) {
    if (flat.has(path)) throw fail('ValidationError', `${at}: two values have the path ${JSON.stringify(path)}`);
    flat.set(path, value);
  }
  return Object.fromEntries(flat);
}

function* valuesOf(values: object, prefix: string, at: string, level = 1): Generator<[string, unknown]> {
  if (level > MOST_LEVELS) throw fail('ValidationError', `${at}: it has more than ${MOST_LEVELS} levels`);
  for (const [key, value] of Object.entries(values) as [string, unknown][]) {
    const path = prefix + key;
    if (value instanceof Date) yield [path, value.toISOString()];
    else if (typeof value === 'object' && value !== null) yield* valuesOf(value, `${path}.`, at, level + 1);
    else if (value !== null && value !== undefined) yield [path, value];
  }
}
