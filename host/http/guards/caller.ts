import type { Context } from 'koa';

/** The sender of a request. */
export interface Caller {
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

/** Any caller if API keys are off, and a caller that has not shown a key yet. */
const ANYBODY: Caller = Object.freeze({
  userId: null,
  isAdmin: false,
  keyId: null,
  scopes: null,
  hasSubscription: true,
});

export function callerOf(ctx: Context): Caller {
  return (ctx.state['caller'] as Caller | undefined) ?? ANYBODY;
}

/** Stores the caller. Without `caller`, it stores that API keys are on and the caller is not known yet. */
export function setCaller(ctx: Context, caller: Caller = ANYBODY): void {
  ctx.state['caller'] = caller;
}

/**
 * Whether the caller may see facts for the operator, such as names of machines. Admins may, and everybody if API keys
 * are off.
 */
export function isOperator(ctx: Context): boolean {
  return ctx.state['caller'] === undefined || callerOf(ctx).isAdmin;
}

/**
 * Whether an answer may contain internals of a failure. The operator must turn this on, and with API keys only admins
 * see them.
 */
export function showsInside(ctx: Context, includeStacktrace: boolean): boolean {
  return includeStacktrace && isOperator(ctx);
}
