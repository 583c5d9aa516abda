import * as fc from 'fast-check';
import type { Operation, Resolver, Schema } from './document.ts';
import { FILE_NAMES, hostile, spoiled, valueOf } from './values.ts';

export interface Part {
  readonly name: string;
  readonly filename?: string | undefined;
  readonly content: string;
}

export type Body =
  | { readonly kind: 'none' }
  | { readonly kind: 'text'; readonly type: string; readonly text: string }
  | { readonly kind: 'multipart'; readonly parts: readonly Part[] };

/** A request to send. It consists of plain values, so that a smaller failing request can be searched for. */
export interface FuzzRequest {
  readonly method: string;
  /** The path with the query. */
  readonly path: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Body;
  /** The input in the body, if the body is JSON. */
  readonly input?: { readonly value: unknown };
}

/**
 * Returns requests that a document describes, and requests that almost match it. `knownIds` are ids that the server has
 * sent.
 */
export function requestsOf(
  operation: Operation,
  resolver: Resolver,
  knownIds: readonly string[] = [],
): fc.Arbitrary<FuzzRequest> {
  return fc
    .tuple(
      pathOf(operation, resolver, knownIds),
      queryOf(operation, resolver),
      headersOf(operation, resolver),
      bodyOf(operation, resolver),
    )
    .map(([path, query, headers, { body, input }]) => ({
      method: operation.method,
      path: `${path}${query}`,
      headers,
      body,
      ...(input && { input }),
    }));
}

/** Returns a parameter's value as text. Most values match its schema. */
function parameterOf(schema: Schema, resolver: Resolver): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 4, arbitrary: valueOf(schema, resolver).map(String) },
    { weight: 1, arbitrary: hostile.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))) },
  );
}

/** Encodes a text for a URL. Lone surrogates cannot be encoded, so they are replaced. */
const encoded = (text: string): string => encodeURIComponent(text.replace(/[\ud800-\udfff]/gu, '?'));

function pathOf(
  { path, parameters }: Operation,
  resolver: Resolver,
  knownIds: readonly string[],
): fc.Arbitrary<string> {
  const own = parameters.filter((one) => one.in === 'path');
  const known = knownIds.length === 0 ? [] : [{ weight: 3, arbitrary: fc.constantFrom(...knownIds) }];
  return fc
    .tuple(...own.map(({ schema }) => fc.oneof({ weight: 2, arbitrary: parameterOf(schema, resolver) }, ...known)))
    .map((values) => {
      const filled = own.reduce(
        (text, { name }, n) => text.replace(`{${name}}`, () => encoded(values[n] ?? '') || '%20'),
        path,
      );
      return filled.replace(/\/\.{1,2}(?=\/|$)/g, '/%2e');
    });
}

function queryOf({ parameters }: Operation, resolver: Resolver): fc.Arbitrary<string> {
  const own = parameters.filter((one) => one.in === 'query');
  const given = fc.tuple(
    ...own.map(({ name, schema }) =>
      fc
        .option(parameterOf(schema, resolver), { freq: 2, nil: undefined })
        .map((value) => (value === undefined ? [] : [`${name}=${encoded(value)}`])),
    ),
  );
  const odd = fc.constantFrom('', '', '', 'unknown=1', '&&', 'a=%zz', '%', 'defer=true&defer=false', '__proto__=1');
  return fc.tuple(given, odd).map(([values, more]) => {
    const query = [...values.flat(), ...(more === '' ? [] : [more])].join('&');
    return query === '' ? '' : `?${query}`;
  });
}

const ODD_HEADERS: readonly (readonly [string, string])[] = [
  ['accept', 'text/html'],
  ['accept', 'application/x-ndjson'],
  ['accept', 'text/event-stream'],
  ['accept', '*/*;q=0'],
  ['accept', 'application/xml, , ;;'],
  ['x-request-id', 'a b'],
  ['x-request-id', 'x'.repeat(300)],
  ['x-api-key', 'no-such-key'],
  ['authorization', 'Bearer'],
  ['origin', 'null'],
  ['range', 'bytes=9-1'],
  ['if-none-match', '*'],
  ['last-event-id', '-1'],
  ['cookie', '=;=\u00e9'],
  ['accept-language', '*'],
  ['content-encoding', 'gzip'],
  ['x-forwarded-for', '::ffff:1, unknown'],
];

/** Headers that guards of the server refuse. Every operation is requested with each of them. */
const REFUSED_HEADERS: readonly (readonly [string, string])[] = [
  ['host', 'evil.example'],
  ['host', 'a_b..c:99999'],
  ['sec-fetch-site', 'cross-site'],
];

/** Returns requests that guards refuse, the same for an operation each time. */
export function refusedRequestsOf(operation: Operation, resolver: Resolver, seed: number): FuzzRequest[] {
  return fc
    .sample(requestsOf(operation, resolver), { seed, numRuns: REFUSED_HEADERS.length })
    .map((request, n) => ({ ...request, headers: REFUSED_HEADERS.slice(n, n + 1) }));
}

function headersOf({ parameters }: Operation, resolver: Resolver): fc.Arbitrary<FuzzRequest['headers']> {
  const own = parameters.filter((one) => one.in === 'header');
  const given = fc.tuple(
    ...own.map(({ name, schema }) =>
      fc
        .option(parameterOf(schema, resolver), { freq: 2, nil: undefined })
        .map((value) => (value === undefined ? [] : [[name, headerText(value)] as const])),
    ),
  );
  const odd = fc.option(fc.constantFrom(...ODD_HEADERS), { freq: 4, nil: undefined });
  return fc.tuple(given, odd).map(([values, more]) => [...values.flat(), ...(more ? [more] : [])]);
}

function headerText(text: string): string {
  return text.replace(/[^\t\x20-\x7e\x80-\xff]/g, '?').slice(0, 1000);
}

interface MadeBody {
  readonly body: Body;
  readonly input?: { readonly value: unknown };
}

const ODD_TEXTS = [
  '',
  ' ',
  '{',
  '[]',
  'null',
  '"text"',
  '0',
  '{"a":1e999}',
  '{"a":1,"a":2}',
  '{"\\ud800":"\\udc00"}',
  '\ufeff{}',
  'body={}',
  '{"__proto__":{"x":1}}',
  `${'['.repeat(3000)}${']'.repeat(3000)}`,
  '{"a":\u0001}',
  "{'a':1}",
  'body=%7B%7D&body=%7B%7D',
  'a=b',
  'body=%',
];
const ODD_TYPES = [
  'application/json',
  'application/json; charset=utf-8',
  'application/json; charset=latin1',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'multipart/form-data; boundary=',
  'multipart/form-data; boundary=x',
  'text/plain',
  'application/xml',
  'garbage',
  'application/vnd.x+json',
];

function bodyOf({ body, method }: Operation, resolver: Resolver): fc.Arbitrary<MadeBody> {
  const schema = body.get('application/json');
  const odd = fc
    .tuple(fc.constantFrom(...ODD_TYPES), fc.constantFrom(...ODD_TEXTS))
    .map(([type, text]): MadeBody => ({ body: { kind: 'text', type, text } }));
  const none = fc.constant<MadeBody>({ body: { kind: 'none' } });
  if (schema === undefined) return method === 'GET' ? none : fc.oneof({ weight: 3, arbitrary: none }, odd);
  const good = valueOf(schema, resolver);
  const input = fc.oneof(
    { weight: 5, arbitrary: good },
    { weight: 3, arbitrary: spoiled(good) },
    { weight: 1, arbitrary: hostile },
  );
  const form = fc.constantFrom(...[...body.keys()]);
  const made = fc.tuple(input, form, partsOf()).map(([value, type, more]): MadeBody => ({
    body: formed(type, JSON.stringify(value) ?? 'null', namedIn(value), more),
    input: { value },
  }));
  return fc.oneof({ weight: 8, arbitrary: made }, { weight: 1, arbitrary: odd }, { weight: 1, arbitrary: none });
}

/** Returns parts besides the files that the input names. Mostly there are none. */
function partsOf(): fc.Arbitrary<readonly Part[]> {
  const name = fc.constantFrom('extra', 'body', '', 'video', '__proto__', 'x'.repeat(300), 'é"');
  const part = fc.record({
    name,
    filename: fc.constantFrom(undefined, '', 'a.mp4', '../../x', 'é\u202e.mp4'),
    content: fc.constantFrom('', 'content', 'x'.repeat(5000)),
  });
  return fc.oneof(
    { weight: 5, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(part, { minLength: 1, maxLength: 3 }) },
  );
}

/** Returns the names of files that stand anywhere in the input. */
function namedIn(value: unknown): string[] {
  if (typeof value === 'string') return FILE_NAMES.includes(value) ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  return [...new Set(Object.values(value).flatMap(namedIn))];
}

function formed(type: string, json: string, files: readonly string[], more: readonly Part[]): Body {
  if (type === 'multipart/form-data')
    return {
      kind: 'multipart',
      parts: [
        { name: 'body', content: json },
        ...files.map((name) => ({ name, filename: `${name}.mp4`, content: `content of ${name}` })),
        ...more,
      ],
    };
  return {
    kind: 'text',
    type,
    text: type === 'application/json' ? json : new URLSearchParams({ body: json }).toString(),
  };
}
