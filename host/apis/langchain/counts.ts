import { fail } from '../../base/core/errors.ts';

/** Throws `ValidationError`, which names the field, if its value is no integer in the range. */
export function requireCount(field: string, value: number, least: number, most: number): void {
  if (Number.isInteger(value) && value >= least && value <= most) return;
  throw fail('ValidationError', `${field}: it must be an integer from ${least} to ${most}, not ${String(value)}`);
}
