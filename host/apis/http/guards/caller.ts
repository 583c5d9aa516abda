import type { Context } from 'koa';
import type { Caller } from '../../../base/core/request-context.ts';
import { traceparentOf } from '../request/request-context.ts';

/** What an API key says about the sender of a request. */
export interface KeyOwner {
  /** Owner of the tasks, webhooks and limits of the request; null for all users if API keys are off. */
  readonly userId: string | null;
  /** Whether the caller may see and do what is reserved for the operator. */
  readonly isAdmin: boolean;
  /** Name of the API key that the request came with. */
  readonly keyId: string | null;
  /** Scopes of the key; null if it allows everything that its user may do. */
  readonly scopes: readonly string[] | null;
  /** Whether the user's subscription is active. */
  readonly hasSubscription: boolean;
}

/** The sender of a request, with the place of the request in its trace. */
export type HttpCaller = Caller & KeyOwner;

/** Any caller if API keys are off, and a caller that has not shown a key yet. */
const ANYBODY: KeyOwner = Object.freeze({
  userId: null,
  isAdmin: false,
  keyId: null,
  scopes: null,
  hasSubscription: true,
});

export function ownerOf(ctx: Context): KeyOwner {
  return (ctx.state['caller'] as KeyOwner | undefined) ?? ANYBODY;
}

export function callerOf(ctx: Context): HttpCaller {
  return { traceparent: traceparentOf(ctx), ...ownerOf(ctx) };
}

/** Stores who sent the request. Without `owner`, it stores that API keys are on and the caller is not known yet. */
export function setCaller(ctx: Context, owner: KeyOwner = ANYBODY): void {
  ctx.state['caller'] = owner;
}

/**
 * Whether the caller may see facts for the operator, such as names of machines. Admins may, and everybody if API keys
 * are off.
 */
export function isOperator(ctx: Context): boolean {
  return ctx.state['caller'] === undefined || ownerOf(ctx).isAdmin;
}

/**
 * Whether an answer may contain internals of a failure. The operator must turn this on, and with API keys only admins
 * see them.
 */
export function showsInside(ctx: Context, includeStacktrace: boolean): boolean {
  return includeStacktrace && isOperator(ctx);
}
