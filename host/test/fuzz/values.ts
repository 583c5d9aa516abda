import * as fc from 'fast-check';
import type { Resolver, Schema } from './document.ts';

type Json = Readonly<Record<string, unknown>>;

/** Names that inputs give to files. Parts with these names are sent along. */
export const FILE_NAMES = ['video', 'file', 'b', 'é'];

const HOSTILE_TEXTS = [
  '',
  ' ',
  '\0',
  '\ud800',
  '\u202e',
  '😀'.repeat(40),
  'a'.repeat(3000),
  '../../etc/passwd',
  '/etc/passwd',
  "'; drop table tasks; --",
  '<script>',
  '%00',
  '${7*7}',
  '__proto__',
  'constructor',
  'null',
  'true',
  '1e999',
  'http://127.0.0.1:1/x',
  'file:///etc/passwd',
  'NaN',
];
const HOSTILE_NUMBERS = [0, -0, -1, 1.5, 1e308, -1e308, 5e-324, 2 ** 53, -(2 ** 53), 2 ** 31, 2 ** 32, 2 ** 63];

function nested(depth: number): unknown {
  let value: unknown = 0;
  for (let n = 0; n < depth; n++) value = n % 2 === 0 ? [value] : { a: value };
  return value;
}

/** Values that are unusual for any schema. */
export const hostile: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(...HOSTILE_TEXTS),
  fc.constantFrom(...HOSTILE_NUMBERS),
  fc.constantFrom<unknown>(null, true, false, [], {}, [[]], { '': '' }, JSON.parse('{"__proto__":{"a":1}}')),
  fc.constantFrom(5, 31, 33, 100, 900).map(nested),
  fc.jsonValue({ maxDepth: 3 }),
  fc.string({ unit: 'binary', maxLength: 60 }),
);

/** Returns values that match a schema. Values at its limits are more frequent. */
export function valueOf(schema: Schema, resolver: Resolver, depth = 0): fc.Arbitrary<unknown> {
  const found = resolver.resolve<Schema>(schema);
  if (typeof found === 'boolean') return fc.jsonValue({ maxDepth: 1 });
  const go = (inner: unknown): fc.Arbitrary<unknown> => valueOf((inner ?? true) as Schema, resolver, depth + 1);
  if (found['x-aana-file'] === true) return fc.constantFrom(...FILE_NAMES);
  if ('const' in found) return fc.constant(found['const']);
  if (Array.isArray(found['enum'])) return fc.constantFrom(...(found['enum'] as unknown[]));
  const branches = (found['anyOf'] ?? found['oneOf']) as unknown[] | undefined;
  if (branches) return depth > 6 ? go(branches.at(-1)) : fc.oneof(...branches.map(go));
  const types = [found['type'] ?? ('properties' in found ? 'object' : [])].flat() as string[];
  if (types.length === 0) return fc.jsonValue({ maxDepth: 2 });
  return fc.oneof(...types.map((type) => ofType(type, found, go, depth)));
}

function ofType(
  type: string,
  schema: Json,
  go: (inner: unknown) => fc.Arbitrary<unknown>,
  depth: number,
): fc.Arbitrary<unknown> {
  const limit = (key: string, otherwise: number): number => (typeof schema[key] === 'number' ? schema[key] : otherwise);
  switch (type) {
    case 'string':
      return textOf(schema, limit('minLength', 0), limit('maxLength', 60));
    case 'integer':
    case 'number': {
      const least = Math.max(limit('minimum', -1e6), limit('exclusiveMinimum', -1e6));
      const most = Math.min(limit('maximum', 1e6), limit('exclusiveMaximum', 1e6));
      const small = { withCrossShrink: true }; // shrinks a failing limit to a smaller failing number
      if (type === 'integer')
        return fc.oneof(
          small,
          fc.integer({ min: Math.max(Math.ceil(least), -(2 ** 31)), max: Math.min(Math.floor(most), 2 ** 31 - 1) }),
          fc.constantFrom(Math.ceil(least), Math.floor(most)),
        );
      return fc.oneof(small, fc.double({ min: least, max: most, noNaN: true }), fc.constantFrom(least, most));
    }
    case 'boolean':
      return fc.boolean();
    case 'array': {
      const first = (schema['prefixItems'] ?? []) as unknown[];
      if (first.length > 0) return fc.tuple(...first.map(go)) as fc.Arbitrary<unknown>;
      const least = limit('minItems', 0);
      return fc.array(go(schema['items']), {
        minLength: least,
        maxLength: depth > 5 ? least : Math.min(limit('maxItems', 4), 6),
      });
    }
    case 'object': {
      const properties = Object.entries((schema['properties'] ?? {}) as Json);
      const required = new Set((schema['required'] ?? []) as string[]);
      const used = depth > 5 ? properties.filter(([key]) => required.has(key)) : properties;
      const known = fc.record(Object.fromEntries(used.map(([key, inner]) => [key, go(inner)])), {
        requiredKeys: [...required].filter((key) => used.some(([name]) => name === key)),
      });
      const { additionalProperties } = schema;
      if (typeof additionalProperties !== 'object') return known;
      return fc
        .tuple(fc.dictionary(fc.string({ maxLength: 8 }), go(additionalProperties), { maxKeys: 3 }), known)
        .map(([more, own]) => ({ ...more, ...own }));
    }
    default:
      return fc.constant(null);
  }
}

function textOf(schema: Json, minLength: number, maxLength: number): fc.Arbitrary<string> {
  const { pattern, format } = schema;
  if (format === 'uuid') return fc.uuid();
  // A reserved name that no host has.
  if (format === 'uri') return fc.nat({ max: 9 }).map((n) => `https://host${n}.invalid/`);
  if (format === 'date-time')
    return fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) }).map((date) => date.toISOString());
  if (typeof pattern === 'string') {
    try {
      return fc.stringMatching(new RegExp(pattern, 'u'), { maxLength: Math.min(maxLength, 60) });
    } catch {
      // A pattern from which no text can be generated.
    }
  }
  return fc.string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, 60) });
}

/** Returns a value with one change: another value somewhere in it, an additional key, or a missing key. */
export function spoiled(value: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc
    .tuple(value, hostile, fc.nat({ max: 1000 }), fc.constantFrom('replace', 'add', 'remove'))
    .map(([whole, other, at, how]) => {
      const places = placesIn(whole);
      const place = places[at % places.length] ?? [];
      if (how === 'remove' && place.length > 0) return changed(whole, place, REMOVED);
      if (how === 'add')
        return typeof whole === 'object' && whole !== null && !Array.isArray(whole)
          ? { ...whole, [`extra${at % 3}`]: other }
          : other;
      return changed(whole, place, other);
    });
}

const REMOVED = Symbol('removed');
type Place = readonly (string | number)[];

function placesIn(value: unknown, place: Place = []): Place[] {
  if (typeof value !== 'object' || value === null) return [place];
  const entries = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return [place, ...entries.flatMap(([key, inner]) => placesIn(inner, [...place, key]))];
}

function changed(value: unknown, [key, ...rest]: Place, other: unknown): unknown {
  if (key === undefined) return other;
  if (Array.isArray(value))
    return value
      .flatMap((inner, n) => (n === key ? [changed(inner, rest, other)] : [inner]))
      .filter((inner) => inner !== REMOVED);
  const entries = Object.entries(value as Json).map(
    ([name, inner]) => [name, name === key ? changed(inner, rest, other) : inner] as const,
  );
  return Object.fromEntries(entries.filter(([, inner]) => inner !== REMOVED));
}
