import * as z from 'zod';
import { whole } from '../../../base/core/fields.ts';
import type { AanaError } from '../../../base/core/errors.ts';
import type { RetryOptions } from '../../replicas/index.ts';

const seconds = (value: number) => z.number().min(0).max(3600).default(value);

/** Retry options of a handle. Only calls that failed before their first value are repeated. */
export const HandleOptions = z.strictObject({
  num_retries: whole(
    { min: 0, max: 100, default: 3 },
    'Most retries after the first try. After the loss of a replica there is at most one.',
  ),
  retry_exceptions: z
    .union([z.boolean(), z.array(z.string().min(1).max(200)).max(100)])
    .default(false)
    .describe(
      'Names of errors after which a call is retried, in addition to the loss of a replica; `true` is all errors.',
    ),
  retry_delay: seconds(0.2).describe('Longest wait before the first retry, in seconds. It doubles with each retry.'),
  retry_max_delay: seconds(2).describe('Longest wait before any retry, in seconds.'),
});
export type HandleOptions = z.infer<typeof HandleOptions>;
export type HandleOptionsInput = z.input<typeof HandleOptions>;

/** Returns the options in the terms of {@link RetryOptions}. */
export function retryPolicy({
  num_retries: retries,
  retry_exceptions: repeated,
  retry_delay: delayS,
  retry_max_delay: maxDelayS,
}: HandleOptions): Omit<RetryOptions, 'clock' | 'random' | 'signal' | 'onRetry'> {
  const isRetried = ({ name }: AanaError): boolean =>
    typeof repeated === 'boolean' ? repeated : repeated.includes(name);
  return { retries, delayMs: delayS * 1000, maxDelayMs: maxDelayS * 1000, isRetried };
}
