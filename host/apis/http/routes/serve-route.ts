import { Router } from '@koa/router';
import type { Context } from 'koa';
import * as z from 'zod';
import { type AnswerOf, PATH_PARAMETERS, type RouteDefinition, whereOf } from '../../openapi/index.ts';
import { queryReader } from '../request/query.ts';
import { notFound, type Table } from './refusals.ts';

type Parameter = keyof typeof PATH_PARAMETERS;
/** The names of the parameters in a path. */
export type ParametersIn<Path extends string> = Path extends `${string}{${infer Name extends Parameter}}${infer Rest}`
  ? Name | ParametersIn<Rest>
  : never;
type QueryOf<Route extends RouteDefinition> = Route extends { readonly query: infer Query extends z.ZodObject }
  ? z.output<Query>
  : Record<string, never>;
type Answers<Route extends RouteDefinition> = Route['answers'][keyof Route['answers']];
/** The body of an answer. Handlers write streams and texts themselves. */
type Answered<Route extends RouteDefinition> =
  Answers<Route> extends { readonly type: string }
    ? void
    : Answers<Route> extends { readonly schema: infer Schema extends z.ZodType }
      ? | AnswerOf<Schema>
        | ([Extract<Answers<Route>, { readonly events: z.ZodType } | { readonly text: string }>] extends [never]
            ? never
            : undefined)
      : never;

/** A router of the host. It knows the definitions of its routes, which the OpenAPI document shows. */
export class HostRouter extends Router {
  readonly definitions: RouteDefinition[] = [];
  readonly #otherPaths = new Map<string, string>();

  constructor() {
    super({ sensitive: true });
  }

  define(route: RouteDefinition): void {
    this.definitions.push(route);
    for (const path of route.alsoAt ?? []) this.#otherPaths.set(path, whereOf(route).path);
  }

  /** Returns the path of the route that is also at `path`, and other paths as they are. */
  ownPath(path: string): string {
    return this.#otherPaths.get(path) ?? path;
  }
}

/** A request of one of the host's routes. Parameters and query have been checked against the route's schemas. */
export interface RouteRequest<Route extends RouteDefinition> {
  readonly ctx: Context;
  readonly params: { readonly [Name in ParametersIn<Route['at']>]: string };
  readonly query: QueryOf<Route>;
}

/**
 * Serves a route as its definition says, and records the definition in the router. The handler returns the body of the
 * answer. It sets the status if it is not the first one of the definition.
 */
export function serveRoute<const Route extends RouteDefinition>(
  router: HostRouter,
  route: Route,
  handle: (request: RouteRequest<Route>) => Answered<Route> | Promise<Answered<Route>>,
): void {
  router.define(route);
  const readQuery = queryReader(route.query ?? z.object({}));
  const { method, path } = whereOf(route);
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as Parameter);
  const status = Number(Object.keys(route.answers)[0]);
  router[method](path.replaceAll(/\{(\w+)\}/g, ':$1'), async (ctx) => {
    const params = Object.fromEntries(names.map((name) => [name, parameterOf(name, ctx.params[name] ?? '')]));
    const query = readQuery(ctx);
    if (status !== 200) ctx.status = status;
    // The definition of the route decides the types.
    const body = await handle({ ctx, params, query } as unknown as RouteRequest<Route>);
    if (body !== undefined) ctx.body = body;
  });
}

/** Records a route like {@link serveRoute}, and answers it with `forward`, which passes the request on. */
export function forwardRoute(
  router: HostRouter,
  route: RouteDefinition,
  forward: (ctx: Context) => Promise<void>,
): void {
  router.define(route);
  const { method, path } = whereOf(route);
  router[method](path.replaceAll(/\{(\w+)\}/g, ':$1'), (ctx) => forward(ctx));
}

const TABLES: Readonly<Partial<Record<Parameter, Table>>> = {
  task_id: 'tasks',
  webhook_id: 'webhooks',
  delivery_id: 'webhook_deliveries',
};

/** Returns the value of a path parameter. A malformed id names nothing, so it throws a 404. */
function parameterOf(name: Parameter, text: string): string {
  const result = PATH_PARAMETERS[name].safeParse(text);
  if (result.success) return result.data;
  const table = TABLES[name] ?? 'tasks';
  throw notFound(table, { table, id: text });
}
