export { AanaApp, type AanaAppOptions } from './app.ts';
export { type Config, type ConfigInput, loadConfig, type LoadOptions } from './config/index.ts';
export { AanaError, type AanaErrorOptions, type ErrorKind } from './core/errors.ts';
export { createLogger, type LogFields, type Logger, type LoggerOptions, type LogLevel, silentLogger } from './core/logger.ts';
export {
  type CallOptions,
  type DeploymentDefinition,
  type DeploymentHandle,
  type DeploymentOptionsInput,
  LlamaTextGenerationDeployment,
  type MemoryNeed,
  type MethodDefinition,
  type PrepareContext,
  type ReplicaSpec,
  WhisperDeployment,
} from './deployments/index.ts';
export type { HostEndpointContext, HostEndpointDefinition } from './endpoints/index.ts';
export type { AppStatus } from './http/index.ts';
export { ModelStore, type ResolvedModel } from './models/index.ts';
export type { PluginState, ReloadOutcome } from './plugins/plugin-state.ts';
export * as schemas from './schemas/index.ts';
