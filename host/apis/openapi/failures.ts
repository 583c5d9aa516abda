import type { oas31 } from 'openapi3-ts';
import * as z from 'zod';
import { NAMED_SCHEMAS } from './named-schemas.ts';
import type { AnswerOf } from './values.ts';

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

const OpenAiError = z
  .object({
    error: z.object({
      message: z.string().describe('For people.'),
      type: z.string().meta({ examples: ['invalid_request_error'] }),
      param: z.string().nullable().describe('The parameter that is wrong.'),
      code: z
        .string()
        .nullable()
        .meta({ examples: ['model_not_found'] }),
    }),
  })
  .describe('Body of every failed request below `/v1`, as in OpenAI’s API.')
  .register(NAMED_SCHEMAS, { id: 'OpenAIError' });

const AnthropicError = z
  .object({
    type: z.literal('error'),
    error: z.object({
      type: z.string().meta({ examples: ['invalid_request_error'] }),
      message: z.string().describe('For people.'),
      details: z.object({ error_code: z.string() }).optional().describe('The cause, where clients act on it.'),
    }),
    request_id: z.string(),
  })
  .describe('Body of every failed request of `/v1/messages`, as in Anthropic’s API.')
  .register(NAMED_SCHEMAS, { id: 'AnthropicError' });

const McpError = z
  .object({
    jsonrpc: z.literal('2.0'),
    id: z.null(),
    error: z.object({
      code: z.int().meta({ examples: [-32_000] }),
      message: z.string().describe('For people.'),
      data: z.unknown().describe('Class of the error (`error`), and facts about it (`data`).'),
    }),
  })
  .describe('Body of every failed request of `/mcp`, as in JSON-RPC.')
  .register(NAMED_SCHEMAS, { id: 'McpError' });

/** Schemas of the bodies of failed requests. */
export const FAILURE_SCHEMAS: readonly z.ZodType[] = [ErrorBody, ValidationErrorBody];
/** The schemas of the bodies of failed requests below `/v1`. */
export const MODEL_API_FAILURE_SCHEMAS: readonly z.ZodType[] = [OpenAiError, AnthropicError];
/** The schemas of the bodies of failed requests of `/mcp`. */
export const MCP_FAILURE_SCHEMAS: readonly z.ZodType[] = [McpError];

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
  'Retry-After': { description: 'Seconds to wait before the next attempt.', schema: { type: 'integer', minimum: 0 } },
};
const CHALLENGE: oas31.HeadersObject = {
  'WWW-Authenticate': text('The scheme, and the reason why the key is refused.'),
};
const RATE_LIMITS: oas31.HeadersObject = {
  'RateLimit-Policy': text('The limits: requests (`q`) in seconds (`w`).'),
  RateLimit: text('The rest of each limit: requests (`r`), and seconds until there are more (`t`).'),
};

/** The responses to failed requests, by status, with their names among the components. */
const ERRORS = {
  400: [
    'BadRequest',
    error(
      'The request cannot be served, for example because of an unreachable URL, a file that is not media, or a ' +
        'damaged form.',
    ),
  ],
  401: ['Unauthenticated', error('The API key is missing, unknown or expired.', CHALLENGE)],
  403: [
    'Forbidden',
    error(
      'Refused for this caller: a private address, a path outside the allowed directories, an API key without this ' +
        'right (scopes, user, subscription), or a page of an origin that is not allowed.',
    ),
  ],
  404: ['NotFound', error('Nothing has this name.')],
  408: ['RequestTimeout', error('The request took too long to arrive.')],
  409: ['Conflict', error('The request conflicts with the current state.')],
  413: ['TooLarge', error('The request exceeds a limit of the server.')],
  415: ['UnsupportedMediaType', error('The content type or encoding is not supported.')],
  421: ['HostNotAllowed', error('The name in the header `Host` is not a name of this server.')],
  422: [
    'Unprocessable',
    {
      description: 'The input does not match its schema, or names a file part that was not uploaded.',
      content: json('ValidationError'),
    },
  ],
  426: ['UpgradeRequired', error('The path takes only requests that open a WebSocket.')],
  429: [
    'TooManyRequests',
    error('The user exceeds a rate limit, or a limit of tasks or streams.', { ...RETRY_AFTER, ...RATE_LIMITS }),
  ],
  500: ['InternalError', error('The server failed.')],
  502: ['PluginFailed', error('The plugin failed.')],
  503: [
    'Unavailable',
    error(
      'The server is starting, a queue is full, or the replica was lost. Another attempt may succeed.',
      RETRY_AFTER,
    ),
  ],
  504: ['TimedOut', error('The request exceeded a time limit.')],
} as const satisfies Readonly<Record<number, readonly [name: string, response: oas31.ResponseObject]>>;

export type ErrorStatus = keyof typeof ERRORS;

/** Returns all responses, for the components of a document. */
export function errorResponses(): readonly (readonly [name: string, response: oas31.ResponseObject])[] {
  return Object.values(ERRORS);
}

/** The responses to failed requests below `/v1`, with their names among the components. */
export const MODEL_API_ERRORS: readonly (readonly [name: string, response: oas31.ResponseObject])[] = [
  [
    'OpenAIError',
    { description: 'The request failed. The status says how; `error.code` says why.', content: json('OpenAIError') },
  ],
  ['AnthropicError', { description: 'The request failed. `error.type` says how.', content: json('AnthropicError') }],
];

/** The response to failed requests of `/mcp`, with its name among the components. */
export const MCP_ERRORS: readonly (readonly [name: string, response: oas31.ResponseObject])[] = [
  ['McpError', { description: 'The message was refused. `error.data.error` says why.', content: json('McpError') }],
];

/** The APIs of others: the response to each of their failed requests, and the statuses that differ from ours. */
const FOREIGN_APIS = {
  openai: { response: 'OpenAIError', statuses: { 422: 400 } },
  anthropic: { response: 'AnthropicError', statuses: { 422: 400, 503: 529 } },
  mcp: { response: 'McpError', statuses: { 422: 400 } },
} as const satisfies Readonly<
  Record<string, { readonly response: string; readonly statuses: Readonly<Partial<Record<ErrorStatus, number>>> }>
>;

/** Returns the members of `responses` for these statuses, for an operation with these tags. */
export function failuresOf(
  tags: readonly string[],
  statuses: readonly ErrorStatus[],
): Record<string, oas31.ReferenceObject> {
  const api = Object.entries(FOREIGN_APIS).find(([tag]) => tags.includes(tag))?.[1];
  if (!api) return failures(...statuses);
  const theirs: Readonly<Partial<Record<ErrorStatus, number>>> = api.statuses;
  return Object.fromEntries(
    statuses.map((status) => [theirs[status] ?? status, { $ref: `#/components/responses/${api.response}` }]),
  );
}

/** Returns the members of `responses` for these statuses. */
export function failures(...statuses: readonly ErrorStatus[]): Record<string, oas31.ReferenceObject> {
  return Object.fromEntries(
    statuses.map((status) => [status, { $ref: `#/components/responses/${ERRORS[status][0]}` }]),
  );
}

/** Statuses of requests whose body is refused. */
export const BODY_FAILURES = [400, 408, 413, 415, 422] as const satisfies readonly ErrorStatus[];

/** Statuses of requests that an endpoint or its guards refuse. */
export const ENDPOINT_FAILURES = [
  400, 403, 404, 408, 413, 415, 422, 429, 500, 502, 503, 504,
] as const satisfies readonly ErrorStatus[];
