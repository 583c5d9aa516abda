import type { Context } from 'koa';
import type { EndpointRegistry } from '../../../endpoints/registry/index.ts';
import { type NamedVerdict, type RateLimits, type RateSharer, tooManyRequests } from '../../../data/access/index.ts';
import type { Counter, Telemetry } from '../../../base/core/telemetry.ts';
import { ownerOf } from './caller.ts';
import { isPreflight } from './cors.ts';
import { noteRateLimit } from '../request/request-context.ts';
import type { Guard } from './guards.ts';
import { isDocumentationPath, isOpenPath } from './open-paths.ts';
import { type ForeignApis, setLimitHeaders } from '../response/foreign-api.ts';

/**
 * Refuses a request over a limit before its body is read. Every answer to a limited request has headers with the limits
 * and the remaining requests.
 */
export function rateLimitGuard(
  limits: RateLimits,
  telemetry: Telemetry,
  apis: ForeignApis,
  registry: EndpointRegistry,
): Guard {
  const refusals = refusalCounter(telemetry);
  return (ctx, next) => {
    if (isDocumentationPath(ctx.path)) countDocumentation(ctx, limits, refusals);
    else if (!isOpenPath(ctx.path) && !isPreflight(ctx)) {
      const verdicts = limits.take(sharerOf(ctx), ctx.path, registry.find(ctx.path)?.path);
      countRequest(ctx, verdicts, refusals, apis);
    }
    return next();
  };
}

/** Returns the counter of requests over a limit. */
export function refusalCounter(telemetry: Telemetry): Counter {
  return telemetry.counter('aana.rate_limit.refusals', {
    unit: '{request}',
    description:
      'Requests over a rate limit, by the limit: `default`, `key`, `documentation`, or a path of the configuration.',
    attributes: ['aana.rate_limit.policy'],
  });
}

function countDocumentation(ctx: Context, limits: RateLimits, refusals: Counter): void {
  const verdict = limits.takeDocumentation(ctx.ip);
  if (verdict?.isAllowed !== false) return;
  refusals.add(1, { 'aana.rate_limit.policy': 'documentation' });
  noteRateLimit(ctx, 'documentation');
  throw tooManyRequests(verdict.check.limit, verdict.retryAfterS, { to: 'the documentation' });
}

/** Sets the headers of the IETF draft "RateLimit header fields for HTTP". */
function countRequest(ctx: Context, verdicts: readonly NamedVerdict[], refusals: Counter, apis: ForeignApis): void {
  if (verdicts.length === 0) return;
  ctx.set(
    'ratelimit-policy',
    verdicts
      .map(({ policy, check: { limit } }) => `"${policy}";q=${limit.capacity};w=${Math.ceil(limit.interval_seconds)}`)
      .join(', '),
  );
  ctx.set(
    'ratelimit',
    verdicts
      .map(
        ({ policy, remaining, resetS, retryAfterS }) =>
          `"${policy}";r=${remaining};t=${Math.ceil(retryAfterS || resetS)}`,
      )
      .join(', '),
  );
  const [tightest] = verdicts.toSorted((a, b) => a.remaining - b.remaining);
  if (tightest)
    setLimitHeaders(ctx, apis, {
      of: 'requests',
      limit: tightest.check.limit.capacity,
      remaining: tightest.remaining,
      resetS: Math.ceil(tightest.retryAfterS || tightest.resetS),
    });
  refuseOverLimit(ctx, verdicts, refusals);
}

/** Returns a function that counts runs of endpoints which requests to another path name. It throws over a limit. */
export function runCounter(
  limits: RateLimits | undefined,
  telemetry: Telemetry,
): (ctx: Context, endpointPath: string) => void {
  const refusals = refusalCounter(telemetry);
  return (ctx, path) => {
    if (limits) refuseOverLimit(ctx, limits.takeRun(sharerOf(ctx), path), refusals);
  };
}

function sharerOf(ctx: Context): RateSharer {
  const { userId, keyId } = ownerOf(ctx);
  return { userId, keyId, address: ctx.ip };
}

/** Policies that are for all paths. */
const PATHLESS = new Set(['default', 'key']);

function refuseOverLimit(ctx: Context, verdicts: readonly NamedVerdict[], refusals: Counter): void {
  const [worst] = verdicts.filter(({ isAllowed }) => !isAllowed).sort((a, b) => b.retryAfterS - a.retryAfterS);
  if (!worst) return;
  refusals.add(1, { 'aana.rate_limit.policy': worst.policy });
  noteRateLimit(ctx, worst.policy);
  throw tooManyRequests(worst.check.limit, worst.retryAfterS, { to: PATHLESS.has(worst.policy) ? '' : worst.policy });
}
