import { createHash, timingSafeEqual } from 'node:crypto';
import { type ApiKeys, keyRefused } from '../../access/index.ts';
import type { EndpointRegistry } from '../../endpoints/index.ts';
import { apiKeyGuard } from '../guards/api-key-guard.ts';
import { keyIn } from '../guards/offered-key.ts';
import { setCaller } from '../guards/caller.ts';
import type { Guard } from '../guards/guards.ts';

/** Name of the token in logs, where requests with an API key have the name of their key. */
const TOKEN_ID = 'dashboard';

export interface DashboardGuardOptions {
  readonly token: string;
  readonly apiKeys: ApiKeys | undefined;
  readonly registry: EndpointRegistry;
  /** Whether a path has only files of the page, which hold nothing of the application. */
  readonly isOpen: (path: string) => boolean;
}

/** Admits callers with the token of the dashboard or an API key of an admin. Both come as API keys do, in a header. */
export function dashboardGuard({ token, apiKeys, registry, isOpen }: DashboardGuardOptions): Guard {
  const keyGuard = apiKeys && apiKeyGuard(apiKeys, registry);
  return async (ctx, next) => {
    setCaller(ctx);
    if (isOpen(ctx.path)) return next();
    const offered = keyIn(ctx);
    if (offered === undefined) throw keyRefused('ApiKeyNotProvided', `the dashboard needs its token: ${HOW}`);
    if (isSame(offered, token)) {
      setCaller(ctx, { userId: null, isAdmin: true, keyId: TOKEN_ID, scopes: null, hasSubscription: true });
      return next();
    }
    if (keyGuard && apiKeys.isOpen) return keyGuard(ctx, next);
    throw keyRefused('ApiKeyNotFound', `this is not the token of the dashboard: ${HOW}`);
  };
}

const HOW = 'open the address that the start printed, or that `aana-host dashboard` prints';

/** Compares texts in a time that does not depend on where they differ. */
function isSame(offered: string, token: string): boolean {
  const [a, b] = [offered, token].map((text) => createHash('sha256').update(text).digest());
  return a !== undefined && b !== undefined && timingSafeEqual(a, b);
}
