import { AanaError } from '../../../../base/core/errors.ts';
import { refuse } from './limits.ts';

/** Returns an error of the standard for what Node has thrown. Other errors of the host stay as they are. */
export function standardError(error: unknown): AanaError {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  if (error instanceof AanaError) return name === 'InvalidArguments' ? refuse('TypeError', message) : error;
  if (error instanceof DOMException || name === 'TypeError') return refuse(name, message);
  return refuse(error instanceof SyntaxError ? 'TypeError' : 'OperationError', message);
}
