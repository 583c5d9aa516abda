import { anthropicError, MESSAGE_OPERATION } from '../anthropic/index.ts';
import type { JsonLimits } from '../core/json/read-json.ts';
import { ABANDONED, BATCH_OPERATIONS, type BatchOperation, openAiError, prefixedId } from '../openai/index.ts';
import type { BatchAnswer } from '../storage/index.ts';
import type { BatchLine } from './batch-line.ts';

/** Whose batches they are. */
export type BatchApi = 'openai' | 'anthropic';

/** Why nothing answers a request of a batch any more. */
export type EndReason = 'cancelled' | 'expired' | 'abandoned';

/** What is told about a request: a line of a file. */
type Told = Pick<BatchAnswer, 'file' | 'outcome' | 'json'>;

/** How an API names its batches and tells the answers to their requests. */
export interface BatchFormat {
  /** The beginning of the ids. */
  readonly prefix: string;
  readonly operations: Readonly<Record<string, BatchOperation>>;
  /** What lines of inputs may be, where that is not what the requests of a route may be. */
  readonly inputLimits?: JsonLimits;
  /** `id` is that of the request. */
  answered(line: BatchLine, id: string, answer: object): Told;
  failed(line: BatchLine, id: string, error: unknown, status: number): Told;
  /** What is told about requests without an answer; nothing for other reasons. */
  readonly unanswered: Readonly<Partial<Record<EndReason, (line: BatchLine) => Told>>>;
}

/** The path of the requests of Anthropic's batches. */
export const MESSAGES_PATH = '/v1/messages';

/** The limits of lines that the host wrote from a request which was within its limits. */
const CHECKED: JsonLimits = { max_json_bytes: Infinity, max_json_depth: Infinity, max_json_elements: Infinity };

const response = ({ customId }: BatchLine, id: string, status: number, body: object): string =>
  JSON.stringify({
    id,
    custom_id: customId,
    response: { status_code: status, request_id: id, body },
    error: null,
  });

const result = (
  { customId }: BatchLine,
  outcome: Told['outcome'],
  given: { readonly type: string; readonly [member: string]: unknown },
): Told => ({
  file: 'output',
  outcome,
  json: JSON.stringify({ custom_id: customId, result: given }),
});

export const BATCH_FORMATS: Readonly<Record<BatchApi, BatchFormat>> = {
  openai: {
    prefix: 'batch_',
    operations: BATCH_OPERATIONS,
    answered: (line, id, answer) => ({
      file: 'output',
      outcome: 'completed',
      json: response(line, id, 200, answer),
    }),
    failed: (line, id, error, status) => ({
      file: 'error',
      outcome: 'failed',
      json: response(line, id, status, openAiError(error)),
    }),
    unanswered: {
      expired: ({ customId }) => {
        const error = {
          code: 'batch_expired',
          message: 'This request could not be executed before the completion window expired.',
        };
        const json = JSON.stringify({ id: prefixedId('batch_req_'), custom_id: customId, response: null, error });
        return { file: 'error', outcome: 'failed', json };
      },
    },
  },
  anthropic: {
    prefix: 'msgbatch_',
    operations: { [MESSAGES_PATH]: MESSAGE_OPERATION },
    inputLimits: CHECKED,
    answered: (line, _id, message) => result(line, 'completed', { type: 'succeeded', message }),
    failed: (line, id, error, status) =>
      result(line, 'failed', { type: 'errored', error: anthropicError(error, status, id) }),
    unanswered: {
      cancelled: (line) => result(line, 'unanswered', { type: 'canceled' }),
      expired: (line) => result(line, 'unanswered', { type: 'expired' }),
      abandoned: (line) => {
        const error = { type: 'api_error', message: ABANDONED.message };
        const body = { type: 'error', error, request_id: prefixedId('batch_req_') };
        return result(line, 'failed', { type: 'errored', error: body });
      },
    },
  },
};

/** Returns the API of the batches of an endpoint. */
export const apiOf = (endpoint: string): BatchApi => (endpoint === MESSAGES_PATH ? 'anthropic' : 'openai');
