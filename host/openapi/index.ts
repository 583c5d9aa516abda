export { buildOpenApi, type OpenApiOptions, type OpenApiParams } from './document.ts';
export { exampleFiles } from './endpoint-operation.ts';
export type { ErrorBody } from './failures.ts';
export {
  ADMIN_TASK_ROUTES,
  ADMIN_WEBHOOK_ROUTES,
  type AnyAttempt,
  type AnyTask,
  type AnyWebhook,
} from './routes/admin-routes.ts';
export { DeferQuery, IdempotencyKey, TaskQuery } from './routes/deferral.ts';
export { KEY_ROUTES } from './routes/key-routes.ts';
export { MCP_ROUTE } from './routes/mcp-routes.ts';
export { CHANGE_ROUTES } from './routes/change-routes.ts';
export { type ModelReport, MODEL_ROUTES, type PullEvent } from './routes/model-routes.ts';
export { type ApplicationState, OPERATION_ROUTES } from './routes/operation-routes.ts';
export { LIVE_ROUTE, REALTIME_ROUTE } from './routes/live-routes.ts';
export type { RouteDefinition } from './routes/route-definition.ts';
export { ANTHROPIC_ROUTES } from './routes/anthropic-routes.ts';
export { OPENAI_ROUTES } from './routes/openai-routes.ts';
export { type AppStatus, SYSTEM_ROUTES } from './routes/system-routes.ts';
export { TRACE_ROUTES } from './routes/trace-routes.ts';
export { type Attempt, type Task, TASK_ROUTES, type TaskCounts, type TaskId } from './routes/task-routes.ts';
export { type AnswerOf, PATH_PARAMETERS } from './routes/values.ts';
export { type Delivery, type Webhook, WEBHOOK_ROUTES } from './routes/webhook-routes.ts';
export { schemaExample } from './schema-example.ts';
