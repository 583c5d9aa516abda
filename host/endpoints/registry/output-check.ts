import type * as z from 'zod';
import { AanaError, fail } from '../../base/core/errors.ts';
import { compileJsonSchema, type JsonSchemaCheck, TooComplex } from '../../base/json-schema/index.ts';
import { checkedValue, type SchemaIssue, validationEntries } from '../../base/schemas/index.ts';
import { tooComplex, validationError } from './endpoint.ts';

/** A place where an output differs from its schema. It never has the value. */
interface Place {
  readonly loc: readonly (string | number)[];
  readonly type: string;
}

/** These are enough to find the fault of an endpoint. */
const MOST_PLACES = 5;

/** Returns the error for a fault of the endpoint itself. Only the log names the places. */
export function outputError(endpoint: string, places: readonly Place[]): AanaError {
  const output = places.slice(0, MOST_PLACES).map(({ loc, type }) => ({ loc, type }));
  return fail('OutputError', `endpoint ${endpoint}: its output does not match its schema`, {
    logFields: { output },
  });
}

/** Throws `OutputError` if a value of host code does not match its schema. */
export function checkOutput(endpoint: string, schema: z.core.$ZodType, value: unknown): void {
  const { issues } = checkedValue(schema, value);
  if (issues) throw outputError(endpoint, placesOf(issues, value));
}

/**
 * Returns a check of outputs in JSON, or undefined if the schema allows everything. Throws `EndpointError` if the
 * schema cannot be used.
 */
export function outputCheck(endpoint: string, schema: object): ((json: string) => void) | undefined {
  const { $schema: _, $defs: __, ...rules } = schema as Record<string, unknown>;
  if (Object.keys(rules).length === 0) return undefined;
  const compiled = compileSchema(endpoint, 'output', schema);
  return (json) => {
    const value = parse(endpoint, json);
    const places = placesIn(compiled, value);
    if (places.length > 0) throw outputError(endpoint, places);
  };
}

function placesIn(compiled: JsonSchemaCheck, value: unknown): readonly Place[] {
  try {
    return placesOf(compiled.issues(value), value);
  } catch (error) {
    if (error instanceof TooComplex) return [{ loc: [], type: 'too_complex' }];
    throw error;
  }
}

/** Throws `ValidationError` if an input does not match the schema of a component, or takes too much work to check. */
export function checkComponentInput(compiled: JsonSchemaCheck, input: unknown): void {
  let issues: readonly SchemaIssue[];
  try {
    issues = compiled.issues(input);
  } catch (error) {
    throw error instanceof TooComplex ? tooComplex() : error;
  }
  if (issues.length > 0) throw validationError(validationEntries(issues, input));
}

/**
 * Compiles a JSON Schema of a component. Throws `EndpointError` with the place and the keyword if a keyword cannot be
 * checked in bounded time.
 */
export function compileSchema(endpoint: string, io: 'input' | 'output', schema: object): JsonSchemaCheck {
  try {
    return compileJsonSchema(schema);
  } catch (cause) {
    throw fail('EndpointError', `endpoint ${endpoint}: its ${io} schema cannot be used: ${(cause as Error).message}`, {
      cause,
    });
  }
}

/**
 * Returns an `OutputError` of a component's SDK as if the host had found it: the places are only in the log. Returns
 * any other error unchanged.
 */
export function fromComponent(endpoint: string, thrown: unknown): unknown {
  if (!(thrown instanceof AanaError) || thrown.name !== 'OutputError' || !Array.isArray(thrown.data)) return thrown;
  return outputError(endpoint, thrown.data as Place[]);
}

function parse(endpoint: string, json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw outputError(endpoint, [{ loc: [], type: 'json_invalid' }]);
  }
}

function placesOf(issues: readonly object[], value: unknown): readonly Place[] {
  if (issues.length === 0) return [];
  return validationEntries(
    issues.map((issue) => ({ ...(issue as SchemaIssue) })),
    value,
  );
}
