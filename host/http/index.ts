export { HttpError } from './response/error-body.ts';
export { type AppMiddleware, createHttpFace, type HttpFace } from './http-app.ts';
export { HttpServer, type HttpServerLimits, type ListeningAt } from './server/http-server.ts';
export { socketPath } from './server/listening.ts';
export { openAiStatusOf } from './response/status.ts';
export { renderErrorDocs } from './response/render-error-docs.ts';
export type { HttpAppOptions } from './options.ts';
export type { AppStatus } from '../openapi/index.ts';
export { type RouterLike, RouterSet } from './routes/routers.ts';
