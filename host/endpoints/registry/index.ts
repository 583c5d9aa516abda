export { ANSWER_BY } from '../../base/schemas/index.ts';
export { answerCasesOf, isRawAnswer, textAnswerOf, textTypesOf } from './answers.ts';
export { type AnswerHead, type AnswerSink, bytesAnswerOf, bytesTypesOf } from './bytes-answers.ts';
export { parseInput, type ServedEndpoint, type ServedOptions, type UploadedFile, validationError } from './endpoint.ts';
export { fileKeys, findFileReferences } from './file-references.ts';
export {
  hostEndpoint,
  type HostEndpointContext,
  type HostEndpointDefinition,
  type HostEndpointResult,
  isAsyncGenerator,
} from './host-endpoint.ts';
export { checkInput, invoke } from './invoke.ts';
export { inputOfQuery, methodOf, withPathParameters } from './parameters.ts';
export { type ChosenEndpoint, pluginEndpoints } from './plugin-endpoint.ts';
export { EndpointRegistry, isOwnPath } from './registry.ts';
