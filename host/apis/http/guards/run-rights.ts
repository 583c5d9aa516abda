import { AccessError, allowsPath } from '../../../data/access/index.ts';
import type { ServedEndpoint } from '../../../endpoints/registry/index.ts';
import type { KeyOwner } from './caller.ts';

/**
 * Returns the reason why a caller may not run the endpoint at a path, now or as a task: `InsufficientScope`,
 * `AdminOnlyAccess` or `InactiveSubscription`. Returns undefined if the caller may run it, and always without API keys.
 */
export function refusalToRun(
  { keyId, scopes, isAdmin, hasSubscription }: KeyOwner,
  path: string,
  endpoint: ServedEndpoint | undefined,
): AccessError | undefined {
  if (keyId === null) return undefined;
  if (!allowsPath(scopes, path, endpoint?.path)) {
    return new AccessError(
      'InsufficientScope',
      `the API key does not allow ${path}: its scopes are ${scopes?.join(', ')}`,
      { 'www-authenticate': 'Bearer error="insufficient_scope"' },
    );
  }
  if (endpoint?.adminRequired === true && !isAdmin)
    return new AccessError('AdminOnlyAccess', `${path} is only for admins: it needs an API key of an admin`);
  if (endpoint?.activeSubscriptionRequired === true && !hasSubscription) return subscriptionNeeded(path);
  return undefined;
}

/** Returns the error for a path that needs an active subscription. */
export function subscriptionNeeded(path: string): AccessError {
  return new AccessError('InactiveSubscription', `${path} needs an active subscription`);
}
