import * as z from 'zod';

export const LogConfig = z.strictObject({
  level: z.enum(['debug', 'info', 'warn', 'error']).default('info').describe('Lowest level that is written.'),
  content: z
    .boolean()
    .default(false)
    .describe(
      'Whether log lines may contain text of requests and models, which messages of unexpected errors can include. See [security.md](security.md#what-logs-and-errors-leave-out).',
    ),
  format: z.enum(['text', 'json']).default('text').describe('Text for people, or one JSON object per line.'),
});

export const TelemetryConfig = z.strictObject({
  metrics: z
    .boolean()
    .default(true)
    .describe(
      'Whether `/metrics` is served for Prometheus. With API keys it needs the key of an admin. See [metrics.md](metrics.md).',
    ),
});
