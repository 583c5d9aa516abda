import * as z from 'zod';
import { AanaError } from '../core/errors.ts';
import { validationEntries } from '../schemas/index.ts';

/** Where an output differs from its schema, and how; never with what. */
interface Place {
  readonly loc: readonly (string | number)[];
  readonly type: string;
}

/** Enough to see what is wrong with an endpoint. */
const MOST_PLACES = 5;

/** An endpoint's own fault: the log names the places, the answer does not. */
export function outputError(endpoint: string, places: readonly Place[]): AanaError {
  const output = places.slice(0, MOST_PLACES).map(({ loc, type }) => ({ loc, type }));
  return new AanaError('OutputError', 'internal', `endpoint ${endpoint}: its output does not match its schema`, { logFields: { output } });
}

/** Throws an `OutputError` when a value of host code does not match. */
export function checkOutput(endpoint: string, schema: z.core.$ZodType, value: unknown): void {
  const result = z.safeParse(schema, value);
  if (!result.success) throw outputError(endpoint, placesOf(result.error, value));
}

/** Checks outputs that come as JSON; undefined where the schema allows everything. Throws when it cannot be used. */
export function outputCheck(endpoint: string, schema: object): ((json: string) => void) | undefined {
  const { $schema: _, $defs: __, ...rules } = schema as Record<string, unknown>;
  if (Object.keys(rules).length === 0) return undefined;
  const compiled = compileSchema(endpoint, 'output', schema);
  return (json) => checkOutput(endpoint, compiled, parse(endpoint, json));
}

/** A JSON Schema of a component. Throws `EndpointError` when it has what cannot be checked. */
export function compileSchema(endpoint: string, io: 'input' | 'output', schema: object): z.ZodType {
  try {
    return z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
  } catch (cause) {
    throw new AanaError('EndpointError', 'internal', `endpoint ${endpoint}: its ${io} schema cannot be used: ${(cause as Error).message}`, { cause });
  }
}

/** The `OutputError` of a component's SDK with its places in the log alone, as if it had been found here; any other error as it is. */
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

function placesOf(error: z.core.$ZodError, value: unknown): Place[] {
  return validationEntries(
    error.issues.map((issue) => ({ ...issue })),
    value,
  );
}
