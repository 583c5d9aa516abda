export {
  type ApiKeyInfo,
  type ApiKeys,
  type KeyChangesInput,
  type NewKeyInput,
  RateLimitHandler,
} from './access/index.ts';
export { AanaApp } from './application/app.ts';
export type { AanaAppOptions, ConnectOptions, DeployOptions } from './application/app-options.ts';
export type { BuildOptions } from './application/module/build-config.ts';
export { Endpoint } from './application/endpoint/endpoint.ts';
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
} from './control/client/index.ts';
export { type Config, type ConfigInput, loadConfig, type LoadOptions } from './config/index.ts';
export type { HeldAudio } from './control/index.ts';
export type { ApplicationReport, DeploymentMethods, DeploymentReport, ReplicaReport } from './http/index.ts';
export { AanaError, type AanaErrorOptions, type ErrorKind } from './core/errors.ts';
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
} from './core/telemetry.ts';
export {
  createLogger,
  type LogFields,
  type Logger,
  type LoggerOptions,
  type LogLevel,
  silentLogger,
} from './core/log/logger.ts';
export {
  BaseTextGenerationDeployment,
  type BoundDeployment,
  type CallContext,
  type CallOptions,
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
  VadConfig,
  VadDeployment,
  WhisperComputeType,
  WhisperConfig,
  WhisperDeployment,
  WhisperModelSize,
} from './deployments/index.ts';
export type { HostEndpointContext, HostEndpointResult } from './endpoints/index.ts';
export type { AppMiddleware, AppStatus, RouterLike } from './http/index.ts';
export type { OpenApiParams } from './openapi/index.ts';
export type { HeldImage, MediaSource, OpenAudioOptions, OpenImageOptions } from './media/index.ts';
export { ModelStore, type ResolvedModel } from './models/index.ts';
export { InferenceException } from './replicas/index.ts';
export type { AppliedMigration, MigrationSource, Repositories, Storage } from './storage/index.ts';
export * as schemas from './schemas/index.ts';
export * as transcripts from './transcripts/index.ts';
export { z } from 'zod';
export type { PluginState, ReloadOutcome } from './plugins/set/plugin-state.ts';
