import * as z from 'zod';

export const LogConfig = z.strictObject({
  level: z.enum(['debug', 'info', 'warn', 'error']).default('info').describe('Lines below this level are dropped.'),
  content: z
    .boolean()
    .default(false)
    .describe(
      'Whether lines may hold what requests and models say: the messages of unexpected errors. See [security.md](security.md#what-logs-and-errors-leave-out).',
    ),
  format: z.enum(['text', 'json']).default('text').describe('Lines for people, or one JSON object a line.'),
});
