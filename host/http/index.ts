export { type ErrorBody, HttpError } from './error-body.ts';
export { type AppMiddleware, createHttpFace, type HttpFace } from './http-app.ts';
export { HttpServer, type HttpServerLimits, type ListeningAt } from './http-server.ts';
export { socketPath } from './listening.ts';
export { buildOpenApi, exampleFiles, type OpenApiOptions, type OpenApiParams } from './openapi.ts';
export { renderErrorDocs } from './render-error-docs.ts';
export type { AppStatus, HttpAppOptions } from './options.ts';
export { type RouterLike, RouterSet } from './routers.ts';
export { schemaExample } from './schema-example.ts';
