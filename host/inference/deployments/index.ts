export { check } from './class/check.ts';
export type { DeploymentDefinition, PrepareContext, ReplicaSpec } from './class/deployment-definition.ts';
export { BaseTextGenerationDeployment } from './class/base-text-generation-deployment.ts';
export { type BoundDeployment, boundFrom, imageReaderOf, type OptionsOf } from './class/bound-deployment.ts';
export { type ConfigClass, configClass, type ConfigObject } from './class/config-class.ts';
export {
  type CallContext,
  Deployment,
  type DeploymentClass,
  type DeploymentContext,
  type Implements,
} from './class/deployment.ts';
export { type DeploymentDescription, describeMethods, type MethodDescription } from './class/describe.ts';
export type { InputType } from './class/embedding-methods.ts';
export type { CallOptions, DeploymentHandle } from './handle/deployment-handle.ts';
export {
  type Fallback,
  type ModelAlias,
  type ModelDirectory,
  type OnDemandModels,
  onlyModels,
  type ServedModel,
} from './handle/model-directory.ts';
export { type Bound, calleesFirst, callersOf, requireCallees, requireNoCycle } from './manager/call-graph.ts';
export type { ReplicaRange, UpdateReport } from './manager/deployment-changes.ts';
export {
  builtinDefinitions,
  DeploymentManager,
  type DeploymentManagerOptions,
  type DeploymentProgress,
  type DeployOptions,
  type StartOptions,
  type UpdateOptions,
} from './manager/deployment-manager.ts';
export { deploymentNotFound } from './manager/deployment-not-found.ts';
export type { HostDeployments, Readiness } from './routing/host-deployments.ts';
export { readinessOf } from './routing/host-deployments.ts';
export type { OnSilence } from './routing/other-hosts.ts';
export { RoutedDeployments } from './routing/routed-deployments.ts';
export type { TableChange } from './routing/table.ts';
export { DeviceReport } from './placement/device-plan.ts';
export { changedOptions, kindOfChange } from './manager/kind-of-change.ts';
export { checkAffinity } from './placement/affinity.ts';
export { defaultCpus } from './placement/cpu-plan.ts';
export { DeploymentOptions, type DeploymentOptionsInput, firstReplicas } from './class/deployment-options.ts';
export type { CallLimits } from './handle/limited-handle.ts';
export { HandleOptions, type HandleOptionsInput } from './handle/handle-options.ts';
export { CaptionConfig, CaptionDeployment } from './builtin/caption-deployment.ts';
export { LlamaEmbeddingConfig, LlamaEmbeddingDeployment } from './builtin/llama-embedding-deployment.ts';
export { LlamaRerankConfig, LlamaRerankDeployment } from './builtin/llama-rerank-deployment.ts';
export {
  LlamaTextGenerationConfig,
  LlamaTextGenerationDeployment,
} from './builtin/llama-text-generation-deployment.ts';
export { OcrConfig, OcrDeployment } from './builtin/onnx/ocr-deployment.ts';
export { OnnxConfig, OnnxDeployment } from './builtin/onnx/onnx-deployment.ts';
export {
  OpenAITextGenerationConfig,
  OpenAITextGenerationDeployment,
} from './builtin/openai-text-generation-deployment.ts';
export {
  SpeakerDiarizationConfig,
  SpeakerDiarizationDeployment,
} from './builtin/speech/speaker-diarization-deployment.ts';
export { VadConfig, VadDeployment } from './builtin/speech/vad-deployment.ts';
export { modelName } from './builtin/model-name.ts';
export type { MemoryNeed } from './builtin/memory-need.ts';
export {
  type HasMethods,
  type Input,
  method,
  type MethodDefinition,
  type MethodTable,
  type Output,
  streamingMethod,
} from './class/method.ts';
export { type AnyDeployment, type DescribedHandle, type HandleOf, withMethods } from './handle/typed-handle.ts';
export { TransformersConfig, TransformersDeployment } from './builtin/onnx/transformers-deployment.ts';
export {
  WhisperComputeType,
  WhisperConfig,
  WhisperDeployment,
  WhisperModelSize,
} from './builtin/speech/whisper-deployment.ts';
