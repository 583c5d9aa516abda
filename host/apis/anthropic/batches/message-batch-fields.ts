import * as z from 'zod';
import { fail } from '../../../base/core/errors.ts';
import { invalidValue, type ListedBatch, type RequestFields } from '../../openai/index.ts';
import { anyObject, MAX_NAME } from '../../../base/schemas/index.ts';
import { Message } from '../messages/message.ts';
import { pageOf } from '../pages.ts';

/** The most that the setting `openai.batches.maximum_requests` can allow. */
const MAX_REQUESTS = 1_000_000;

const CUSTOM_ID = 'Input should be 1 to 64 letters, digits, underscores and hyphens';

/** The parameters of `POST /v1/messages/batches`. */
export const MessageBatchRequest = z.object({
  requests: z
    .array(
      z.object({
        custom_id: z
          .string()
          .max(64, CUSTOM_ID)
          .regex(/^[a-zA-Z0-9_-]+$/, CUSTOM_ID)
          .describe('Unique in the batch.'),
        params: anyObject.check(z.describe('A request of `POST /v1/messages`. It is checked when its turn comes.')),
      }),
    )
    .min(1)
    .max(MAX_REQUESTS)
    .describe('`custom_id`, and the request as `params`.'),
});
export type MessageBatchRequest = z.output<typeof MessageBatchRequest>;

/** All parameters of `POST /v1/messages/batches`. */
export const MESSAGE_BATCH_FIELDS = { schema: MessageBatchRequest, idle: {} } as const satisfies RequestFields;

/** Throws `InvalidParameter` for too many requests, and for a `custom_id` that an earlier request has. */
export function checkRequests({ requests }: MessageBatchRequest, most: number): void {
  if (requests.length > most)
    throw invalidValue('requests', `a batch may have ${most} requests (openai.batches.maximum_requests)`);
  const ids = new Set<string>();
  for (const [n, { custom_id: id }] of requests.entries()) {
    if (ids.has(id)) throw invalidValue(`requests[${n}].custom_id`, 'an earlier request has it');
    ids.add(id);
  }
}

const cursor = (what: string) =>
  z
    .string()
    .max(MAX_NAME)
    .regex(/^msgbatch_[0-9a-f]{32}$/, 'Input should be the id of a batch')
    .optional()
    .describe(`The id of the batch ${what} the page, which may be gone.`);

/** The query of `GET /v1/messages/batches`. */
export const MessageBatchesQuery = z.object({
  limit: z.int().min(1).max(1000).default(20).describe('Batches of a page: 1 to 1000. Default: 20.'),
  after_id: cursor('before'),
  before_id: cursor('behind'),
});
export type MessageBatchesQuery = z.output<typeof MessageBatchesQuery>;

const time = z.string().meta({ format: 'date-time' });
const count = z.int().min(0);

/** A batch as an answer. */
export const MessageBatch = z.object({
  id: z.string(),
  type: z.literal('message_batch'),
  processing_status: z.enum(['in_progress', 'canceling', 'ended']),
  request_counts: z
    .object({ processing: count, succeeded: count, errored: count, canceled: count, expired: count })
    .describe('All are `processing` until the batch has ended.'),
  created_at: time,
  expires_at: time,
  ended_at: time.nullable(),
  cancel_initiated_at: time.nullable(),
  archived_at: z.null(),
  results_url: z.string().nullable().describe('Null until the batch has ended.'),
});
type MessageBatch = z.input<typeof MessageBatch>;

export const MessageBatchPage = pageOf(MessageBatch);

/** The answer to the removal of a batch. */
export const DeletedMessageBatch = z.object({ id: z.string(), type: z.literal('message_batch_deleted') });

/** A line of the results of a batch. */
export const MessageBatchResult = z.object({
  custom_id: z.string(),
  result: z.discriminatedUnion('type', [
    z.object({ type: z.literal('succeeded'), message: Message }),
    z.object({ type: z.literal('errored'), error: z.unknown().describe('The body of the error of the route.') }),
    z.object({ type: z.literal('canceled') }),
    z.object({ type: z.literal('expired') }),
  ]),
});

/** Returns a batch in the form of Anthropic's API. */
export function messageBatch(batch: ListedBatch, resultsUrl: string): MessageBatch {
  const endedAt = endOf(batch);
  const isEnded = hasEnded(batch);
  return {
    id: batch.id,
    type: 'message_batch',
    processing_status: isEnded ? 'ended' : batch.status === 'cancelling' ? 'canceling' : 'in_progress',
    request_counts: isEnded ? countsOf(batch) : { ...NO_COUNTS, processing: batch.total },
    created_at: timeOf(batch.created_at),
    expires_at: timeOf(batch.expires_at),
    ended_at: endedAt === null ? null : timeOf(endedAt),
    cancel_initiated_at: batch.cancelling_at === null ? null : timeOf(batch.cancelling_at),
    archived_at: null,
    results_url: isEnded ? resultsUrl : null,
  };
}

/** Throws `BatchNotEnded`. */
export function requireEnd(batch: ListedBatch): void {
  if (!hasEnded(batch)) throw fail('BatchNotEnded', `the batch ${batch.id} has not ended; wait for it or cancel it`);
}

const hasEnded = (batch: ListedBatch): boolean => batch.isAbandoned || endOf(batch) !== null;

const endOf = (batch: ListedBatch): number | null =>
  batch.completed_at ?? batch.cancelled_at ?? batch.expired_at ?? batch.failed_at;

const NO_COUNTS = { processing: 0, succeeded: 0, errored: 0, canceled: 0, expired: 0 };

function countsOf(batch: ListedBatch): typeof NO_COUNTS {
  const { isAbandoned, status, total, completed: succeeded, failed: errored } = batch;
  if (isAbandoned) return { ...NO_COUNTS, errored: total };
  const open = total - succeeded - errored;
  return { ...NO_COUNTS, succeeded, errored, [status === 'cancelled' ? 'canceled' : 'expired']: open };
}

const timeOf = (ms: number): string => new Date(ms).toISOString();
