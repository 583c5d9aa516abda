// `aana-host/deployment`: the API for deployment classes and helpers. It imports nothing of the server, because their
// processes load it.
export { AanaError, type AanaErrorOptions, type ErrorKind } from '../../../base/core/errors.ts';
export type { LogFields, Logger } from '../../../base/core/log/logger.ts';
export { defineHelper, type Helper } from '../../../base/modules/helper.ts';
export { InferenceException } from '../../replicas/process/inference-exception.ts';
export * as schemas from '../../../base/schemas/index.ts';
export { BaseTextGenerationDeployment } from './base-text-generation-deployment.ts';
export type { BoundDeployment, OptionsOf } from './bound-deployment.ts';
export type { BatchLimits } from './host-batches.ts';
export { type ConfigClass, configClass, type ConfigObject } from './config-class.ts';
export {
  type BatchContext,
  type BatchStep,
  type CallContext,
  Deployment,
  type DeploymentClass,
  type DeploymentContext,
  type Implements,
  type LoadedModel,
  type Multiplexed,
  STREAM_END,
} from './deployment.ts';
export type { CallLimits } from '../handle/limited-handle.ts';
export type { HandleOptionsInput } from '../handle/handle-options.ts';
export type { HandleOf } from '../handle/typed-handle.ts';
export { type Input, method, type MethodDefinition, type MethodTable, type Output, streamingMethod } from './method.ts';
export { z } from 'zod';
