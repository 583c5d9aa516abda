export { buildOpenApi, type OpenApiOptions, type OpenApiParams } from './document.ts';
export type { ErrorBody } from './failures.ts';
export { DeferQuery, IdempotencyKey, type Task, type TaskId, TaskQuery } from './deferral.ts';
export {
  answers,
  DATABASE_FAILURES,
  type IdleField,
  type RouteDefinition,
  RUN_FAILURES,
  type RouteTag,
  STORED_FAILURES,
  tagOf,
  whereOf,
} from './route-definition.ts';
export { type AnswerOf, PATH_PARAMETERS } from './values.ts';
export { schemaExample } from './schema-example.ts';
