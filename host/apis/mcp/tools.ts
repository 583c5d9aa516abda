import type { Tool } from '@modelcontextprotocol/server';
import { fileKeys, type ServedEndpoint } from '../../endpoints/registry/index.ts';

type Schema = Readonly<Record<string, unknown>>;

/** Returns the tool that runs an endpoint. Its name is that of the endpoint. */
export function toolOf(endpoint: ServedEndpoint): Tool {
  const { name, summary, inputSchema } = endpoint;
  const outputSchema = outputSchemaOf(endpoint);
  return {
    name,
    ...(summary !== '' && { title: summary }),
    description: descriptionOf(endpoint),
    inputSchema: { ...withoutDialect(inputSchema), type: 'object' },
    ...(outputSchema && { outputSchema }),
  };
}

function descriptionOf({ name, summary, description, inputSchema, streaming }: ServedEndpoint): string {
  const facts = [
    streaming && 'Returns the list of all streamed values.',
    fileKeys(inputSchema).length > 0 && 'Media is given by its URL, because no file can be uploaded here.',
  ];
  return [summary === '' ? name : summary, description, ...facts].filter(Boolean).join('\n\n');
}

/** Returns the schema of the structured result; undefined if it says nothing. */
function outputSchemaOf({ outputSchema, streaming }: ServedEndpoint): Schema | undefined {
  const output = withoutDialect(outputSchema);
  if (streaming)
    return {
      type: 'object',
      properties: { values: { type: 'array', items: moved(output, '#/properties/values/items') } },
      required: ['values'],
    };
  return Object.keys(output).length > 0 ? output : undefined;
}

/** Leaves out `$schema`, because every client takes the default, and some know no other dialect. */
function withoutDialect(schema: object): Schema {
  const { $schema: _, ...rest } = schema as Schema;
  return rest;
}

/** Returns a schema whose references are right when it is at `pointer` of another schema. */
function moved(schema: Schema, pointer: string): Schema {
  return JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    key === '$ref' && typeof value === 'string' && value.startsWith('#') ? pointer + value.slice(1) : value,
  ) as Schema;
}
