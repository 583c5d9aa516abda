import type { CallToolResult } from '@modelcontextprotocol/server';
import { type AanaError, fail } from '../../base/core/errors.ts';
import { type ServedEndpoint, textAnswerOf } from '../../endpoints/registry/index.ts';

/**
 * Returns the result of a tool for the output of its endpoint, which is JSON. An answer that is text is shown as this
 * text.
 */
export function resultOf(endpoint: ServedEndpoint, output: string): CallToolResult {
  const text = textAnswerOf(endpoint, output)?.text ?? output;
  return { content: [{ type: 'text', text }], structuredContent: JSON.parse(output) };
}

/** Returns the result of a tool that failed. `error` is the body of the error as JSON, which the model reads. */
export function failedResult(error: string): CallToolResult {
  return { content: [{ type: 'text', text: error }], isError: true };
}

export function resultTooLarge(name: string, limit: number): AanaError {
  return fail('ResultTooLarge', `the result of ${name} has more than ${limit} bytes`, {
    data: { limit },
  });
}
