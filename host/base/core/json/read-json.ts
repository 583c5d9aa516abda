import { type AanaError, fail } from '../errors.ts';
import { type JsonShape, jsonShape } from './json-shape.ts';

/** What a JSON text of a client may be. The names are those of the settings in `limits`. */
export interface JsonLimits {
  /** Most bytes, without the texts under `largeKeys`. */
  readonly max_json_bytes: number;
  /** Most objects and arrays inside of each other. */
  readonly max_json_depth: number;
  /**
   * Most members of all objects and elements of all arrays together. Numbers in arrays are not counted: they take a few
   * nanoseconds each, and the bytes limit them.
   */
  readonly max_json_elements: number;
}

/**
 * Returns the value of a JSON text of a client. The limits are checked before it is parsed, so that neither the parser
 * nor a schema sees what is too large. Throws as {@link checkJson} and {@link parseJson} do, which a caller with a
 * large text calls in separate turns of the event loop.
 */
export function readJson(text: string, limits: JsonLimits): unknown {
  checkJson(text, limits);
  return parseJson(text);
}

/**
 * Checks a text against the limits. `largeKeys` are keys of objects with data such as base64, whose texts do not count
 * as bytes. Throws `RequestTooLarge`, and `ValidationError` if the text is over another limit.
 */
export function checkJson(text: string, limits: JsonLimits, largeKeys?: ReadonlySet<string>): void {
  const shape = jsonShape(text, largeKeys, { chars: limits.max_json_bytes });
  if (Buffer.byteLength(text) - shape.largeChars > limits.max_json_bytes) throw jsonTooLarge(limits.max_json_bytes);
  const more = excessOf(shape, limits);
  if (more) throw jsonError(...more);
}

/** Returns the value of a text within the limits. Throws `ValidationError` if it is not JSON. */
export function parseJson(text: string): unknown {
  const value = parsed(text);
  if (SURROGATE_ESCAPE.test(text)) refuseLoneSurrogates(value, []);
  return value;
}

/** Returns which limit of levels and elements a text exceeds, whether it is JSON or not; undefined for none. */
export function excess(text: string, limits: JsonLimits): string | undefined {
  return excessOf(jsonShape(text), limits)?.[1];
}

function excessOf(
  { depth, elements, numbers }: JsonShape,
  { max_json_depth: levels, max_json_elements: most }: JsonLimits,
): [type: string, msg: string] | undefined {
  if (depth > levels)
    return ['json_too_deep', `Input should not be nested deeper than ${levels} (limits.max_json_depth)`];
  if (elements - numbers > most)
    return ['json_too_many', `Input should have at most ${most} elements (limits.max_json_elements)`];
  return undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const input = text.length > 200 ? `${text.slice(0, 200)}…` : text;
    throw jsonError('json_invalid', `Invalid JSON: ${(cause as Error).message}`, { input });
  }
}

/** Returns the error for JSON of more than `limit` bytes. `what` is too large. */
export function jsonTooLarge(limit: number, what = 'the request is too large'): AanaError {
  const message = `${what}: the limit is ${limit} bytes (limits.max_json_bytes)`;
  return fail('RequestTooLarge', message, { data: { limit } });
}

function jsonError(
  type: string,
  msg: string,
  { loc = [], input = null }: { readonly loc?: readonly (string | number)[]; readonly input?: string | null } = {},
): AanaError {
  const data = [{ type, loc: [...loc], msg, input }];
  return fail('ValidationError', 'Validation error', { data });
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Returns the text of bytes without a byte-order mark. Throws `ValidationError` if they are not UTF-8, because a
 * replacement would change the input.
 */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw jsonError('json_invalid', 'Invalid JSON: it is not UTF-8');
  }
}

const LONE_SURROGATE = /\p{Surrogate}/u;
const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/;

/** Refuses half of a surrogate pair. It is not a character: it has no UTF-8, and components accept only UTF-8. */
function refuseLoneSurrogates(value: unknown, loc: (string | number)[]): void {
  const look = (key: string | number, item: unknown): void => {
    if (typeof item !== 'string' && typeof item !== 'object') return; // a list may have millions of numbers
    loc.push(key);
    refuseLoneSurrogates(item, loc);
    loc.pop();
  };
  if (typeof value === 'string') refuseLone(value, loc);
  else if (Array.isArray(value)) for (let i = 0; i < value.length; i++) look(i, value[i]);
  else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      refuseLone(key, loc);
      look(key, item);
    }
  }
}

function refuseLone(text: string, loc: readonly (string | number)[]): void {
  if (LONE_SURROGATE.test(text))
    throw jsonError('string_unicode', 'Input should be a valid string without half surrogate pairs', { loc });
}
