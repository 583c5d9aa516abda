import type { oas31 } from 'openapi3-ts';
import * as z from 'zod';
import { NAMED_SCHEMAS } from './named-schemas.ts';
import type { AnswerOf } from './routes/values.ts';

const stacktrace = z.string().nullable().describe('Null unless the operator has turned stack traces on.');

/** Body of every failed request. */
const ErrorBody = z
  .object({
    error: z.string().describe('Class of the error, such as "DownloadException".'),
    message: z.string().describe('For people.'),
    data: z.unknown().describe('Facts about the error.'),
    stacktrace,
    detail: z.string().optional().describe('The message again, where the original has only this key.'),
  })
  .describe('Body of every failed request.')
  .register(NAMED_SCHEMAS, { id: 'Error' });
export type ErrorBody = AnswerOf<typeof ErrorBody>;

const ValidationErrorBody = z
  .object({
    error: z.string().meta({ examples: ['ValidationError', 'UploadedFileNotFound'] }),
    message: z.string().meta({ examples: ['Validation error'] }),
    data: z.array(
      z.object({
        type: z.string().meta({ examples: ['missing'] }),
        loc: z
          .array(z.union([z.string(), z.int()]))
          .describe('Path from the root of the input, or "query" and the name of the parameter.'),
        msg: z.string(),
        input: z.unknown().describe('The value there.'),
      }),
    ),
    stacktrace,
  })
  .describe('The input does not match its schema. `data` has one entry for each mismatch.')
  .register(NAMED_SCHEMAS, { id: 'ValidationError' });

/** Schemas of the bodies of failed requests. */
export const FAILURE_SCHEMAS: readonly z.ZodType[] = [ErrorBody, ValidationErrorBody];

const json = (schema: string): oas31.ContentObject => ({
  'application/json': { schema: { $ref: `#/components/schemas/${schema}` } },
});
const error = (description: string, headers?: oas31.HeadersObject): oas31.ResponseObject => ({
  description,
  ...(headers && { headers }),
  content: json('Error'),
});
const text = (description: string): oas31.HeaderObject => ({ description, schema: { type: 'string' } });
const RETRY_AFTER: oas31.HeadersObject = {
  'Retry-After': { description: 'Seconds to wait before another try.', schema: { type: 'integer', minimum: 0 } },
};
const CHALLENGE: oas31.HeadersObject = { 'WWW-Authenticate': text('The scheme, and what is wrong with the key.') };
const RATE_LIMITS: oas31.HeadersObject = {
  'RateLimit-Policy': text('The limits: requests (`q`) in seconds (`w`).'),
  RateLimit: text('What is left of each limit: requests (`r`), and seconds until there are more (`t`).'),
};

/** The answers of failed requests, by status and by their names among the components. */
const ERRORS = {
  400: [
    'BadRequest',
    error('The request cannot be served: an unreachable URL, a file that is not media, a form that cannot be read.'),
  ],
  401: ['Unauthenticated', error('The API key is missing, unknown or expired.', CHALLENGE)],
  403: [
    'Forbidden',
    error(
      'Not for this caller: a private address, a path outside the allowed directories, an API key without this right (scopes, user, subscription), or a page of an origin that is not allowed.',
    ),
  ],
  404: ['NotFound', error('There is nothing of this name.')],
  408: ['RequestTimeout', error('The request took too long to arrive.')],
  409: ['Conflict', error('What is there already is in the way.')],
  413: ['TooLarge', error('Over a limit of the server.')],
  415: ['UnsupportedMediaType', error('A content type or encoding that is not taken.')],
  421: ['HostNotAllowed', error('The name in the header `Host` is not a name of this server.')],
  422: [
    'Unprocessable',
    {
      description: 'The input does not match, or names a file part that is not there.',
      content: json('ValidationError'),
    },
  ],
  429: [
    'TooManyRequests',
    error('Over a rate limit, or over the tasks or streams that a user may have.', { ...RETRY_AFTER, ...RATE_LIMITS }),
  ],
  500: ['InternalError', error('A fault of the server.')],
  502: ['PluginFailed', error('The plugin failed.')],
  503: [
    'Unavailable',
    error('Starting, a queue is full, or the replica at work was lost: trying again may work.', RETRY_AFTER),
  ],
  504: ['TimedOut', error('Over a time limit.')],
} as const satisfies Readonly<Record<number, readonly [name: string, response: oas31.ResponseObject]>>;

export type ErrorStatus = keyof typeof ERRORS;

/** All of them, for the components of a document. */
export function errorResponses(): readonly (readonly [name: string, response: oas31.ResponseObject])[] {
  return Object.values(ERRORS);
}

/** The members of `responses` for these statuses. */
export function failures(...statuses: readonly ErrorStatus[]): Record<string, oas31.ReferenceObject> {
  return Object.fromEntries(
    statuses.map((status) => [status, { $ref: `#/components/responses/${ERRORS[status][0]}` }]),
  );
}

/** The ways in which a request can fail because of its body. */
export const BODY_FAILURES = [400, 408, 413, 415, 422] as const satisfies readonly ErrorStatus[];

/** The ways in which an endpoint can fail. */
export const ENDPOINT_FAILURES = [
  400, 403, 404, 408, 413, 415, 422, 429, 500, 502, 503, 504,
] as const satisfies readonly ErrorStatus[];
