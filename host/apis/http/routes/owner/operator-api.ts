import type * as z from 'zod';
import type { ADMIN_TASK_ROUTES, ADMIN_WEBHOOK_ROUTES } from '../admin/admin-definitions.ts';
import type { KEY_ROUTES } from '../admin/api-key-definitions.ts';
import type { CHANGE_ROUTES } from '../admin/change-definitions.ts';
import type { MODEL_ROUTES } from '../admin/model-definitions.ts';
import type { OPERATION_ROUTES, PROFILE_ROUTES } from '../admin/operation-definitions.ts';
import type { TRACE_ROUTES } from '../admin/trace-definitions.ts';
import type { RouteDefinition } from '../../../openapi/route-definition.ts';
import type { ParametersIn } from '../serve-route.ts';
import type { VERSION_ROUTE } from '../system-routes.ts';
import type { OWNER_ROUTES } from './owner-definitions.ts';

type ValueOf<T> = T[keyof T];
type Definition =
  | ValueOf<typeof OPERATION_ROUTES>
  | ValueOf<typeof PROFILE_ROUTES>
  | ValueOf<typeof CHANGE_ROUTES>
  | ValueOf<typeof TRACE_ROUTES>
  | ValueOf<typeof KEY_ROUTES>
  | ValueOf<typeof MODEL_ROUTES>
  | ValueOf<typeof ADMIN_TASK_ROUTES>
  | ValueOf<typeof ADMIN_WEBHOOK_ROUTES>
  | ValueOf<typeof OWNER_ROUTES>
  | VERSION_ROUTE;
type Named = { readonly [Route in Definition as Route['at']]: Route };

/** A route of the API for operators, such as `get /api/alerts`. */
export type OperatorRoute = keyof Named;

/** The value of an answer, or of one event of it. */
export type OperatorAnswer<Name extends OperatorRoute> = Named[Name]['answers'] extends
  | { readonly 200: { readonly schema: infer Schema extends z.ZodType } }
  | { readonly 201: { readonly schema: infer Schema extends z.ZodType } }
  ? z.output<Schema>
  : never;

type QueryOf<Route> = Route extends { readonly query: infer Query extends z.ZodType }
  ? { readonly query?: z.input<Query> }
  : object;
type BodyOf<Route> = Route extends { readonly body: infer Body extends z.ZodType }
  ? { readonly body: z.input<Body> }
  : object;
type ParamsOf<Route extends RouteDefinition> = [ParametersIn<Route['at']>] extends [never]
  ? object
  : { readonly params: { readonly [Name in ParametersIn<Route['at']>]: string } };

/** What a request for a route has: the parameters of its path, its query and its body. */
export type OperatorRequest<Name extends OperatorRoute> = ParamsOf<Named[Name]> &
  QueryOf<Named[Name]> &
  BodyOf<Named[Name]>;
