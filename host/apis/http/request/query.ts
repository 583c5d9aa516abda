import type { Context } from 'koa';
import * as z from 'zod';
import type { AanaError } from '../../../base/core/errors.ts';
import { validationError } from '../../../endpoints/registry/index.ts';
import { type SchemaIssue, validationEntries, type ValidationEntry } from '../../../base/schemas/index.ts';

const TRUE = new Set(['true', '1', 'yes', 'on', 't', 'y']);
const FALSE = new Set(['false', '0', 'no', 'off', 'f', 'n']);

interface Kind {
  /** The type of the validation entry for a text that is no such value. Undefined where each text is one. */
  readonly error?: string;
  /** Returns the value of a text, or the text if it is none. */
  readonly valueOf: (text: string) => unknown;
}

/** How texts of a query are read, by the type of the schema. */
const KINDS: Readonly<Record<string, Kind>> = {
  number: { error: 'number_parsing', valueOf: (text) => (isNumber(text) ? Number(text) : text) },
  boolean: {
    error: 'bool_parsing',
    valueOf: (text) => (TRUE.has(text.toLowerCase()) ? true : FALSE.has(text.toLowerCase()) ? false : text),
  },
  enum: { error: 'enum', valueOf: (text) => text },
  string: { valueOf: (text) => text },
};

const isNumber = (text: string): boolean => text.trim() !== '' && Number.isFinite(Number(text));

/**
 * Returns a function that reads the query of a request. The schema has numbers, booleans, enums and strings, all of
 * them optional. The function throws `ValidationError` with an entry for each wrong parameter. A strict schema also
 * refuses unknown parameters.
 */
export function queryReader<Query extends z.ZodObject>(schema: Query): (ctx: Context) => z.output<Query> {
  const kinds = Object.entries(schema.shape).map(([name, value]) => [name, kindOf(value)] as const);
  const empty = schema.parse({});
  const isStrict = schema.def.catchall instanceof z.ZodNever;
  return (ctx) => {
    if (ctx.querystring === '') return empty; // most requests have none
    if (isStrict) refuseUnknown(ctx, schema);
    const texts = new Map<string, string>();
    const values: Record<string, unknown> = {};
    for (const [name, kind] of kinds) {
      const text = queryValue(ctx, name);
      if (text === undefined) continue;
      texts.set(name, text);
      values[name] = kind.valueOf(text);
    }
    const result = schema.safeParse(values);
    if (result.success) return result.data;
    const entries = new Map<string, ValidationEntry>();
    for (const entry of validationEntries(result.error.issues as unknown as SchemaIssue[], values))
      if (!entries.has(String(entry.loc[0]))) entries.set(String(entry.loc[0]), entry);
    throw validationError(
      kinds.flatMap(([name, { error }]) => {
        const [entry, text] = [entries.get(name), texts.get(name) ?? ''];
        const isUnread = values[name] === text;
        return entry ? [queryEntry(name, (isUnread && error) || entry.type, entry.msg, text)] : [];
      }),
    );
  };
}

function refuseUnknown(ctx: Context, { shape }: z.ZodObject): void {
  const unknown = Object.keys(ctx.query).filter((name) => !Object.hasOwn(shape, name));
  if (unknown.length === 0) return;
  const msg = 'Extra inputs are not permitted';
  throw validationError(unknown.map((name) => queryEntry(name, 'extra_forbidden', msg, queryValue(ctx, name) ?? '')));
}

function kindOf(schema: unknown): Kind {
  let inner = schema as z.ZodType;
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodDefault) inner = inner.unwrap() as z.ZodType;
  const kind = KINDS[inner.def.type];
  if (!kind) throw new TypeError(`a query has no values of the type ${inner.def.type}`);
  return kind;
}

/** Returns the last value, where a name is given more than once. */
export function queryValue(ctx: Context, name: string): string | undefined {
  return [ctx.query[name]].flat().at(-1);
}

/** Returns a 422 that names the parameter. */
export function badQuery(name: string, type: string, msg: string, input: string): AanaError {
  return validationError([queryEntry(name, type, msg, input)]);
}

function queryEntry(name: string, type: string, msg: string, input: string): Parameters<typeof validationError>[0][0] {
  return { type, loc: ['query', name], msg, input };
}
