import { AccessError, allowsPath } from '../../access/index.ts';
import type { ServedEndpoint } from '../../endpoints/index.ts';
import type { Caller } from './caller.ts';

/**
 * Returns why a caller may not run what is at a path, now or as a task: `InsufficientScope`, `AdminOnlyAccess` or
 * `InactiveSubscription`; undefined when the caller may, as everybody where no key is asked for.
 */
export function refusalToRun(
  { keyId, scopes, isAdmin, hasSubscription }: Caller,
  path: string,
  endpoint: ServedEndpoint | undefined,
): AccessError | undefined {
  if (keyId === null) return undefined;
  if (!allowsPath(scopes, path)) {
    return new AccessError(
      'InsufficientScope',
      'denied',
      `the API key is not for ${path}: its scopes are ${scopes?.join(', ')}`,
      { 'www-authenticate': 'Bearer error="insufficient_scope"' },
    );
  }
  if (endpoint?.adminRequired === true && !isAdmin)
    return new AccessError('AdminOnlyAccess', 'denied', `${path} is for admins: it needs an API key of one`);
  if (endpoint?.activeSubscriptionRequired === true && !hasSubscription)
    return new AccessError('InactiveSubscription', 'denied', `${path} needs an active subscription`);
  return undefined;
}
