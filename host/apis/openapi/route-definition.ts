import type * as z from 'zod';
import type { ErrorStatus } from './failures.ts';

/** A parameter of OpenAI's API, or of another server's, that has no effect here. */
export interface IdleField {
  /** Why it has no effect, for people. */
  readonly why: string;
  /** Values that ask for what happens anyway, besides null. They are never reported. */
  readonly neutral?: readonly unknown[];
  /** Whether the parameter changes no answer anywhere, so that it is never reported. */
  readonly isHarmless?: true;
  /** Whether a request with the parameter is refused, because it asks for another answer than this server can give. */
  readonly isRefused?: true;
}

/** One answer of a route. */
export interface RouteAnswer {
  readonly description: string;
  /** The value, or one event of a stream. */
  readonly schema: z.ZodType;
  /** Default: `application/json`. */
  readonly type?: 'text/event-stream' | 'application/octet-stream' | 'application/x-jsonl';
  /** One event of the answer where the body of the request asks for a stream instead. */
  readonly events?: z.ZodType;
  /** The media type of the answer where the request asks for a text instead. */
  readonly text?: 'text/plain';
}

type Method = 'get' | 'put' | 'post' | 'delete';

/** A group of routes in the document. */
export type RouteTag =
  | 'tasks'
  | 'webhooks'
  | 'keys'
  | 'admin'
  | 'system'
  | 'openai'
  | 'anthropic'
  | 'live'
  | 'mcp'
  | 'app';

/**
 * One route of the host. `http/` checks requests and types its answers with these schemas, and the OpenAPI document
 * shows the same ones.
 */
export interface RouteDefinition {
  /** `operationId` in the document. */
  readonly id: string;
  /** Its method and path, whose parameters are in braces: `get /tasks/{task_id}`. */
  readonly at: `${Method} /${string}`;
  /** Other paths of the same route, without parameters. The document leaves them out. */
  readonly alsoAt?: readonly string[];
  readonly summary: string;
  /** Default: that of its path. */
  readonly tag?: RouteTag;
  /** Every parameter may be left out. */
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** The parts of a multipart form, instead of `body`. */
  readonly form?: z.ZodType;
  /** The parameters that have no effect. Pages of the documentation name the parameters of a route with this member. */
  readonly idle?: Readonly<Record<string, IdleField>>;
  /** By status. The first one is the usual answer. */
  readonly answers: Readonly<Record<number, RouteAnswer>>;
  /** Statuses of failures besides the failures of reading a body. */
  readonly fails: readonly ErrorStatus[];
  readonly isDeprecated?: true;
}

/** Returns the method and the path of a route. */
export function whereOf({ at }: RouteDefinition): { readonly method: Method; readonly path: string } {
  const [method, path] = at.split(' ', 2) as [Method, string];
  return { method, path };
}

/** The groups of paths, by how they begin. Others are for admins. */
const GROUPS: readonly (readonly [beginning: string, group: RouteTag])[] = [
  ['/v1/messages', 'anthropic'],
  ['/v1/', 'openai'],
  ['/tasks', 'tasks'],
  ['/webhooks', 'webhooks'],
  ['/api/keys', 'keys'],
];

/** Returns the group of a route. */
export function tagOf(route: RouteDefinition): RouteTag {
  const { path } = whereOf(route);
  return route.tag ?? GROUPS.find(([beginning]) => path.startsWith(beginning))?.[1] ?? 'admin';
}

/** The failures of routes that need the database. */
export const DATABASE_FAILURES = [500, 503] as const satisfies readonly ErrorStatus[];

/** The failures of routes that only read or change what is stored. */
export const STORED_FAILURES = [401, 403, ...DATABASE_FAILURES] as const satisfies readonly ErrorStatus[];

/** The failures of routes that run a model. */
export const RUN_FAILURES = [401, 403, 404, 429, 500, 503, 504] as const satisfies readonly ErrorStatus[];

/** Returns the answers of a route that has only one, with status 200. */
export function answers<S extends z.ZodType>(
  description: string,
  schema: S,
): { readonly 200: { readonly description: string; readonly schema: S } } {
  return { 200: { description, schema } };
}
