import { KINDS } from '../../../base/core/error-table.ts';
import { toErrorRecord } from '../../../base/core/errors.ts';
import { absenceOf } from '../absent-routes.ts';
import { openAiError } from '../errors.ts';
import type { ForeignApi } from '../../http/response/foreign-api.ts';
import { statusOfThrown } from '../../http/response/status.ts';

/** Whether a path is one of OpenAI's API: below `/v1`, which belongs to the host. */
function isOpenAiPath(path: string): boolean {
  return path === '/v1' || path.startsWith('/v1/');
}

/** Whether a path can need an active subscription. Routers ignore case. */
export function isPaidPath(path: string): boolean {
  const lower = path.toLowerCase();
  return isOpenAiPath(lower) || /^\/chat\/completions\/?$/.test(lower);
}

/** Returns the status of anything that was thrown on a path of OpenAI's API. */
export function openAiStatusOf(thrown: unknown): number {
  if (toErrorRecord(thrown).name === 'InactiveSubscription') return KINDS['rate-limited'].status; // a quota
  const status = statusOfThrown(thrown);
  return status === 422 ? 400 : status;
}

/** OpenAI's API, as the HTTP side sees it. */
export const OPENAI_API: ForeignApi = {
  matches: (ctx) => isOpenAiPath(ctx.path),
  errors: { statusOf: openAiStatusOf, bodyOf: openAiError },
  limitHeaders: ({ of, limit, remaining, resetS }) => ({
    [`x-ratelimit-limit-${of}`]: String(limit),
    [`x-ratelimit-remaining-${of}`]: String(remaining),
    [`x-ratelimit-reset-${of}`]: `${resetS}s`,
  }),
  absenceOf,
};
