import { AanaError } from '../../../base/core/errors.ts';
import { checkJson, decodeUtf8, type JsonLimits, parseJson } from '../../../base/core/json/read-json.ts';
import type { LargeParts } from '../../http/request/request-body.ts';
import type { BatchError } from './batch-object.ts';
import type { JsonLine } from './json-lines.ts';

/** One request of a batch. */
export interface BatchLine {
  /** The number of its line in the input, counted from 1. */
  readonly line: number;
  readonly customId: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** What every line of a batch must comply with. */
export interface LineRules {
  /** The path of all requests. */
  readonly endpoint: string;
  /** What one request may be. Undefined for lines that were checked before, perhaps with other limits. */
  readonly limits?: JsonLimits;
  /** The media that it may have in addition. Default: none. */
  readonly large?: LargeParts;
}

const MAX_CUSTOM_ID = 512;
const MAX_SHOWN = 100;

/** Returns the request of a line. Throws {@link WrongLine}, which says what is wrong. */
export function readLine({ number: line, bytes }: JsonLine, rules: LineRules): BatchLine {
  const wrong = (code: string, message: string, param: string | null = null): WrongLine =>
    new WrongLine({ code, line, message, param });
  if (bytes === undefined) throw wrong('line_too_large', tooLarge(rules));
  const request = parsed(bytes, rules, wrong);
  if (!isObject(request)) throw wrong('invalid_json_line', 'This line is not a JSON object.');
  for (const name of ['custom_id', 'method', 'url', 'body'])
    if (request[name] == null)
      throw wrong('missing_required_parameter', `Missing required parameter: '${name}'.`, name);
  const { custom_id: customId, method, url, body } = request;
  if (typeof customId !== 'string' || customId === '' || customId.length > MAX_CUSTOM_ID)
    throw wrong('invalid_custom_id', `The custom_id must be a text of 1 to ${MAX_CUSTOM_ID} characters.`, 'custom_id');
  if (method !== 'POST') throw wrong('invalid_method', "The method must be 'POST'.", 'method');
  if (url !== rules.endpoint)
    throw wrong('invalid_url', `The url ${shown(url)} is not the endpoint of the batch, ${rules.endpoint}.`, 'url');
  if (!isObject(body)) throw wrong('invalid_type', 'The body must be an object.', 'body');
  return { line, customId, body };
}

/** A line of the input that is no request of the batch. */
export class WrongLine extends Error {
  readonly entry: BatchError;

  constructor(entry: BatchError) {
    super(entry.message);
    this.name = 'WrongLine';
    this.entry = entry;
  }
}

function tooLarge({ limits, large }: LineRules): string {
  const beside = large?.bytes ? ' beside its images and audio' : '';
  return `This line has more than ${limits?.max_json_bytes} bytes${beside} (limits.max_json_bytes).`;
}

function parsed(bytes: Buffer, rules: LineRules, wrong: (code: string, message: string) => WrongLine): unknown {
  try {
    const text = decodeUtf8(bytes);
    // The body of a request is inside of its line.
    if (rules.limits)
      checkJson(text, { ...rules.limits, max_json_depth: rules.limits.max_json_depth + 1 }, rules.large?.keys);
    return parseJson(text);
  } catch (error) {
    if (!(error instanceof AanaError)) throw error;
    if (error.name === 'RequestTooLarge') throw wrong('line_too_large', tooLarge(rules));
    const [entry] = error.data as readonly { readonly msg: string }[];
    throw wrong('invalid_json_line', `This line is not parseable as valid JSON: ${entry!.msg}.`);
  }
}

/** Returns a value of a client as JSON that is short enough for a message. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
