import { type AanaError, fail } from '../../base/core/errors.ts';

/**
 * Returns the error for an argument of a call. Its data names the argument, so that a caller who translated a request
 * can name what the client sent.
 */
export function wrongArgument(
  name: 'InvalidSamplingParams' | 'InvalidPrompt' | 'ValidationError',
  loc: readonly (string | number)[],
  msg: string,
): AanaError {
  return fail(name, `${loc.join('.')}: ${msg}`, {
    data: [{ type: 'value_error', loc, msg, input: null }],
  });
}
