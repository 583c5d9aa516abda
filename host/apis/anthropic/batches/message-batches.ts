import { ABANDONED, type BatchFormat, type BatchLine, prefixedId, type Told } from '../../openai/index.ts';
import { anthropicStatusOf } from '../anthropic-api.ts';
import { anthropicError } from '../errors.ts';
import { MESSAGE_OPERATION } from '../messages/message-run.ts';

/** The path of the requests. */
export const MESSAGES_PATH = '/v1/messages';

const result = (
  { customId }: BatchLine,
  outcome: Told['outcome'],
  given: { readonly type: string; readonly [member: string]: unknown },
): Told => ({
  file: 'output',
  outcome,
  json: JSON.stringify({ custom_id: customId, result: given }),
});

/** The batches of Anthropic's API. */
export const MESSAGE_BATCHES = {
  prefix: 'msgbatch_',
  operations: { [MESSAGES_PATH]: MESSAGE_OPERATION },
  isInputChecked: true,
  answered: (line, _id, message) => result(line, 'completed', { type: 'succeeded', message }),
  failed: (line, id, error) =>
    result(line, 'failed', { type: 'errored', error: anthropicError(error, anthropicStatusOf(error), id) }),
  unanswered: {
    cancelled: (line) => result(line, 'unanswered', { type: 'canceled' }),
    expired: (line) => result(line, 'unanswered', { type: 'expired' }),
    abandoned: (line) => {
      const error = { type: 'api_error', message: ABANDONED.message };
      const body = { type: 'error', error, request_id: prefixedId('batch_req_') };
      return result(line, 'failed', { type: 'errored', error: body });
    },
  },
} as const satisfies BatchFormat;
