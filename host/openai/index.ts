export { absenceOf, ABSENT_ROUTES } from './absent-routes.ts';
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
export { audioBytes, audioOfInput, audioOfMessages, type AudioPart } from './audio/audio-input.ts';
export {
  checkReferenceLength,
  referencesBlame,
  type SpeakerReference,
  speakerReferences,
} from './audio/known-speakers.ts';
export { diarized } from './audio/speakers.ts';
export { base64Bytes } from './base64.ts';
export { BATCH_FIELDS, BatchRequest } from './batches/batch-fields.ts';
export {
  ABANDONED,
  Batch,
  BatchError,
  type BatchFacts,
  BatchList,
  batchObject,
  requireBatch,
} from './batches/batch-object.ts';
export { BATCH_OPERATIONS, type BatchOperation, batchOperation, type BatchScope } from './batches/batch-operations.ts';
export { batchUsageOf, NO_USAGE } from './batches/batch-usage.ts';
export { type Blame, blamed, blaming } from './blame.ts';
export { capabilitiesOf, type Capability } from './capabilities.ts';
export { ChatCompletion } from './chat/chat-answer.ts';
export { chatCall, prefixOf, type PromptedRequest } from './chat/chat-call.ts';
export { ChatChunks, ChatCompletionChunk } from './chat/chat-chunks.ts';
export { CHAT_FIELDS, ChatRequest } from './chat/chat-fields.ts';
export { answerChat, chatRun } from './chat/chat-run.ts';
export { RequestMessage } from './chat/messages.ts';
export {
  originalChatArguments,
  OriginalChatChunk,
  OriginalChatCompletion,
  OriginalChatRequest,
  OriginalNotFound,
} from './chat/original-chat.ts';
export { Completion } from './completions/completion-answer.ts';
export { CompletionChunk, CompletionChunks, usageChunk } from './completions/completion-chunks.ts';
export { COMPLETION_FIELDS, CompletionRequest } from './completions/completion-fields.ts';
export { answerCompletion, completionRun } from './completions/completion-run.ts';
export { fillOf } from './completions/fill.ts';
export { openAiError } from './errors.ts';
export { headerName, invalidValue, MAX_IGNORED, readRequest, type RequestFields, unsupported } from './fields.ts';
export { FILE_FIELDS, FileRequest } from './files/file-fields.ts';
export { type FilePart, filesOfInput, filesOfMessages, type NamedBytes, textOf } from './files/file-input.ts';
export { DeletedFile, FileList, fileName, FileObject, fileObject, requireFile } from './files/file-object.ts';
export { formReader } from './form-input.ts';
export { hostedPart, type HostedPart, hostedParts } from './hosted-parts.ts';
export { type HostedTools, type HostedToolsPolicy, placedTools, toolPlaces } from './hosted-tools.ts';
export { type ImagePart, ImageParts, inlineImage, type OpenImages, refuseImages } from './images/image-part.ts';
export { checkCursor, isIdWith, listPage } from './list-page.ts';
export { answerOf, type ModelCall, piecesOf, withDetails, withPromptTokens } from './model-call.ts';
export { deploymentFor, findModel, resolveModel } from './model-directory.ts';
export { describeModel, listModels, Model, ModelList } from './models.ts';
export { BatchesQuery, FilesQuery, InputItemsQuery, RealtimeQuery, ResponseQuery } from './queries.ts';
export { appendedAudio, type ClientEvent, eventIdOf, readClientEvent } from './realtime/client-events.ts';
export {
  CLIENT_SECRET_FIELDS,
  ClientSecretAnswer,
  ClientSecretRequest,
  secretSeconds,
} from './realtime/client-secret.ts';
export { identified, type NewServerEvent, RealtimeServerEvent } from './realtime/server-events.ts';
export { AudioFormat } from './realtime/session-fields.ts';
export {
  firstSettings,
  type SessionFacts,
  sessionObject,
  type SessionSettings,
  updatedSettings,
} from './realtime/session.ts';
export { CommittedTurn, type Conversation, DetectedTurns, errorEvent, type Turns } from './realtime/turns.ts';
export { BackgroundResponses, type UserBackground } from './responses/background/background-responses.ts';
export { backgroundWork } from './responses/background/background-work.ts';
export { DeletedResponse, InputTokens, ItemList, ModelResponse } from './responses/response-answer.ts';
export { inputTokensCall } from './responses/response-call.ts';
export { ResponseEvent } from './responses/response-event.ts';
export {
  INPUT_TOKENS_FIELDS,
  InputTokensRequest,
  RESPONSE_FIELDS,
  ResponseRequest,
} from './responses/response-fields.ts';
export { answerResponse, type Dialogs, readItems, responseRun, type ResponseRun } from './responses/response-run.ts';
export { ResponseWriter } from './responses/response-writer.ts';
export { itemPage } from './responses/stored/item-page.ts';
export { requireResponse, type ResponseStore } from './responses/stored/response-store.ts';
export { ResponseStores } from './responses/stored/response-stores.ts';
export type { RunContext } from './run-context.ts';
export { samplingFields } from './text/sampling-fields.ts';
export { type AnswerHead, newHead, prefixedId } from './text/values.ts';
export {
  DETOKENIZE_FIELDS,
  Detokenized,
  DetokenizeRequest,
  TOKENIZE_FIELDS,
  tokenizeCall,
  Tokenized,
  tokenized,
  type TokenizeOutput,
  TokenizeRequest,
} from './tokens/token-fields.ts';
export {
  COMPLETE_FIELDS,
  CompletionOfUpload,
  PART_FIELDS,
  PartRequest,
  UPLOAD_FIELDS,
  UploadRequest,
} from './uploads/upload-fields.ts';
export { partObject, PartObject, requireUpload, uploadObject, UploadObject } from './uploads/upload-object.ts';
export { EMBEDDING_FIELDS, EmbeddingRequest } from './vectors/embedding-fields.ts';
export { answerEmbeddings } from './vectors/embedding-run.ts';
export { EmbeddingList } from './vectors/embeddings.ts';
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
