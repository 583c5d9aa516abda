import * as z from 'zod';
import type { AanaError } from '../../core/errors.ts';
import type { RetryOptions } from '../../replicas/index.ts';

const seconds = (value: number) => z.number().min(0).max(3600).default(value);

/** How a handle repeats calls that failed before they gave anything. */
export const HandleOptions = z.strictObject({
  num_retries: z
    .int()
    .min(0)
    .max(100)
    .default(3)
    .describe('Tries after the first. After the loss of a replica there is one at most.'),
  retry_exceptions: z
    .union([z.boolean(), z.array(z.string().min(1)).max(100)])
    .default(false)
    .describe('Errors that are tried again besides the loss of a replica: those of these names, or (`true`) all.'),
  retry_delay: seconds(0.2).describe('Longest wait before the second try, in seconds; it doubles with each try.'),
  retry_max_delay: seconds(2).describe('Longest wait of all, in seconds.'),
});
export type HandleOptions = z.infer<typeof HandleOptions>;
export type HandleOptionsInput = z.input<typeof HandleOptions>;

/** The same in the terms of {@link RetryOptions}. */
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
