import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { oas31 } from 'openapi3-ts';
import { splitJson } from '../../base/core/json/concatenated-json.ts';
import type { Operation, Schema } from './document.ts';
import type { FuzzRequest } from './requests.ts';
import type { Answer } from './send.ts';

const FOUR_KEYS = ['error', 'message', 'data', 'stacktrace'];

/** Checks answers against the document. */
export class Judge {
  readonly #ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: false });
  readonly #validators = new Map<Schema, ValidateFunction>();

  constructor(document: oas31.OpenAPIObject) {
    this.#ajv.addSchema(document, 'openapi');
  }

  /** Returns the problems of an answer; empty if it has none. */
  complaintsOf(operation: Operation, request: FuzzRequest, { status, type, text, isWhole }: Answer): string[] {
    const content = operation.answers.get(String(status));
    if (status >= 500 && status !== 503) return [`the request is answered with ${status}: ${text.slice(0, 300)}`];
    if (!content) return [`the status ${status} is not documented: ${text.slice(0, 300)}`];
    const schema = content.get(type);
    if (schema === undefined)
      return content.size === 0 && text === ''
        ? []
        : [`the media type ${JSON.stringify(type)} is not documented for ${status}`];
    return [
      ...this.#checkBody(type, schema, text, isWhole),
      ...(status >= 400 ? checkError(operation.path, status, text) : this.#checkAccepted(operation, request)),
    ];
  }

  #checkBody(type: string, schema: Schema, text: string, isWhole: boolean): string[] {
    if (type === 'text/event-stream') return [];
    if (isText(type, schema)) return isWhole ? [] : ['the answer did not end'];
    const isStream = type !== 'application/json';
    const { values, rest } = isStream ? splitJson(text) : { values: [text], rest: '' };
    if (!isWhole && !isStream) return ['the answer did not end'];
    if (isWhole && rest.trim() !== '') return [`the stream ends inside a value: ${rest.slice(0, 100)}`];
    return values.flatMap((one) => {
      let value: unknown;
      try {
        value = JSON.parse(one);
      } catch {
        return [`the answer is not JSON: ${one.slice(0, 100)}`];
      }
      const validate = this.#validator(schema);
      return validate(value)
        ? []
        : [`the answer does not match its schema: ${this.#ajv.errorsText(validate.errors)}: ${one.slice(0, 300)}`];
    });
  }

  /** Checks that an accepted input matches its schema. */
  #checkAccepted({ body }: Operation, { input }: FuzzRequest): string[] {
    const schema = body.get('application/json');
    if (schema === undefined || !input) return [];
    const validate = this.#validator(schema);
    // Compared as it arrives, because JSON has neither `undefined` nor -0.
    return validate(JSON.parse(JSON.stringify(input.value) ?? 'null'))
      ? []
      : [`an input that does not match its schema is accepted: ${this.#ajv.errorsText(validate.errors)}`];
  }

  #validator(schema: Schema): ValidateFunction {
    const known = this.#validators.get(schema);
    if (known) return known;
    const made = this.#ajv.compile(absolute(schema) as object | boolean);
    this.#validators.set(schema, made);
    return made;
  }
}

/** Whether answers are text instead of JSON. */
function isText(type: string, schema: Schema): boolean {
  return type !== 'application/json' && typeof schema === 'object' && schema['type'] === 'string';
}

/** Makes references lead into the document under the name that it has here. */
function absolute(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(absolute);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === '$ref' && typeof inner === 'string' ? `openapi${inner}` : absolute(inner),
    ]),
  );
}

/** Errors have our form, except in the APIs of others. */
function checkError(path: string, status: number, text: string): string[] {
  const body = JSON.parse(text) as Record<string, unknown>;
  const inner = body['error'] as Readonly<Record<string, unknown>> | undefined;
  if (path.startsWith('/v1/messages'))
    return ['message', 'type'].filter((key) => !(key in (inner ?? {}))).map((key) => `the error has no ${key}`);
  if (path.startsWith('/v1/'))
    return ['message', 'type', 'param', 'code']
      .filter((key) => !(key in (inner ?? {})))
      .map((key) => `the error has no ${key}`);
  if (path === '/chat/completions' && status === 404)
    return typeof inner?.['message'] === 'string' ? [] : ['the error has no message'];
  const missing = FOUR_KEYS.filter((key) => !(key in body));
  const more = Object.keys(body).filter((key) => !FOUR_KEYS.includes(key) && key !== 'detail');
  return [
    ...missing.map((key) => `the error has no ${key}`),
    ...more.map((key) => `the error has a key ${key}`),
    ...(body['stacktrace'] == null ? [] : ['the error has a stack trace']),
  ];
}
