import type { oas31 } from 'openapi3-ts';
import * as z from 'zod';
import { NAMED_SCHEMAS } from './named-schemas.ts';

/**
 * Returns the JSON Schema of a value that a route takes or answers: a reference for a named schema, and references for
 * named schemas inside of it. Objects of answers stay open, so that clients accept keys that later versions add.
 */
export function jsonSchemaOf(schema: z.ZodType): oas31.SchemaObject {
  const name = NAMED_SCHEMAS.get(schema)?.id;
  return name === undefined ? wholeSchemaOf(schema) : ({ $ref: referenceTo(name) } as oas31.SchemaObject);
}

/** Returns named schemas as components of the document. */
export function componentsOf(schemas: readonly z.ZodType[]): [name: string, schema: oas31.SchemaObject][] {
  return schemas.map((schema) => [NAMED_SCHEMAS.get(schema)!.id, wholeSchemaOf(schema)]);
}

function wholeSchemaOf(schema: z.ZodType): oas31.SchemaObject {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io: 'input', // answers have neither defaults nor conversions, and with `output` their objects would be closed
    override: ({ zodSchema, jsonSchema, path }) => {
      const name = path.length > 0 ? NAMED_SCHEMAS.get(zodSchema)?.id : undefined;
      if (name === undefined) simplify(jsonSchema as Json);
      else replace(jsonSchema as Json, { $ref: referenceTo(name) });
    },
  });
  return json as oas31.SchemaObject;
}

const referenceTo = (name: string): string => `#/components/schemas/${name}`;

type Json = Record<string, unknown>;

/** Leaves out keywords that zod derives and no reader needs. */
function simplify(json: Json): void {
  if (json['minimum'] === Number.MIN_SAFE_INTEGER) delete json['minimum'];
  if (json['maximum'] === Number.MAX_SAFE_INTEGER) delete json['maximum'];
  if (json['format'] !== undefined) delete json['pattern']; // the format says the same
  // Regular expressions of other languages lack classes of Unicode.
  if (typeof json['pattern'] === 'string' && json['pattern'].includes('\\p{')) delete json['pattern'];
  if (json['type'] === 'object') {
    delete json['propertyNames']; // keys are strings
    for (const key of ['properties', 'additionalProperties'])
      if (typeof json[key] === 'object' && Object.keys(json[key] as Json).length === 0) delete json[key];
  }
  const [value, none, ...more] = Array.isArray(json['anyOf']) ? (json['anyOf'] as Json[]) : [];
  const isNullable = more.length === 0 && none?.['type'] === 'null' && typeof value?.['type'] === 'string';
  if (!isNullable || 'enum' in value || 'const' in value) return;
  const { anyOf: __, ...rest } = json;
  replace(json, { ...value, type: [value['type'], 'null'], ...rest });
}

function replace(json: Json, next: Json): void {
  for (const key of Object.keys(json)) delete json[key];
  Object.assign(json, next);
}
