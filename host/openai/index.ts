export {
  TranscriptionAnswer,
  transcriptionAnswer,
  TranslationAnswer,
  translationAnswer,
} from './audio/audio-answer.ts';
export { AUDIO_BLAME, transcriptionParams, translationParams } from './audio/audio-call.ts';
export { diarizedEvents, TranscriptionEvent, TranscriptionEvents } from './audio/audio-events.ts';
export {
  TRANSCRIPTION_FIELDS,
  TranscriptionRequest,
  TRANSLATION_FIELDS,
  TranslationRequest,
} from './audio/audio-fields.ts';
export { diarized } from './audio/speakers.ts';
export { blaming } from './blame.ts';
export { capabilitiesOf, type Capability } from './capabilities.ts';
export { ChatCompletion, chatCompletion } from './chat/chat-answer.ts';
export { chatArguments } from './chat/chat-call.ts';
export {
  OriginalChatChunk,
  OriginalChatCompletion,
  OriginalChatRequest,
  originalChatArguments,
  OriginalNotFound,
} from './chat/original-chat.ts';
export { ChatCompletionChunk, ChatChunks } from './chat/chat-chunks.ts';
export { CHAT_FIELDS, ChatRequest } from './chat/chat-fields.ts';
export type { RequestMessage } from './chat/messages.ts';
export { Completion, completionAnswer, type Completed } from './completions/completion-answer.ts';
export { completionPlan, type OnePrompt } from './completions/completion-call.ts';
export { CompletionChunk, CompletionChunks, usageChunk } from './completions/completion-chunks.ts';
export { COMPLETION_FIELDS, CompletionRequest } from './completions/completion-fields.ts';
export { openAiError, type OpenAiErrorBody } from './errors.ts';
export { type IdleField, invalidValue, readRequest, type RequestFields, unsupported } from './fields.ts';
export { formReader } from './form-input.ts';
export {
  deploymentFor,
  findModel,
  type ModelDirectory,
  onlyModels,
  resolveModel,
  type ServedModel,
} from './model-directory.ts';
export { describeModel, listModels, Model, ModelList } from './models.ts';
export { itemPage } from './responses/item-page.ts';
export type { Item } from './responses/items.ts';
export { readInput } from './responses/read-input.ts';
export { DeletedResponse, InputTokens, ItemList, ModelResponse, newResponse } from './responses/response-answer.ts';
export { inputTokensArguments, RESPONSE_BLAME, responseArguments } from './responses/response-call.ts';
export { ResponseEvent } from './responses/response-event.ts';
export {
  INPUT_TOKENS_FIELDS,
  InputTokensRequest,
  RESPONSE_FIELDS,
  ResponseRequest,
} from './responses/response-fields.ts';
export { readHistory, requireResponse, type ResponseStore } from './responses/response-store.ts';
export { ResponseWriter, wholeResponse } from './responses/response-writer.ts';
export {
  DETOKENIZE_FIELDS,
  Detokenized,
  DetokenizeRequest,
  TOKENIZE_FIELDS,
  tokenizeArguments,
  tokenized,
  Tokenized,
  type TokenizeOutput,
  TokenizeRequest,
} from './tokens/token-fields.ts';
export { EMBEDDING_FIELDS, EmbeddingRequest } from './vectors/embedding-fields.ts';
export {
  EMBEDDING_BLAME,
  type EmbeddedBatch,
  embeddingArguments,
  EmbeddingList,
  embeddingList,
} from './vectors/embeddings.ts';
export {
  documentsOf,
  type RankedDocuments,
  Ranking,
  rankingOf,
  RERANK_BLAME,
  RERANK_FIELDS,
  rerankArguments,
  RerankRequest,
} from './vectors/rerank.ts';
export { samplingFields } from './text/sampling-fields.ts';
export { type AnswerHead, newHead } from './text/values.ts';
