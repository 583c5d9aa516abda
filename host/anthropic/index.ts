export { chatRequest, countCall, promptRequest } from './chat-request.ts';
export { anthropicError, type AnthropicErrorBody } from './errors.ts';
export { Message, messageOf, TokenCount } from './message.ts';
export { MessageEvent, MessageEvents } from './message-events.ts';
export { ModelInfo, modelInfoOf, ModelInfoPage, modelPage, ModelsQuery } from './models.ts';
export { COUNT_TOKENS_FIELDS, CountTokensRequest, MESSAGES_FIELDS, MessagesRequest } from './message-fields.ts';
