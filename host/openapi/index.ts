export { buildOpenApi, type OpenApiOptions, type OpenApiParams } from './document.ts';
export { exampleFiles } from './endpoint-operation.ts';
export { PAGE_LIMITS } from './parts.ts';
export { schemaExample } from './schema-example.ts';
