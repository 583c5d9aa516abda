import type { oas31 } from 'openapi3-ts';

/** The limits of the parameters that choose a page of a list. */
export const PAGE_LIMITS = { most: 1_000_000, mostItems: 1000, defaultItems: 100 } as const;

/** A point in time, or null where nothing has happened yet. */
export const TIME: oas31.SchemaObject = { type: ['string', 'null'], format: 'date-time' };

/** The numbers of tasks by status. */
export const COUNTS: oas31.SchemaObject = {
  type: 'object',
  additionalProperties: { type: 'integer' },
  properties: { total: { type: 'integer' } },
  required: ['total'],
};

/** An answer in JSON. */
export function jsonAnswer(
  description: string,
  schema: oas31.SchemaObject | oas31.ReferenceObject,
): oas31.ResponseObject {
  return { description, content: { 'application/json': { schema } } };
}

/** An optional parameter of the query. */
export function query(name: string, schema: oas31.SchemaObject, description?: string): oas31.ParameterObject {
  return { name, in: 'query', schema, ...(description !== undefined && { description }) };
}

/** A UUID in the path. */
export function pathId(name: string): oas31.ParameterObject {
  return { name, in: 'path', required: true, schema: { type: 'string', format: 'uuid' } };
}

/** The parameters of a list that is read page by page. */
export const PAGE: readonly oas31.ParameterObject[] = [
  query('page', { type: 'integer', minimum: 1, maximum: PAGE_LIMITS.most, default: 1 }),
  query('per_page', { type: 'integer', minimum: 1, maximum: PAGE_LIMITS.mostItems, default: PAGE_LIMITS.defaultItems }),
];
