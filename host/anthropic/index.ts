export {
  checkRequests,
  DeletedMessageBatch,
  MESSAGE_BATCH_FIELDS,
  MessageBatch,
  messageBatch,
  MessageBatchesQuery,
  MessageBatchPage,
  MessageBatchRequest,
  MessageBatchResult,
  requireEnd,
} from './batches.ts';
export { countCall, promptRequest } from './chat-request.ts';
export { anthropicError, type AnthropicErrorBody } from './errors.ts';
export { Message, TokenCount } from './message.ts';
export { MessageEvent, MessageEvents } from './message-events.ts';
export { answerMessage, MESSAGE_OPERATION, messageRun } from './message-run.ts';
export { ModelInfo, modelInfoOf, ModelInfoPage, modelPage, ModelsQuery } from './models.ts';
export { COUNT_TOKENS_FIELDS, CountTokensRequest, MESSAGES_FIELDS, MessagesRequest } from './message-fields.ts';
export { page } from './pages.ts';
