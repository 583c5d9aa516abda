import type { oas31 } from 'openapi3-ts';
import {
  ANSWER_BY,
  answerCasesOf,
  bytesTypesOf,
  isRawAnswer,
  type ServedEndpoint,
  textTypesOf,
} from '../../endpoints/registry/index.ts';
import { pascalCase, type SchemaComponents } from './schema-components.ts';

type Schema = oas31.SchemaObject | oas31.ReferenceObject;

/** The answers of an endpoint in the document. */
export interface EndpointAnswers {
  /** Any output, or one streamed value. It is the result of a task. */
  readonly output: Schema;
  /** The outputs that are sent as JSON. */
  readonly json: readonly Schema[];
  /** The media types of outputs that are sent as text. */
  readonly textTypes: readonly string[];
  /** The media types of outputs that are sent as bytes. */
  readonly bytesTypes: readonly string[];
}

/**
 * Adds the outputs of an endpoint to the components: `<Name>Response`, and `<Name><Value>Response` for each further
 * case of an output that depends on a key of the input.
 */
export function endpointAnswers(endpoint: ServedEndpoint, name: string, schemas: SchemaComponents): EndpointAnswers {
  const { outputSchema, streaming } = endpoint;
  const rawTypes = { textTypes: textTypesOf(endpoint), bytesTypes: bytesTypesOf(endpoint) };
  const by = answerCasesOf(outputSchema);
  if (!by) {
    const output = schemas.add(`${name}Response`, outputSchema);
    const isRaw = !streaming && isRawAnswer(outputSchema as Readonly<Record<string, unknown>>);
    return { output, json: isRaw ? [] : [output], ...rawTypes };
  }
  const { $defs } = outputSchema as { readonly $defs?: unknown };
  const cases = by.cases.map(({ value, schema }, n) => ({
    reference: schemas.add(`${name}${n === 0 ? '' : pascalCase(value)}Response`, {
      ...schema,
      ...($defs !== undefined && { $defs }),
    }),
    isJson: streaming || !isRawAnswer(schema),
  }));
  return {
    output: {
      anyOf: cases.map(({ reference }) => reference),
      [ANSWER_BY]: { key: by.key, values: by.cases.map(({ value }) => value) },
    } as Schema,
    json: cases.flatMap(({ reference, isJson }) => (isJson ? [reference] : [])),
    ...rawTypes,
  };
}
