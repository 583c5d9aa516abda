import { delay } from '../../../base/core/abort.ts';
import { toErrorRecord } from '../../../base/core/errors.ts';
import type { BatchScope } from './batch-operations.ts';
import { batchUsageOf, NO_USAGE } from './batch-usage.ts';
import { prefixedId } from '../text/values.ts';
import type { RunContext } from '../run-context.ts';
import type { BatchAnswer } from '../../../data/storage/index.ts';
import { isUnserved, retryDelayMs } from '../../../data/tasks/index.ts';
import type { BatchFormat } from './batch-format.ts';
import type { BatchLine } from './batch-line.ts';

export interface AnswerOptions {
  readonly format: BatchFormat;
  /** The path of the requests. */
  readonly endpoint: string;
  readonly scope: BatchScope;
  /** Facts for the calls of deployments, without the id of the request. */
  readonly context: RunContext;
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
  request: BatchLine,
  { format, endpoint, scope, context }: AnswerOptions,
): Promise<BatchAnswer> {
  const { line, body } = request;
  const id = prefixedId('batch_req_');
  for (let attempt = 1; ; attempt += 1) {
    try {
      const answer = await format.operations[endpoint]!.answer(body, scope, { ...context, requestId: id });
      return { line, ...format.answered(request, id, answer), usage: batchUsageOf(answer) };
    } catch (error) {
      context.signal.throwIfAborted();
      const record = toErrorRecord(error);
      if (attempt === MOST_TRIES && isUnserved(record)) throw error;
      if (record.kind !== 'unavailable' || attempt === MOST_TRIES)
        return { line, ...format.failed(request, id, error), usage: NO_USAGE };
      await delay(retryDelayMs(attempt, Math.random), context.signal);
    }
  }
}
