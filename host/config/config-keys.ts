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

/** Returns the description of a key, such as `tls.cert`, without the schemas of the other keys. */
export function descriptionOf(key: string): string {
  let schema: z.core.$ZodType = ConfigSchema;
  for (const name of key.split('.')) {
    const section = unwrapped(schema);
    if (!(section instanceof z.ZodObject)) return '';
    schema = section.shape[name] as z.core.$ZodType;
  }
  return described(schema);
}

/** Returns a schema without its defaults and what else is around it. */
function unwrapped(schema: z.core.$ZodType): z.core.$ZodType {
  const inner = innerOf(schema);
  return inner ? unwrapped(inner) : schema;
}

function described(schema: z.core.$ZodType): string {
  const inner = innerOf(schema);
  return z.globalRegistry.get(schema)?.description ?? (inner ? described(inner) : '');
}

function innerOf(schema: z.core.$ZodType): z.core.$ZodType | undefined {
  const { innerType, in: input } = schema._zod.def as { innerType?: z.core.$ZodType; in?: z.core.$ZodType };
  return innerType ?? input;
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
