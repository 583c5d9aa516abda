import type { Context } from 'koa';

/** Who sent a request. */
export interface Caller {
  /** Whose tasks, webhooks and limits are meant; null for everybody, where nobody is asked for a key. */
  readonly userId: string | null;
  /** Whether what only the operator may see and do is open to the caller. */
  readonly isAdmin: boolean;
}

/** Everybody, while keys are not asked for. */
const ANYBODY: Caller = Object.freeze({ userId: null, isAdmin: false });

export function callerOf(ctx: Context): Caller {
  return (ctx.state['caller'] as Caller | undefined) ?? ANYBODY;
}
