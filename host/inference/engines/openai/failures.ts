import type { IncomingMessage } from 'node:http';
import type { AanaError } from '../../../base/core/errors.ts';
import { fail } from '../../../base/core/errors.ts';
import { reasonOf } from '../../../io/outgoing/index.ts';
import { InferenceException } from '../../replicas/process/inference-exception.ts';
import type { ServerError } from './answer.ts';

/** The server and its model, for messages. */
export interface ServerNames {
  /** The address without credentials. */
  readonly address: string;
  readonly model: string;
}

/** A failure after which the same request may succeed. */
export class RetryableFailure extends Error {
  /** The error for the caller when there is no further try. */
  readonly error: AanaError;
  /** The wait that the server asks for, in milliseconds. */
  readonly waitMs: number | undefined;

  constructor(error: AanaError, waitMs?: number) {
    super(error.message, { cause: error });
    this.error = error;
    this.waitMs = waitMs;
  }
}

const MAX_QUOTED = 500;

/** Returns the error for a connection that failed. */
export function connectionFailure({ address }: ServerNames, cause: unknown): RetryableFailure {
  return new RetryableFailure(unavailable(`${address} gave no answer: ${reasonOf(cause)}`, undefined, cause));
}

/** Returns the error for an answer with a status other than 200. `found` is the error in its body. */
export function statusFailure(
  { address, model }: ServerNames,
  status: number,
  { headers }: Pick<IncomingMessage, 'headers'>,
  found: ServerError | undefined,
): AanaError | RetryableFailure {
  const said = found?.message ? `: ${found.message.slice(0, MAX_QUOTED)}` : '';
  // The message may quote a part of the key, so it is left out.
  if (status === 401 || status === 403)
    return fail(
      'RemoteAccessDenied',
      `${address} refuses access (${status}); check api_key or api_key_env of the deployment`,
    );
  if (status === 404)
    return fail(
      'RemoteModelNotFound',
      `${address} does not have the model ${model} or the path (404)${said}; check base_url and model of ` +
        `the deployment`,
      { data: { model_name: model } },
    );
  if (status === 429 || status === 502 || status === 503 || status === 504) {
    const waitMs = retryAfterMs(headers['retry-after']);
    return new RetryableFailure(unavailable(`${address} is not available (${status})${said}`, waitMs), waitMs);
  }
  if (status >= 300 && status < 400)
    return new InferenceException(model, `${address} redirects (${status}); set base_url to the final address`);
  if (status >= 500) return new InferenceException(model, `${address} answers with status ${status}${said}`);
  return requestFailure({ address, model }, found, `status ${status}`);
}

/** Returns the error for a request that the server refuses. */
export function requestFailure(
  { address, model }: ServerNames,
  found: ServerError | undefined,
  what: string,
): AanaError {
  const message = found?.message.slice(0, MAX_QUOTED) ?? '';
  const tooLong = tooLongPrompt(found);
  if (tooLong)
    return fail('PromptTooLongException', `${model} cannot take the prompt: ${message}`, {
      data: tooLong,
    });
  return fail('RemoteRequestRefused', `${address} refuses the request to ${model}: ${message || what}`, {
    data: { model_name: model },
  });
}

interface PromptLength {
  readonly prompt_len: number | null;
  readonly max_len: number | null;
}

/** Returns the lengths if the error says that the prompt is too long. Servers say so in different ways. */
function tooLongPrompt(error: ServerError | undefined): PromptLength | undefined {
  if (!error) return undefined;
  const { code, type, message, n_prompt_tokens: promptTokens, n_ctx: contextTokens } = error;
  if (type === 'exceed_context_size_error') return { prompt_len: promptTokens ?? null, max_len: contextTokens ?? null };
  const limit = /maximum (?:context|model) length (?:is|of) (\d+)/i.exec(message)?.[1];
  if (code !== 'context_length_exceeded' && limit === undefined) return undefined;
  const prompt =
    /(\d+) (?:tokens )?(?:in the (?:messages|prompt)|input tokens)|(?:resulted in|has) (\d+) (?:input )?tokens/i.exec(
      message,
    );
  const promptLength = prompt?.[1] ?? prompt?.[2];
  return {
    prompt_len: promptLength === undefined ? null : Number(promptLength),
    max_len: limit === undefined ? null : Number(limit),
  };
}

function unavailable(reason: string, waitMs: number | undefined, cause?: unknown): AanaError {
  return fail('RemoteServerUnavailable', reason, {
    cause,
    data: waitMs === undefined ? {} : { retry_after_s: Math.ceil(waitMs / 1000) },
  });
}

/** Returns the wait in a `Retry-After` header, which has seconds or a date. */
function retryAfterMs(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}
