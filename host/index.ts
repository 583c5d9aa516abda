export {
  type ApiKeyInfo,
  type ApiKeys,
  type KeyChangesInput,
  type NewKeyInput,
  RateLimitHandler,
} from './data/access/index.ts';
export { AanaApp } from './application/app.ts';
export type { AanaAppOptions, ConnectOptions, DeployOptions } from './application/app-options.ts';
export type { BuildOptions } from './application/module/build-config.ts';
export { Endpoint, type RunRemoteOptions } from './application/endpoint/endpoint.ts';
export type { Helper } from './base/modules/index.ts';
export type {
  ClassEndpoint,
  ComponentEndpoint,
  EndpointOptions,
  EndpointRegistration,
  EventHandler,
  FunctionEndpoint,
} from './application/endpoint/endpoint-registration.ts';
export {
  type AttachOptions,
  type AudioSource,
  connect,
  type LogOptions,
  type RunningApplication,
} from './apis/control/client/index.ts';
export { type Config, type ConfigInput, loadConfig, type LoadOptions } from './base/config/index.ts';
export type { HeldAudio } from './apis/control/index.ts';
export type { ApplicationReport, DeploymentMethods, DeploymentReport, ReplicaReport } from './apis/http/index.ts';
export { AanaError, type AanaErrorOptions, type ErrorKind } from './base/core/errors.ts';
export type {
  Attributes,
  Counter,
  Gauge,
  Histogram,
  InstrumentOptions,
  Span,
  SpanAttributes,
  SpanKind,
  SpanOptions,
  Telemetry,
} from './base/core/telemetry.ts';
export {
  createLogger,
  type LogFields,
  type Logger,
  type LoggerOptions,
  type LogLevel,
  silentLogger,
} from './base/core/log/logger.ts';
export {
  BaseTextGenerationDeployment,
  type BoundDeployment,
  type CallContext,
  type CallLimits,
  type CallOptions,
  CaptionConfig,
  CaptionDeployment,
  type ConfigClass,
  configClass,
  type ConfigObject,
  Deployment,
  type DeploymentClass,
  type DeploymentContext,
  type DeploymentDefinition,
  type DeploymentDescription,
  type DeploymentHandle,
  type DeploymentOptionsInput,
  type DescribedHandle,
  type HandleOf,
  type HandleOptionsInput,
  type Implements,
  type Input,
  LlamaEmbeddingConfig,
  LlamaEmbeddingDeployment,
  LlamaRerankConfig,
  LlamaRerankDeployment,
  LlamaTextGenerationConfig,
  LlamaTextGenerationDeployment,
  OcrConfig,
  OcrDeployment,
  OnnxConfig,
  OnnxDeployment,
  OpenAITextGenerationConfig,
  OpenAITextGenerationDeployment,
  type MemoryNeed,
  method,
  type MethodDefinition,
  type MethodDescription,
  type MethodTable,
  type OptionsOf,
  type Output,
  type PrepareContext,
  type ReplicaRange,
  type ReplicaSpec,
  SpeakerDiarizationConfig,
  SpeakerDiarizationDeployment,
  streamingMethod,
  type UpdateOptions,
  type UpdateReport,
  TransformersConfig,
  TransformersDeployment,
  VadConfig,
  VadDeployment,
  WhisperComputeType,
  WhisperConfig,
  WhisperDeployment,
  WhisperModelSize,
} from './inference/deployments/index.ts';
export type { HostEndpointContext, HostEndpointResult } from './endpoints/registry/index.ts';
export type { AppMiddleware, AppStatus, RouterLike } from './apis/http/index.ts';
export type { OpenApiParams } from './apis/openapi/index.ts';
export type {
  FrameFile,
  HeldFrame,
  HeldImage,
  HeldVideo,
  MediaSource,
  OpenAudioOptions,
  OpenImageOptions,
  OpenVideoOptions,
} from './io/media/index.ts';
export { type DocumentText, readDocument, type ReadDocumentOptions } from './io/documents/index.ts';
export { ModelStore, type ResolvedModel } from './setup/models/index.ts';
export { InferenceException } from './inference/replicas/index.ts';
export type {
  AppliedMigration,
  FoundChunk,
  MigrationSource,
  Repositories,
  Storage,
  VectorChunk,
  VectorCollection,
  VectorFilter,
  VectorSearch,
} from './data/storage/index.ts';
export * as schemas from './base/schemas/index.ts';
export {
  splitText,
  type SplitTextOptions,
  splitTranscript,
  type SplitTranscriptOptions,
  type DocumentChunk,
  type TokenCounter,
  type TranscriptChunk,
} from './base/splitting/index.ts';
export * as transcripts from './base/transcripts/index.ts';
export { z } from 'zod';
export type { PluginState, ReloadOutcome } from './endpoints/plugins/set/plugin-state.ts';
