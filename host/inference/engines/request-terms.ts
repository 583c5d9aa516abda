import type { RequestTerms } from '../../../native/lib/index.ts';
import { remainingMs, type RequestContext, tenantOf } from '../../base/core/request-context.ts';

/**
 * Returns the terms of a request for an engine: its user with the weight, its priority, and the time until its
 * deadline.
 */
export function termsOf(context: RequestContext): RequestTerms {
  const deadlineMs = remainingMs(context);
  return {
    tenant: tenantOf(context),
    priority: context.priority ?? 0,
    ...(context.weight !== undefined && { weight: context.weight }),
    ...(deadlineMs !== undefined && { deadlineMs }),
  };
}
