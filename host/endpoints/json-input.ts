import { AanaError } from '../core/errors.ts';
import { jsonShape } from '../core/json/json-shape.ts';
import { validationError } from './endpoint.ts';

/**
 * Parses the JSON input of a request. Throws `ValidationError` if the text is not JSON or is nested deeper than
 * `maxDepth`.
 */
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
 * Returns the text of bytes without a byte-order mark. Throws `ValidationError` if they are not UTF-8, because a
 * replacement would change the input.
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

/** Refuses half of a surrogate pair. It is not a character: it has no UTF-8, and components accept only UTF-8. */
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
