import { AanaError } from '../../core/errors.ts';
import { jsonShape } from '../../core/json/json-shape.ts';
import { validationError } from '../../endpoints/index.ts';

/** Parses the JSON input of a request; what is not JSON or nests deeper than `maxDepth` is a `ValidationError`. */
export function parseJson(text: string, maxDepth: number): unknown {
  if (jsonShape(text).depth > maxDepth) {
    throw validationError([
      { type: 'json_too_deep', loc: [], msg: `Input should not be nested deeper than ${maxDepth}`, input: null },
    ]);
  }
  try {
    const value: unknown = JSON.parse(text);
    if (SURROGATE_ESCAPE.test(text)) refuseLoneSurrogates(value, []);
    return value;
  } catch (cause) {
    if (cause instanceof AanaError) throw cause;
    const input = text.length > 200 ? `${text.slice(0, 200)}…` : text;
    throw validationError([{ type: 'json_invalid', loc: [], msg: `Invalid JSON: ${(cause as Error).message}`, input }]);
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/**
 * The text of bytes; a byte-order mark is left out. What is not UTF-8 is a `ValidationError`, not a text that differs
 * from what was sent.
 */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw validationError([{ type: 'json_invalid', loc: [], msg: 'Invalid JSON: it is not UTF-8', input: null }]);
  }
}

const LONE_SURROGATE = /\p{Surrogate}/u;
const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/;

/** Half of a surrogate pair is no character: it has no UTF-8, and components take nothing else. */
function refuseLoneSurrogates(value: unknown, loc: readonly (string | number)[]): void {
  const refuse = (): never => {
    throw validationError([
      {
        type: 'string_unicode',
        loc: [...loc],
        msg: 'Input should be a valid string without half surrogate pairs',
        input: null,
      },
    ]);
  };
  if (typeof value === 'string') {
    if (LONE_SURROGATE.test(value)) refuse();
  } else if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) refuseLoneSurrogates(item, [...loc, i]);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      if (LONE_SURROGATE.test(key)) refuse();
      refuseLoneSurrogates(item, [...loc, key]);
    }
  }
}

export function tooLarge(what: string, limit: number): AanaError {
  return new AanaError('RequestTooLarge', 'too-large', `${what}: the limit is ${limit} bytes`, { data: { limit } });
}
