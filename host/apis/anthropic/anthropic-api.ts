import { anthropicError } from './errors.ts';
import type { ForeignApi } from '../http/response/foreign-api.ts';
import { statusOfThrown } from '../http/response/status.ts';
import { isAnthropicRequest } from './anthropic-requests.ts';

/** Statuses of Anthropic's API where they differ from ours. */
const STATUS: Readonly<Record<number, number>> = { 422: 400, 503: 529 };

/** Returns the status of anything that was thrown on a path of Anthropic's API. */
export function anthropicStatusOf(thrown: unknown): number {
  const status = statusOfThrown(thrown);
  return STATUS[status] ?? status;
}

/** Returns a point in time as the headers have it. */
const timeIn = (seconds: number): string => `${new Date(Date.now() + seconds * 1000).toISOString().slice(0, 19)}Z`;

/** Anthropic's API, as the HTTP side sees it. */
export const ANTHROPIC_API: ForeignApi = {
  matches: isAnthropicRequest,
  errors: {
    statusOf: anthropicStatusOf,
    bodyOf: (thrown, requestId) => anthropicError(thrown, anthropicStatusOf(thrown), requestId),
  },
  requestIdHeader: 'request-id',
  limitHeaders: ({ of, limit, remaining, resetS }) => ({
    [`anthropic-ratelimit-${of}-limit`]: String(limit),
    [`anthropic-ratelimit-${of}-remaining`]: String(remaining),
    [`anthropic-ratelimit-${of}-reset`]: timeIn(resetS),
  }),
};
