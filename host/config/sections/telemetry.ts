import * as z from 'zod';

export const TelemetryConfig = z.strictObject({
  metrics: z
    .boolean()
    .default(true)
    .describe(
      'Whether `/metrics` is served for Prometheus. With API keys it needs the key of an admin. See [metrics.md](metrics.md).',
    ),
});
