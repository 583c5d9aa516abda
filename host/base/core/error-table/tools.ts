import type { Definitions } from './definition.ts';

/**
 * Errors of tools of the Model Context Protocol. Errors of runs are results of tools, as are the errors of endpoints.
 */
export const TOOLS = {
  TooManySubscriptions: {
    kind: 'rate-limited',
    when: 'The caller has 32 subscriptions to changes of the tools of `/mcp`.',
  },
  ResultTooLarge: {
    kind: 'too-large',
    when: 'The result of a tool has more bytes than `mcp.max_result_bytes`.',
    data: ['limit'],
  },
} as const satisfies Definitions;
