import * as z from 'zod';
import { fail } from '../../../base/core/errors.ts';
import type { ListedBatch } from '../../../data/storage/index.ts';
import { listOf } from '../list-page.ts';

export type { ListedBatch };

const STATUSES = [
  'validating',
  'in_progress',
  'finalizing',
  'completed',
  'failed',
  'expired',
  'cancelling',
  'cancelled',
] as const;

/** What is wrong with the input of a batch. */
export const BatchError = z.object({
  code: z.string(),
  line: z.int().nullable().describe('Counted from 1; null for the file as a whole.'),
  message: z.string(),
  param: z.string().nullable(),
});
export type BatchError = z.output<typeof BatchError>;

const seconds = z.int().optional().describe('Seconds since 1970.');

/** A batch as an answer. Members for what has not happened are absent. */
export const Batch = z.object({
  id: z.string(),
  object: z.literal('batch'),
  endpoint: z.string(),
  model: z.string().optional().describe('The model of the requests. Absent if they name several.'),
  input_file_id: z.string(),
  completion_window: z.literal('24h'),
  status: z.enum(STATUSES),
  errors: z.object({ object: z.literal('list'), data: z.array(BatchError) }).optional(),
  output_file_id: z.string().optional().describe('The file with the answers, in the order of the requests.'),
  error_file_id: z.string().optional().describe('The file with the requests that failed or expired.'),
  created_at: z.int(),
  expires_at: z.int(),
  in_progress_at: seconds,
  finalizing_at: seconds,
  completed_at: seconds,
  failed_at: seconds,
  expired_at: seconds,
  cancelling_at: seconds,
  cancelled_at: seconds,
  request_counts: z.object({ total: z.int(), completed: z.int(), failed: z.int() }),
  usage: z.object({
    input_tokens: z.int(),
    input_tokens_details: z.object({ cached_tokens: z.int() }),
    output_tokens: z.int(),
    output_tokens_details: z.object({ reasoning_tokens: z.int() }),
    total_tokens: z.int(),
  }),
  metadata: z.record(z.string(), z.string()).nullable(),
});

/** A page of batches. */
export const BatchList = listOf(Batch);

/** The error of a batch whose task ended before it did. */
export const ABANDONED: BatchError = {
  code: 'task_ended',
  line: null,
  message: 'the task of the batch failed, or was cancelled or deleted, so the batch has no further answers',
  param: null,
};

/** Returns a batch in the form of OpenAI's API. */
export function batchObject(batch: ListedBatch): z.output<typeof Batch> {
  const errors = batch.isAbandoned
    ? [ABANDONED]
    : batch.errors === null
      ? []
      : (JSON.parse(batch.errors) as BatchError[]);
  return {
    id: batch.id,
    object: 'batch',
    endpoint: batch.endpoint,
    ...(batch.model !== null && { model: batch.model }),
    input_file_id: batch.input_file_id,
    completion_window: '24h',
    status: batch.isAbandoned ? 'failed' : batch.status,
    ...(errors.length > 0 && { errors: { object: 'list' as const, data: errors } }),
    ...(batch.output_file_id !== null && { output_file_id: batch.output_file_id }),
    ...(batch.error_file_id !== null && { error_file_id: batch.error_file_id }),
    created_at: secondsOf(batch.created_at),
    expires_at: secondsOf(batch.expires_at),
    ...timesOf(batch),
    request_counts: { total: batch.total, completed: batch.completed, failed: batch.failed },
    usage: {
      input_tokens: batch.input_tokens,
      input_tokens_details: { cached_tokens: batch.cached_tokens },
      output_tokens: batch.output_tokens,
      output_tokens_details: { reasoning_tokens: batch.reasoning_tokens },
      total_tokens: batch.input_tokens + batch.output_tokens,
    },
    metadata: batch.metadata === null ? null : (JSON.parse(batch.metadata) as Record<string, string>),
  };
}

const TIMES = [
  'in_progress_at',
  'finalizing_at',
  'completed_at',
  'failed_at',
  'expired_at',
  'cancelling_at',
  'cancelled_at',
] as const satisfies readonly (keyof ListedBatch)[];

function timesOf(batch: ListedBatch): Partial<Record<(typeof TIMES)[number], number>> {
  return Object.fromEntries(
    TIMES.flatMap((name) => {
      const time = batch[name];
      return time === null ? [] : [[name, secondsOf(time)]];
    }),
  );
}

const secondsOf = (ms: number): number => Math.floor(ms / 1000);

/** Returns what is found for the id of a batch. Throws `BatchNotFound` if it is nothing. */
export function requireBatch<T>(id: string, found: T): NonNullable<T> {
  if (found) return found;
  const shown = JSON.stringify(id.slice(0, 100));
  throw fail('BatchNotFound', `No batch found with id ${shown}.`, {
    data: { param: 'batch_id' },
  });
}
