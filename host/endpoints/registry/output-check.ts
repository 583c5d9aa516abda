import type * as z from 'zod';
import { AanaError, fail } from '../../base/core/errors.ts';
import { compileJsonSchema, type JsonSchemaCheck, TooComplex } from '../../base/json-schema/index.ts';
import { checkedValue, type SchemaIssue, validationEntries } from '../../base/schemas/index.ts';
import { tooComplex, validationError } from './endpoint.ts';

/** A place where an output differs from its schema. It never has the value. */
interface Mismatch {
  readonly loc: readonly (string | number)[];
  readonly type: string;
}

/** These are enough to find the fault of an endpoint. */
const MOST_MISMATCHES = 5;

/** Returns the error for a fault of the endpoint itself. Only the log names the mismatches. */
export function outputError(endpoint: string, mismatches: readonly Mismatch[]): AanaError {
  const output = mismatches.slice(0, MOST_MISMATCHES).map(({ loc, type }) => ({ loc, type }));
  return fail('OutputError', `endpoint ${endpoint}: its output does not match its schema`, {
    logFields: { output },
  });
}

/** Throws `OutputError` if a value of host code does not match its schema. */
export function checkOutput(endpoint: string, schema: z.core.$ZodType, value: unknown): void {
  const { issues } = checkedValue(schema, value);
  if (issues) throw outputError(endpoint, mismatchesOf(issues, value));
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
    const mismatches = mismatchesIn(compiled, value);
    if (mismatches.length > 0) throw outputError(endpoint, mismatches);
  };
}

function mismatchesIn(compiled: JsonSchemaCheck, value: unknown): readonly Mismatch[] {
  try {
    return mismatchesOf(compiled.issues(value), value);
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
 * Returns an `OutputError` of a component's SDK as if the host had found it: only the log has the mismatches. Returns
 * any other error unchanged.
 */
export function fromComponent(endpoint: string, thrown: unknown): unknown {
  if (!(thrown instanceof AanaError) || thrown.name !== 'OutputError' || !Array.isArray(thrown.data)) return thrown;
  return outputError(endpoint, thrown.data as Mismatch[]);
}

function parse(endpoint: string, json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw outputError(endpoint, [{ loc: [], type: 'json_invalid' }]);
  }
}

function mismatchesOf(issues: readonly object[], value: unknown): readonly Mismatch[] {
  if (issues.length === 0) return [];
  return validationEntries(
    issues.map((issue) => ({ ...(issue as SchemaIssue) })),
    value,
  );
}
