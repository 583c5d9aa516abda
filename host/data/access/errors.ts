import { AanaError, type AanaErrorOptions, type ErrorName, kindOf } from '../../base/core/errors.ts';

/** The error of a refused request, with headers for its HTTP answer. */
export class AccessError extends AanaError {
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    name: ErrorName,
    message: string,
    headers: Readonly<Record<string, string>> = {},
    options: AanaErrorOptions = {},
  ) {
    super(name, kindOf(name), message, { data: { message }, ...options });
    this.headers = headers;
  }
}

/** Returns the error for a refused key. No error contains the key. */
export function keyRefused(
  name: 'ApiKeyNotProvided' | 'ApiKeyNotFound' | 'ApiKeyExpired',
  message: string,
): AccessError {
  const challenge = name === 'ApiKeyNotProvided' ? 'Bearer' : 'Bearer error="invalid_token"';
  return new AccessError(name, message, { 'www-authenticate': challenge });
}

const countOf = (n: number, one: string): string => `${n} ${one}${n === 1 ? '' : 's'}`;

/** Returns the error that a caller has as many requests as the limit allows. */
export function overRequestsAtOnce(most: number): AccessError {
  const limit = countOf(most, 'request');
  return overUserLimit(`over the limit of ${limit} at the same time: try again when one has ended`, 1, { limit: most });
}

/** Returns the error that a caller has used the tokens of a minute. There are more after `retryAfterS`. */
export function overTokens(most: number, retryAfterS: number): AccessError {
  const wait = Math.max(1, Math.ceil(retryAfterS));
  return overUserLimit(`over the limit of ${most} tokens in a minute: try again in ${countOf(wait, 'second')}`, wait, {
    limit: most,
  });
}

/** Returns the error that a caller has used the tokens of this month, which ends after `endsInS`. */
export function overTokensOfMonth(most: number, endsInS: number): AccessError {
  return overUserLimit(
    `over the limit of ${most} tokens in a calendar month (UTC): it ends in ${countOf(endsInS, 'second')}`,
    endsInS,
    { limit: most, code: 'insufficient_quota' },
  );
}

function overUserLimit(message: string, retryAfterS: number, data: object): AccessError {
  return new AccessError(
    'TooManyRequestsException',
    message,
    { 'retry-after': String(retryAfterS) },
    { data: { ...data, retry_after_s: retryAfterS } },
  );
}

/**
 * Returns the error for a request over a limit. `what` names one of the counted things. `to` names the limited path, if
 * the limit is not for all paths. `retryAfterS` is the number of seconds until there is room again.
 */
export function tooManyRequests(
  { capacity, interval_seconds: interval }: { readonly capacity: number; readonly interval_seconds: number },
  retryAfterS: number,
  { what = 'request', to = '' }: { readonly what?: string; readonly to?: string } = {},
): AccessError {
  const wait = Math.max(1, Math.ceil(retryAfterS));
  return new AccessError(
    'TooManyRequestsException',
    `over the limit of ${countOf(capacity, what)} in ${countOf(interval, 'second')}${to === '' ? '' : ` to ${to}`}: ` +
      `try again in ${countOf(wait, 'second')}`,
    { 'retry-after': String(wait) },
    { data: { rate_limit: capacity, rate_duration: interval } },
  );
}
