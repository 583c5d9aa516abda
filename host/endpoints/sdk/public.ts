export * as z from 'zod/mini';
export * from '../../base/schemas/index.ts';
export * from '../../base/transcripts/index.ts';
export * from '../../base/splitting/index.ts';
export type { Capability } from './capabilities/capabilities.ts';
export { asBytes, BytesAnswer, type BytesOptions } from './capabilities/bytes-answer.ts';
export {
  type Claim,
  citedClaims,
  type CitingOptions,
  claimSchema,
  type SourcePart,
} from './capabilities/cited-claims.ts';
export { Context, type Log, type LogFields, StreamContext } from './context.ts';
export {
  type Asr,
  AsrDeployment,
  type ChunksOptions,
  type ChatOptions,
  Deployment,
  type DeploymentArgs,
  type DeploymentOptions,
  type Diarization,
  type DialogInput,
  DiarizationDeployment,
  type Llm,
  LlmDeployment,
  type MessagePart,
  type TokenCount,
  type Vad,
  VadDeployment,
} from './capabilities/deployments.ts';
export {
  type ContextOf,
  defineEndpoint,
  type Endpoint,
  type EndpointInfo,
  type StreamingEndpoint,
  type UnaryEndpoint,
} from './endpoint.ts';
export {
  Audio,
  type Frame,
  type FrameFile,
  Frames,
  Image,
  Stream,
  Video,
  type VideoInfo,
  type VideoMetadata,
} from './capabilities/handles.ts';
export { defineHelper, type Helper, type HelperDefinition } from './capabilities/helper.ts';
export { type ErrorKind, HostError } from './host-error.ts';
export { type Ocr, OcrDeployment } from './capabilities/ocr-deployment.ts';
export type { Plugin, PluginOptions } from './plugin.ts';
export type {
  CaptionRecord,
  NewCaption,
  NewTranscript,
  NewVideo,
  Repositories,
  RepositoriesWrite,
  Stored,
  TranscriptInfo,
  TranscriptRecord,
  VideoRecord,
} from './capabilities/repositories.ts';
export { Settings } from './capabilities/settings.ts';
export { Storage, type StoredEntry, type StoredFacts, type StoreOptions } from './capabilities/storage.ts';
export {
  type Embedder,
  EmbeddingDeployment,
  type Embedding,
  type Embeddings,
  type EmbedOptions,
  type Ranking,
  RerankDeployment,
  type Reranker,
  type RerankOptions,
} from './capabilities/retrieval-deployments.ts';
export type { Metadata, MetadataValue, VectorFilter } from '../../base/schemas/vectors/vector-filter.ts';
export { UploadedFile } from './capabilities/uploads.ts';
export {
  type CollectionFacts,
  type FoundChunk,
  type StoredChunk,
  type VectorChunk,
  VectorCollection,
  Vectors,
  type VectorSearch,
  type VectorSpace,
} from './capabilities/vectors.ts';
