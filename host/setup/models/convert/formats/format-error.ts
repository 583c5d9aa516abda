import { type AanaError, fail } from '../../../../base/core/errors.ts';

/** Returns the error for a model file that is truncated, damaged or of an unexpected kind. */
export function formatError(file: string, reason: string, cause?: unknown): AanaError {
  return fail('ModelFormatError', `${file}: ${reason}`, { data: { file }, cause });
}
