export * as z from 'zod/mini';
export * from '../schemas/index.ts';
export { Context, type Log, type LogFields, StreamContext } from './context.ts';
export { AsrDeployment, type ChatOptions, Deployment, type DeploymentArgs, LlmDeployment, type TokenCount } from './deployments.ts';
export { defineEndpoint, type Endpoint, type EndpointInfo, type StreamingEndpoint, type UnaryEndpoint } from './endpoint.ts';
export { Audio, Stream, Video, type VideoInfo } from './handles.ts';
export { type ErrorKind, HostError } from './host-error.ts';
export type { Plugin } from './plugin.ts';
