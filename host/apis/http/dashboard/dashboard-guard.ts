import { createHash, timingSafeEqual } from 'node:crypto';
import type { Context } from 'koa';
import { type ApiKeys, type KeyLookUps, keyRefused } from '../../../data/access/index.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import type { HttpAppOptions } from '../options.ts';
import { AanaError } from '../../../base/core/errors.ts';
import { apiKeyGuard } from '../guards/api-key-guard.ts';
import { keyIn } from '../guards/offered-key.ts';
import { setCaller } from '../guards/caller.ts';
import type { Guard } from '../guards/guards.ts';

/** Name of the token in logs, where requests with an API key have the name of their key. */
const TOKEN_ID = 'dashboard';

export interface DashboardGuardOptions extends Pick<HttpAppOptions, 'registry' | 'routers'> {
  readonly token: string;
  readonly apiKeys: ApiKeys | undefined;
  /** Limits the guesses of each address. */
  readonly guesses: KeyLookUps;
  readonly log: Logger;
  /** Whether a path has only files of the page, which hold nothing of the application. */
  readonly isOpen: (path: string) => boolean;
}

/** Admits callers with the token of the dashboard or an API key of an admin. Both come as API keys do, in a header. */
export function dashboardGuard({ token, apiKeys, guesses, log, isOpen, ...served }: DashboardGuardOptions): Guard {
  const keyGuard = apiKeys && apiKeyGuard(apiKeys, served);
  /** Admits the caller. Returns undefined for a text that is neither the token nor a key. */
  const admit = async (ctx: Context, offered: string): Promise<true | undefined> => {
    if (isSame(offered, token))
      setCaller(ctx, { userId: null, isAdmin: true, keyId: TOKEN_ID, scopes: null, hasSubscription: true });
    else if (!keyGuard || !apiKeys.isOpen) return undefined;
    else
      try {
        await keyGuard(ctx, async () => {});
      } catch (error) {
        if (error instanceof AanaError && error.name === 'ApiKeyNotFound') return undefined;
        throw error;
      }
    return true;
  };
  return async (ctx, next) => {
    setCaller(ctx);
    if (isOpen(ctx.path)) return next();
    const offered = keyIn(ctx);
    if (offered === undefined) throw keyRefused('ApiKeyNotProvided', `the dashboard needs its token: ${HOW}`);
    if (await guesses.run(ctx.ip, () => admit(ctx, offered))) return next();
    log.warn('a wrong token of the dashboard was refused', { address: ctx.ip });
    throw keyRefused('ApiKeyNotFound', `this is not the token of the dashboard: ${HOW}`);
  };
}

const HOW = 'open the address that the start printed, or that `aana-host dashboard` prints';

/** Compares texts in a time that does not depend on where they differ. */
function isSame(offered: string, token: string): boolean {
  const [a, b] = [offered, token].map((text) => createHash('sha256').update(text).digest());
  return a !== undefined && b !== undefined && timingSafeEqual(a, b);
}
