import {
  CountTokensRequest,
  DeletedMessageBatch,
  Message,
  MessageBatch,
  MessageBatchesQuery,
  MessageBatchPage,
  MessageBatchRequest,
  MessageBatchResult,
  MessageEvent,
  MessagesRequest,
  TokenCount,
} from '../../anthropic/index.ts';
import { STORED_FAILURES } from './openai-routes.ts';
import { answers, type RouteDefinition } from '../route-definition.ts';

const RUN_FAILURES = [401, 403, 404, 429, 500, 503, 504] as const;

/** The routes of Anthropic's API. Their errors have Anthropic's form. */
export const ANTHROPIC_ROUTES = {
  messages: {
    id: 'create_message',
    method: 'post',
    path: '/v1/messages',
    summary: 'Answers a dialog, as in Anthropic’s API',
    tag: 'anthropic',
    body: MessagesRequest,
    answers: { 200: { description: 'The answer.', schema: Message, events: MessageEvent } },
    fails: RUN_FAILURES,
  },
  countTokens: {
    id: 'count_message_tokens',
    method: 'post',
    path: '/v1/messages/count_tokens',
    summary: 'Counts the tokens of the prompt of a dialog, as in Anthropic’s API',
    tag: 'anthropic',
    body: CountTokensRequest,
    answers: answers('The count.', TokenCount),
    fails: RUN_FAILURES,
  },
  createBatch: {
    id: 'create_message_batch',
    method: 'post',
    path: '/v1/messages/batches',
    summary: 'Answers dialogs in the background, within a day, as in Anthropic’s API',
    tag: 'anthropic',
    body: MessageBatchRequest,
    answers: answers('The batch.', MessageBatch),
    fails: [404, ...STORED_FAILURES],
  },
  listBatches: {
    id: 'list_message_batches',
    method: 'get',
    path: '/v1/messages/batches',
    summary: 'The batches of messages, the newest first',
    tag: 'anthropic',
    query: MessageBatchesQuery,
    answers: answers('A page of batches.', MessageBatchPage),
    fails: [400, ...STORED_FAILURES],
  },
  getBatch: {
    id: 'retrieve_message_batch',
    method: 'get',
    path: '/v1/messages/batches/{batch_id}',
    summary: 'A batch of messages',
    tag: 'anthropic',
    answers: answers('The batch.', MessageBatch),
    fails: [404, ...STORED_FAILURES],
  },
  cancelBatch: {
    id: 'cancel_message_batch',
    method: 'post',
    path: '/v1/messages/batches/{batch_id}/cancel',
    summary: 'Ends a batch of messages; requests that have an answer keep it',
    tag: 'anthropic',
    answers: answers('The batch, whose requests end now.', MessageBatch),
    fails: [404, 409, ...STORED_FAILURES],
  },
  deleteBatch: {
    id: 'delete_message_batch',
    method: 'delete',
    path: '/v1/messages/batches/{batch_id}',
    summary: 'Removes a batch of messages that has ended, with its results',
    tag: 'anthropic',
    answers: answers('What is removed.', DeletedMessageBatch),
    fails: [404, 409, ...STORED_FAILURES],
  },
  batchResults: {
    id: 'message_batch_results',
    method: 'get',
    path: '/v1/messages/batches/{batch_id}/results',
    summary: 'The results of a batch of messages that has ended',
    tag: 'anthropic',
    answers: {
      200: { description: 'A result in each line.', schema: MessageBatchResult, type: 'application/x-jsonl' },
    },
    fails: [404, 409, ...STORED_FAILURES],
  },
} as const satisfies Readonly<Record<string, RouteDefinition>>;
