import { delay } from '../core/abort.ts';
import { toErrorRecord } from '../core/errors.ts';
import {
  type BatchOperation,
  type BatchScope,
  batchUsageOf,
  NO_USAGE,
  openAiError,
  prefixedId,
  type RunContext,
} from '../openai/index.ts';
import type { BatchAnswer } from '../storage/index.ts';
import { isUnserved, retryDelayMs } from '../tasks/index.ts';
import type { BatchLine } from './batch-line.ts';

export interface AnswerOptions {
  readonly operation: BatchOperation;
  readonly scope: BatchScope;
  /** Facts for the calls of deployments, without the id of the request. */
  readonly context: RunContext;
  /** Returns the HTTP status of an error. */
  readonly statusOf: (error: unknown) => number;
}

/**
 * Most tries at a request while something is unavailable, such as a deployment that is full or is being replaced. With
 * the waits between them this takes about ten seconds.
 */
const MOST_TRIES = 5;

/**
 * Answers one request of a batch. Rejects when the signal of the context aborts, and when nothing could work on the
 * request, so that the batch goes back to the queue.
 */
export async function answerLine(
  { line, customId, body }: BatchLine,
  { operation, scope, context, statusOf }: AnswerOptions,
): Promise<BatchAnswer> {
  const id = prefixedId('batch_req_');
  const respond = (status: number, answer: object) => ({
    line,
    json: JSON.stringify({
      id,
      custom_id: customId,
      response: { status_code: status, request_id: id, body: answer },
      error: null,
    }),
  });
  for (let attempt = 1; ; attempt += 1) {
    try {
      const answer = await operation.answer(body, scope, { ...context, requestId: id });
      return { ...respond(200, answer), file: 'output', usage: batchUsageOf(answer) };
    } catch (error) {
      context.signal.throwIfAborted();
      const record = toErrorRecord(error);
      if (attempt === MOST_TRIES && isUnserved(record)) throw error;
      if (record.kind !== 'unavailable' || attempt === MOST_TRIES)
        return { ...respond(statusOf(error), openAiError(error)), file: 'error', usage: NO_USAGE };
      await delay(retryDelayMs(attempt, Math.random), context.signal);
    }
  }
}

/** Returns the answer to a request for which there was no time. */
export function expiredAnswer({ line, customId }: BatchLine): BatchAnswer {
  const error = {
    code: 'batch_expired',
    message: 'This request could not be executed before the completion window expired.',
  };
  const json = JSON.stringify({ id: prefixedId('batch_req_'), custom_id: customId, response: null, error });
  return { line, json, file: 'error', usage: NO_USAGE };
}
