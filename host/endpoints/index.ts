export { type Endpoint, type EndpointDescription, type EndpointRun, type UploadedFile, validationError } from './endpoint.ts';
export { fileKeys, findFileReferences } from './file-references.ts';
export { hostEndpoint, type HostEndpointContext, type HostEndpointDefinition } from './host-endpoint.ts';
export { invoke, type InvokeOptions } from './invoke.ts';
export { type EndpointSource, pluginEndpoints } from './plugin-endpoint.ts';
export { EndpointRegistry } from './registry.ts';
