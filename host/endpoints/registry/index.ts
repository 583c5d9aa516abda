export { ANSWER_BY } from '../../base/schemas/index.ts';
export { answerCasesOf, isTextAnswer, type TextAnswer, textAnswerOf, textTypesOf } from './answers.ts';
export {
  type EndpointRun,
  parseInput,
  type ServedEndpoint,
  type ServedOptions,
  type UploadedFile,
  validationError,
} from './endpoint.ts';
export { fileKeys, findFileReferences } from './file-references.ts';
export {
  hostEndpoint,
  type HostEndpointContext,
  type HostEndpointDefinition,
  type HostEndpointResult,
  isAsyncGenerator,
} from './host-endpoint.ts';
export { checkInput, invoke, type InvokeOptions } from './invoke.ts';
export { type ChosenEndpoint, type EndpointSource, pluginEndpoints } from './plugin-endpoint.ts';
export { EndpointRegistry, isOwnPath, type PluginOrigin } from './registry.ts';
