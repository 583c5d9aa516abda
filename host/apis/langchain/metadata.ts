import type { Metadata } from '../../data/storage/index.ts';

/** Returns the texts, numbers and booleans of metadata, each by its path: `loc.lines.from`, `tags.0`. */
export const flatMetadata = (metadata: object): Metadata => Object.fromEntries(valuesOf(metadata, ''));

function* valuesOf(values: object, prefix: string): Generator<[string, string | number | boolean]> {
  for (const [key, value] of Object.entries(values) as [string, unknown][]) {
    const path = prefix + key;
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') yield [path, value];
    else if (value instanceof Date) yield [path, value.toISOString()];
    else if (typeof value === 'object' && value !== null) yield* valuesOf(value, `${path}.`);
  }
}
