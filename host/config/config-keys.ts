import * as z from 'zod';
import { ConfigSchema } from './schema.ts';

/** What the documentation needs of a JSON Schema. */
export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** Returns the path and schema of every key that is not a section. */
export function configKeys(
  schema: JsonSchema = z.toJSONSchema(ConfigSchema, { io: 'input' }) as JsonSchema,
  path = '',
): [key: string, schema: JsonSchema][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => {
    const key = path === '' ? name : `${path}.${name}`;
    return inner.properties ? configKeys(inner, key) : [[key, inner] satisfies [string, JsonSchema]];
  });
}

/** Returns the paths of all keys, also of sections. */
export function configPaths(): string[] {
  const keys = configKeys().map(([key]) => key);
  const sections = keys.flatMap((key) => {
    const parts = key.split('.');
    return parts.slice(1).map((_, n) => parts.slice(0, n + 1).join('.'));
  });
  return [...new Set([...sections, ...keys])];
}
