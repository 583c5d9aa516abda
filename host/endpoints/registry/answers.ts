import { fail } from '../../base/core/errors.ts';
import { valueAt } from '../../base/core/json/json-pointer.ts';
import { ANSWER_BY, BYTES_ANSWER, TEXT_ANSWER } from '../../base/schemas/index.ts';
import type { ServedEndpoint } from './endpoint.ts';
import { isObject, listOf, mentions, type Schema } from './visit-values.ts';

/** An answer that is not JSON. */
export interface TextAnswer {
  readonly mediaType: string;
  readonly text: string;
}

export type Answering = Pick<ServedEndpoint, 'name' | 'outputSchema' | 'streaming'>;

/** A media type without parameters. Other classes, such as images, are no text. */
const MEDIA_TYPE = /^(?:text|application)\/[a-z0-9][a-z0-9!#$&^_.+-]{0,99}$/;

/**
 * Returns the media types in which an endpoint may answer with text. Streamed values are always JSON. Throws
 * `EndpointError` if the schema names something that is no media type.
 */
export function textTypesOf(endpoint: Answering): readonly string[] {
  return mediaTypesOf(endpoint, { marker: TEXT_ANSWER, member: 'text', mediaType: MEDIA_TYPE, what: 'text' });
}

/** What marks an answer that is not JSON, the key of its contents, and its media types. */
interface AnswerKind {
  readonly marker: string;
  readonly member: string;
  readonly mediaType: RegExp;
  readonly what: string;
}

const known = new WeakMap<object, Map<string, readonly string[]>>();

/** Returns the media types of the answers of one kind. Throws `EndpointError`. */
export function mediaTypesOf({ name, outputSchema, streaming }: Answering, kind: AnswerKind): readonly string[] {
  if (streaming || !mentions(outputSchema, kind.marker)) return [];
  const byKind = known.get(outputSchema) ?? new Map<string, readonly string[]>();
  known.set(outputSchema, byKind);
  const before = byKind.get(kind.marker);
  if (before) return before;
  const types = outputsOf(outputSchema as Schema).flatMap((branch) => typesIn(name, branch, kind));
  byKind.set(kind.marker, types);
  return types;
}

/** Returns the text of an output in JSON that is a text answer. */
export function textAnswerOf(endpoint: Answering, json: string): TextAnswer | undefined {
  const types = textTypesOf(endpoint);
  if (types.length === 0 || !/^\s*\{\s*"(?:media_type|text)"/.test(json)) return undefined; // spares a large answer
  const { media_type: mediaType, text, ...rest } = JSON.parse(json) as Readonly<Record<string, unknown>>;
  if (typeof mediaType !== 'string' || typeof text !== 'string' || Object.keys(rest).length > 0) return undefined;
  return types.includes(mediaType) ? { mediaType, text } : undefined;
}

/** The outputs of an endpoint by the values of one key of its input. The first is that of an absent key. */
export interface AnswerCases {
  readonly key: string;
  readonly cases: readonly { readonly value: string; readonly schema: Schema }[];
}

/** Returns the cases of an output schema; undefined if it has none, or does not describe them well. */
export function answerCasesOf(schema: object): AnswerCases | undefined {
  const by = (schema as Schema)[ANSWER_BY];
  const branches = listOf((schema as Schema)['anyOf']);
  if (!isObject(by) || typeof by['key'] !== 'string') return undefined;
  const values = listOf(by['values']);
  if (values.length !== branches.length || values.length === 0) return undefined;
  const cases = values.flatMap((value, n) => {
    const branch = branches[n];
    return typeof value === 'string' && isObject(branch) ? [{ value, schema: branch }] : [];
  });
  return cases.length === values.length ? { key: by['key'], cases } : undefined;
}

/** Whether a schema is that of an answer that is not JSON. */
export function isRawAnswer(schema: Schema): boolean {
  return schema[TEXT_ANSWER] === true || schema[BYTES_ANSWER] === true;
}

/** Returns an output schema, and the branches of its union. */
function outputsOf(root: Schema): Schema[] {
  return [root, ...['anyOf', 'oneOf'].flatMap((keyword) => listOf(root[keyword]))]
    .map((one) => (isObject(one) && typeof one['$ref'] === 'string' ? valueAt(root, one['$ref']) : one))
    .filter(isObject);
}

function typesIn(endpoint: string, schema: Schema, { marker, member, mediaType, what }: AnswerKind): readonly string[] {
  if (schema[marker] !== true) return [];
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  const [rule, contents] = [properties['media_type'], properties[member]].map((one) => (isObject(one) ? one : {}));
  const types = 'const' in rule! ? [rule['const']] : listOf(rule!['enum']);
  const wrong = types.find((type) => typeof type !== 'string' || !mediaType.test(type) || type === 'application/json');
  if (wrong !== undefined || types.length === 0 || contents!['type'] !== 'string')
    throw fail(
      'EndpointError',
      wrong === undefined
        ? `endpoint ${endpoint}: an output with ${marker} is an object with \`media_type\` (an enum of media ` +
            `types) and \`${member}\` (a string)`
        : `endpoint ${endpoint}: ${JSON.stringify(wrong)} is not a media type for ${what}, such as "text/csv" or ` +
            `"application/${what === 'text' ? 'x-subrip' : 'pdf'}", without parameters`,
    );
  return types as string[];
}
