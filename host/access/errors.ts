import { AanaError, type AanaErrorOptions, type ErrorKind } from '../core/errors.ts';

/** The error of a refused request, with headers for its HTTP answer. */
export class AccessError extends AanaError {
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    name: string,
    kind: ErrorKind,
    message: string,
    headers: Readonly<Record<string, string>> = {},
    options: AanaErrorOptions = {},
  ) {
    super(name, kind, message, { data: { message }, ...options });
    this.headers = headers;
  }
}

/** Returns the error for a refused key. No error contains the key. */
export function keyRefused(
  name: 'ApiKeyNotProvided' | 'ApiKeyNotFound' | 'ApiKeyExpired',
  message: string,
): AccessError {
  const challenge = name === 'ApiKeyNotProvided' ? 'Bearer' : 'Bearer error="invalid_token"';
  return new AccessError(name, 'unauthenticated', message, { 'www-authenticate': challenge });
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
  const count = (n: number, one: string): string => `${n} ${one}${n === 1 ? '' : 's'}`;
  return new AccessError(
    'TooManyRequestsException',
    'rate-limited',
    `over the limit of ${count(capacity, what)} in ${count(interval, 'second')}${to === '' ? '' : ` to ${to}`}: try again in ${count(wait, 'second')}`,
    { 'retry-after': String(wait) },
    { data: { rate_limit: capacity, rate_duration: interval } },
  );
}
