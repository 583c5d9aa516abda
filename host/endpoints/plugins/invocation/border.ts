import type { AanaError } from '../../../base/core/errors.ts';
import { fail } from '../../../base/core/errors.ts';
import { jsonShape } from '../../../base/core/json/json-shape.ts';
import { jsonTexts } from '../capabilities/completion/completion-request.ts';
import { outputTooLarge } from '../capabilities/scope/client-output.ts';
import { toWitError } from '../capabilities/scope/wit-error.ts';
import type { GuestResult, HostCalls, HostOperation, WitEndpoint, WitError } from './protocol.ts';

/**
 * Limits of what a guest passes to the host. The process of the plugin bounds the bytes of a message, and these bound
 * what a message costs the host, whose thread serves all requests.
 */
export const borderLimits = {
  /** Maximum characters of all texts of a call. */
  callChars: 4 * 1024 * 1024,
  /** Maximum bytes of all byte arrays of a call, also in base64. */
  callBytes: 16 * 1024 * 1024,
  /** Maximum elements of all lists of a call, plus members of all records. */
  callElements: 100_000,
  /** Maximum nesting of objects and arrays in JSON. */
  jsonDepth: 256,
  /** Maximum values in the JSON of a call. */
  jsonElements: 500_000,
  /** Maximum values in the JSON of an answer or of one streamed value. The host parses that JSON again to check it. */
  answerElements: 2_000_000,
  errorNameChars: 128,
  errorMessageChars: 16 * 1024,
  errorDataChars: 1024 * 1024,
  /** Maximum characters of the descriptions of all endpoints. */
  descriptionChars: 8 * 1024 * 1024,
  endpoints: 1_000,
} as const;

/** The arguments that are JSON, and the JSON texts in records. */
const jsonArguments: { readonly [O in HostOperation]?: (...args: HostCalls[O]['args']) => readonly string[] } = {
  'deployments.call': (_deployment, _method, args) => [args],
  'deployments.open': (_deployment, _method, args) => [args],
  'deployments.call-with-images': (_deployment, _method, args) => [args],
  'deployments.open-with-images': (_deployment, _method, args) => [args],
  'llm.complete': (_deployment, request) => jsonTexts(request),
  'llm.complete-stream': (_deployment, request) => jsonTexts(request),
  'asr.transcribe-with': (_deployment, _audio, { more }) => (more === undefined ? [] : [more]),
  'asr.transcribe-stream-with': (_deployment, _audio, { more }) => (more === undefined ? [] : [more]),
  'remote.start': (_name, input) => [input],
  'vectors.upsert': (_name, _model, chunks) => chunks.map(({ metadata }) => metadata),
  'vectors.search': (_name, { filter }) => (filter === undefined ? [] : [filter]),
};

/** The places of arguments that are bytes in base64. They count as bytes, not as characters. */
const base64Arguments: { readonly [O in HostOperation]?: readonly number[] } = {
  'media.decode-base64': [0],
  'storage.set-base64': [1],
  'storage.compare-and-set-base64': [1, 2],
  'vectors.upsert': [3],
};

/** Throws `ArgumentsTooLarge`, or `OutputTooLarge` for a streamed value over `answerBytes`. */
export function requireArguments(operation: HostOperation, args: readonly unknown[], answerBytes: number): void {
  if (operation === 'output.write') return requireAnswer(String(args[0]), answerBytes);
  if (operation === 'crypto.perform') return; // has limits of its own
  const size = new Size();
  const bytes = base64Arguments[operation];
  for (const [at, arg] of args.entries()) {
    if (operation === 'http.send' && at === 1) continue; // the body of a request has a limit of its own
    if (bytes?.includes(at) && typeof arg === 'string') size.takeBytes(Buffer.byteLength(arg, 'base64'));
    else size.take(arg);
  }
  const textsOf = jsonArguments[operation] as ((...of: readonly unknown[]) => readonly unknown[]) | undefined;
  let elements = borderLimits.jsonElements;
  for (const text of textsOf?.(...args) ?? [])
    elements -= requireShape(String(text), 'the arguments of a call are', 'ArgumentsTooLarge', elements);
}

/** Adds up the size of a call. It throws before it looks at anything beyond a limit. */
class Size {
  #chars = 0;
  #bytes = 0;
  #elements = 0;

  take(value: unknown): void {
    if (typeof value === 'string') {
      this.#chars += value.length;
      if (this.#chars > borderLimits.callChars) throw tooLarge(borderLimits.callChars, 'characters');
    } else if (ArrayBuffer.isView(value)) {
      this.takeBytes(value.byteLength);
    } else if (typeof value === 'object' && value !== null) {
      const members = Array.isArray(value) ? value : Object.values(value);
      this.#elements += members.length;
      if (this.#elements > borderLimits.callElements) throw tooLarge(borderLimits.callElements, 'elements');
      for (const member of members) this.take(member);
    }
  }

  takeBytes(count: number): void {
    this.#bytes += count;
    if (this.#bytes > borderLimits.callBytes) throw tooLarge(borderLimits.callBytes, 'bytes');
  }
}

/** Returns the result of an endpoint, unless it is over a limit. */
export function boundedResult(result: GuestResult, answerBytes: number): GuestResult {
  try {
    if ('err' in result) return { err: boundedError(result.err) };
    requireAnswer(result.ok, answerBytes);
    return result;
  } catch (error) {
    return { err: toWitError(error) };
  }
}

/** Returns the endpoints that a plugin describes. Throws when the description is over a limit. */
export function boundedEndpoints(endpoints: readonly WitEndpoint[]): readonly WitEndpoint[] {
  if (endpoints.length > borderLimits.endpoints)
    throw new Error(`it describes ${endpoints.length} endpoints, ${borderLimits.endpoints} are allowed`);
  const chars = endpoints.reduce(
    (sum, endpoint) => sum + Object.values(endpoint).reduce((own, value) => own + String(value).length, 0),
    0,
  );
  if (chars > borderLimits.descriptionChars)
    throw new Error(
      `it describes its endpoints with ${chars} characters, ${borderLimits.descriptionChars} are allowed`,
    );
  for (const { name, inputSchema, outputSchema } of endpoints) {
    for (const schema of [inputSchema, outputSchema])
      if (isDeep(schema))
        throw new Error(
          `a schema of its endpoint ${cut(name, 64)} is nested deeper than ${borderLimits.jsonDepth} levels`,
        );
  }
  return endpoints;
}

function boundedError({ kind, name, message, data }: WitError): WitError {
  if (data.length > borderLimits.errorDataChars)
    throw fail(
      'OutputTooLarge',
      `the data of an error are over the limit of ${borderLimits.errorDataChars} characters`,
      { data: { limit: borderLimits.errorDataChars } },
    );
  requireShallowError(data);
  return {
    kind,
    name: cut(name, borderLimits.errorNameChars),
    message: cut(message, borderLimits.errorMessageChars),
    data,
  };
}

/** Throws `OutputTooLarge` when an error or its data is nested too deep. */
export function requireShallowError(json: string): void {
  requireShape(json, 'the data of an error are', 'OutputTooLarge');
}

export function requireAnswer(json: string, answerBytes: number): void {
  if (json.length > answerBytes || (3 * json.length > answerBytes && Buffer.byteLength(json) > answerBytes))
    throw outputTooLarge(answerBytes);
  requireShape(json, 'the answer is', 'OutputTooLarge', borderLimits.answerElements);
}

/** Returns the number of values, which is not counted in a short text. */
function requireShape(
  json: string,
  what: string,
  name: 'ArgumentsTooLarge' | 'OutputTooLarge',
  mostElements = Number.POSITIVE_INFINITY,
): number {
  if (json.length <= 2 * borderLimits.jsonDepth) return 0; // a level has at least two characters
  const most = { depth: borderLimits.jsonDepth, elements: mostElements };
  const { depth, elements } = jsonShape(json, undefined, most);
  if (depth > borderLimits.jsonDepth)
    throw fail(name, `${what} nested deeper than the limit of ${borderLimits.jsonDepth} levels`, {
      data: { limit: borderLimits.jsonDepth },
    });
  if (elements <= mostElements) return elements;
  throw name === 'ArgumentsTooLarge'
    ? tooLarge(borderLimits.jsonElements, 'values')
    : fail(name, `${what} over the limit of ${mostElements} values`, {
        data: { limit: mostElements },
      });
}

/** Whether JSON is nested deeper than the limit. */
export function isDeep(json: string): boolean {
  return (
    json.length > 2 * borderLimits.jsonDepth &&
    jsonShape(json, undefined, { depth: borderLimits.jsonDepth }).depth > borderLimits.jsonDepth
  );
}

function tooLarge(limit: number, unit: string): AanaError {
  return fail('ArgumentsTooLarge', `the arguments of a call are over the limit of ${limit} ${unit}`, {
    data: { limit },
  });
}

const cut = (text: string, chars: number): string => (text.length > chars ? `${text.slice(0, chars)}…` : text);
