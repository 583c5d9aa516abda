import type { Context } from 'koa';

/** Who sent a request. */
export interface Caller {
  /** Whose tasks, webhooks and limits are meant; null for everybody, where nobody is asked for a key. */
  readonly userId: string | null;
  /** Whether what only the operator may see and do is open to the caller. */
  readonly isAdmin: boolean;
  /** Name of the API key that the request came with. */
  readonly keyId: string | null;
  /** What the key is for; null is everything that its user may do. */
  readonly scopes: readonly string[] | null;
  /** Whether the user's subscription is active. */
  readonly hasSubscription: boolean;
}

/** Everybody, while keys are not asked for; and who has not shown a key yet. */
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

/** Says who called; without a caller, that nobody is known yet, and is to be. */
export function setCaller(ctx: Context, caller: Caller = ANYBODY): void {
  ctx.state['caller'] = caller;
}

/**
 * Whether the caller may see what only the operator knows, such as names of machines: an admin does, and everybody
 * where there are no keys.
 */
export function isOperator(ctx: Context): boolean {
  return ctx.state['caller'] === undefined || callerOf(ctx).isAdmin;
}

/**
 * Whether an answer may say what went wrong inside: where the operator wants it, and to admins alone where there are
 * keys.
 */
export function showsInside(ctx: Context, includeStacktrace: boolean): boolean {
  return includeStacktrace && isOperator(ctx);
}
