import type { oas31 } from 'openapi3-ts';

const STACKTRACE: oas31.SchemaObject = {
  type: ['string', 'null'],
  description: 'Null unless the operator turned stack traces on.',
};
const KEYS = ['error', 'message', 'data', 'stacktrace'];

export const ERROR_SCHEMA: oas31.SchemaObject = {
  type: 'object',
  description: 'What every failed request is answered with.',
  properties: {
    error: { type: 'string', description: 'Class of the error, such as "DownloadException".' },
    message: { type: 'string', description: 'For people.' },
    data: { description: 'Facts about the error.' },
    stacktrace: STACKTRACE,
    detail: { type: 'string', description: 'The message once more, where the original had this key alone.' },
  },
  required: KEYS,
};

export const VALIDATION_ERROR_SCHEMA: oas31.SchemaObject = {
  type: 'object',
  description: 'The input does not match: one entry for each thing that is wrong.',
  properties: {
    error: { type: 'string', examples: ['ValidationError', 'UploadedFileNotFound'] },
    message: { type: 'string', examples: ['Validation error'] },
    data: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          type: { type: 'string', examples: ['missing'] },
          loc: {
            type: 'array',
            items: { type: ['string', 'integer'] },
            description: 'Path from the root of the input; of the query, "query" and the parameter.',
          },
          msg: { type: 'string' },
          input: { description: 'The value there.' },
        },
        required: ['type', 'loc', 'msg', 'input'],
      },
    },
    stacktrace: STACKTRACE,
  },
  required: KEYS,
};

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
