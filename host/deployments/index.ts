export type { DeploymentDefinition, MethodDefinition, ModelSource, PrepareContext, PullOptions, ReplicaSpec } from './deployment-definition.ts';
export type { CallOptions, DeploymentHandle } from './deployment-handle.ts';
export { builtinDefinitions, defaultThreads, DeploymentManager, type DeploymentManagerOptions, type DeploymentProgress } from './deployment-manager.ts';
export { DeploymentOptions, type DeploymentOptionsInput } from './deployment-options.ts';
export { LlamaTextGenerationConfig, LlamaTextGenerationDeployment } from './llama-text-generation-deployment.ts';
export type { MemoryNeed } from './memory-need.ts';
export { WhisperConfig, WhisperDeployment } from './whisper-deployment.ts';
