import { AanaError } from '../../../core/errors.ts';

/** A model file that is truncated, damaged or of another kind than expected. */
export function formatError(file: string, reason: string, cause?: unknown): AanaError {
  return new AanaError('ModelFormatError', 'bad-request', `${file}: ${reason}`, { data: { file }, cause });
}
