import type { Context } from 'koa';
import { mcpError } from '../../mcp/index.ts';
import { isMcpPath } from '../routes/mcp/mcp-path.ts';
import { mcpStatusOf } from './status.ts';

/** How an API of others answers errors. */
export interface ErrorForm {
  statusOf(thrown: unknown): number;
  /** Returns the body, as JSON. */
  bodyOf(thrown: unknown, requestId: string): unknown;
}

/** What is left of a limit of requests or tokens. */
export interface LeftOfLimit {
  readonly of: 'requests' | 'tokens';
  readonly limit: number;
  readonly remaining: number;
  /** Whole seconds until the limit is back. */
  readonly resetS: number;
}

/** An API of others that the host serves: its requests, and what the answers to them have. */
export interface ForeignApi {
  matches(ctx: Context): boolean;
  readonly errors: ErrorForm;
  /** Returns the headers that tell what is left of a limit. */
  limitHeaders(left: LeftOfLimit): Readonly<Record<string, string>>;
  /** The name of the header with the id of the request, beside our own. */
  readonly requestIdHeader?: string;
  /** Returns why nothing is at a path, if the path belongs to a part of the API that the host does not have. */
  absenceOf?(path: string): string | undefined;
}

/** The APIs of others. The errors of a request have the form of the first one that it belongs to. Default: none. */
export interface ForeignApis {
  readonly apis?: readonly ForeignApi[] | undefined;
}

/** Returns the APIs that a request belongs to. */
export function apisOf(ctx: Context, { apis = [] }: ForeignApis): readonly ForeignApi[] {
  return apis.filter((api) => api.matches(ctx));
}

const MCP: ErrorForm = { statusOf: mcpStatusOf, bodyOf: mcpError };

/** Returns the form of the errors of a request that belongs to the API of others; undefined for our own form. */
export function foreignErrorForm(ctx: Context, apis: ForeignApis): ErrorForm | undefined {
  return isMcpPath(ctx.path) ? MCP : apisOf(ctx, apis)[0]?.errors;
}

/** Sets the headers of the APIs that a request belongs to. */
export function setLimitHeaders(ctx: Context, apis: ForeignApis, left: LeftOfLimit): void {
  for (const api of apisOf(ctx, apis)) ctx.set({ ...api.limitHeaders(left) });
}
