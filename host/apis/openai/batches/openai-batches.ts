import { openAiError } from '../errors.ts';
import { openAiStatusOf } from '../http/openai-api.ts';
import { prefixedId } from '../text/values.ts';
import type { BatchFormat } from './batch-format.ts';
import type { BatchLine } from './batch-line.ts';
import { BATCH_OPERATIONS } from './batch-operations.ts';

const response = ({ customId }: BatchLine, id: string, status: number, body: object): string =>
  JSON.stringify({
    id,
    custom_id: customId,
    response: { status_code: status, request_id: id, body },
    error: null,
  });

/** The batches of OpenAI's API. */
export const OPENAI_BATCHES: BatchFormat = {
  prefix: 'batch_',
  operations: BATCH_OPERATIONS,
  answered: (line, id, answer) => ({
    file: 'output',
    outcome: 'completed',
    json: response(line, id, 200, answer),
  }),
  failed: (line, id, error) => ({
    file: 'error',
    outcome: 'failed',
    json: response(line, id, openAiStatusOf(error), openAiError(error)),
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
};
