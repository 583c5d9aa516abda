import { type ErrorRecord, publicMessage, toErrorRecord } from '../../base/core/errors.ts';
import { located } from '../openai/index.ts';

/** The body of a failed request, as in Anthropic's API. */
export interface AnthropicErrorBody {
  readonly type: 'error';
  readonly error: {
    readonly type: string;
    readonly message: string;
    /** The cause, where clients act on it. */
    readonly details?: { readonly error_code: string };
  };
  readonly request_id: string;
}

/** Types of Anthropic's API by their statuses. */
const TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  409: 'conflict_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
};

/** Codes for parameters that are not supported, without which the official clients try again by themselves. */
const UNSUPPORTED_CODES: Readonly<Record<string, string>> = { thread: 'thread_unsupported_request' };

/**
 * Returns the body for anything that was thrown, which has this status. It has no more details than `publicMessage`
 * allows.
 */
export function anthropicError(thrown: unknown, status: number, requestId: string): AnthropicErrorBody {
  const record = toErrorRecord(thrown);
  const code = unsupportedCode(record);
  return {
    type: 'error',
    error: {
      type: TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'api_error'),
      message: messageOf(record),
      ...(code !== undefined && { details: { error_code: code } }),
    },
    request_id: requestId,
  };
}

/** Returns the message for people. That of a prompt that is too long begins as agents look for it. */
function messageOf(record: ErrorRecord): string {
  if (record.name !== 'PromptTooLongException') return located(publicMessage(record), paramIn(record));
  const { prompt_len: prompt, max_len: most } = (record.data ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof prompt !== 'number' || typeof most !== 'number') return `prompt is too long: ${publicMessage(record)}`;
  const maximum = Math.min(most, prompt - 1); // a prompt that fills the context leaves no room for an answer
  return `prompt is too long: ${prompt} tokens > ${maximum} maximum`;
}

function paramIn({ data }: ErrorRecord): string | undefined {
  const { param } = (data ?? {}) as { readonly param?: unknown };
  return typeof param === 'string' ? param : undefined;
}

function unsupportedCode(record: ErrorRecord): string | undefined {
  const param = paramIn(record);
  if (record.name !== 'UnsupportedParameter' || param === undefined) return undefined;
  return Object.hasOwn(UNSUPPORTED_CODES, param) ? UNSUPPORTED_CODES[param] : undefined;
}
