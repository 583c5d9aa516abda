export { type ErrorBody, HttpError } from './error-body.ts';
export { type AppStatus, createHttpApp, type HttpAppOptions } from './http-app.ts';
export { HttpServer, type HttpServerLimits } from './http-server.ts';
export { buildOpenApi, exampleFiles, type OpenApiOptions } from './openapi.ts';
export { schemaExample } from './schema-example.ts';
