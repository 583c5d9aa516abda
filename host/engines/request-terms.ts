import type { RequestTerms } from '../../native/lib/index.ts';
import { remainingMs, type RequestContext } from '../core/request-context.ts';

/** What an engine is told about a request: whose it is, how urgent, and how long its answer is of use. */
export function termsOf(context: RequestContext): RequestTerms {
  const deadlineMs = remainingMs(context);
  return {
    tenant: context.userId ?? null,
    priority: context.priority ?? 0,
    ...(deadlineMs !== undefined && { deadlineMs }),
  };
}
