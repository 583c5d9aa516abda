import * as z from 'zod';
import { LOG_AREAS } from '../../core/log/log-levels.ts';

const LogLevel = z.enum(['debug', 'info', 'warn', 'error']);

export const LogConfig = z.strictObject({
  level: LogLevel.default('info').describe('Lowest level that is written.'),
  levels: z
    .partialRecord(z.enum(LOG_AREAS), LogLevel)
    .default({})
    .describe(
      `Other levels for areas of the host: \`{ "http": "debug" }\`. Areas are ${LOG_AREAS.map((area) => `\`${area}\``).join(', ')}. See [operating.md](operating.md#logs).`,
    ),
  content: z
    .boolean()
    .default(false)
    .describe(
      'Whether log lines may contain text of requests and models, which messages of unexpected errors can include. See [security.md](security.md#what-logs-and-errors-leave-out).',
    ),
  format: z.enum(['text', 'json']).default('text').describe('Text for people, or one JSON object per line.'),
});

const httpUrl = (description: string) =>
  z
    .url({ protocol: /^https?$/, error: 'must be an address such as http://127.0.0.1:4318' })
    .nullable()
    .default(null)
    .describe(description);

const pairs = z.array(z.string().regex(/^[\w!#$%&'*+.^`|~-]+\s*=[\t\x20-\x7e]*$/, 'must be name=value')).default([]);

const milliseconds = (value: number, description: string) =>
  z.int().min(1).max(3_600_000).default(value).describe(description);

const TracesConfig = z.strictObject({
  kept: z
    .int()
    .min(0)
    .max(1000)
    .default(50)
    .describe(
      'Number of failed and of slow requests whose spans are kept in memory for `/api/traces` and `aana-host traces`; 0 keeps none. See [tracing.md](tracing.md).',
    ),
  slow_s: z.number().min(0).max(86_400).default(1).describe('Seconds from which a request is slow.'),
  sampler: z
    .enum([
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ])
    .default('parentbased_always_on')
    .describe(
      'Which traces are exported. With `parentbased_…`, requests that come with a `traceparent` follow its decision.',
    ),
  sampler_arg: z.number().min(0).max(1).default(1).describe('Part of the traces that `…traceidratio` exports.'),
  propagate_to: z
    .array(z.string().regex(/^(\*\.)?[a-z0-9.:[\]-]+$/, 'must be a host such as api.example.org or *.example.org'))
    .default([])
    .describe(
      'Hosts that get a `traceparent` with the requests of plugins: `api.example.org`, or `*.example.org` for all below it. Others learn nothing of a trace.',
    ),
});

const OtlpConfig = z.strictObject({
  disabled: z.boolean().default(false).describe('Whether nothing is exported, whatever the other keys say.'),
  endpoint: httpUrl(
    'Address of a collector. Spans go to the path `/v1/traces` below it, and metrics to `/v1/metrics`. Default: they stay here.',
  ),
  traces_endpoint: httpUrl('The whole URL for spans. Takes precedence over `endpoint`.'),
  metrics_endpoint: httpUrl('The whole URL for metrics. Takes precedence over `endpoint`.'),
  metrics_exporter: z
    .array(z.enum(['otlp', 'prometheus', 'none']))
    .default(['otlp'])
    .describe(
      'Whether metrics go to the collector (`otlp`) or not (`none`, `prometheus`). `/metrics` does not depend on it.',
    ),
  metrics_headers: pairs.nullable().default(null).describe('Headers of requests with metrics, instead of `headers`.'),
  metrics_interval_ms: milliseconds(60_000, 'Time between two exports of metrics.'),
  metrics_timeout_ms: milliseconds(30_000, 'Longest time of an export of metrics with its repetitions.'),
  metrics_temporality: z
    .enum(['cumulative', 'delta'], 'must be "cumulative" or "delta"')
    .default('cumulative')
    .describe('Whether counters and histograms are sent as totals since the start, or since the export before.'),
  protocol: z
    .enum(['http/protobuf', 'http/json'], 'must be "http/protobuf" or "http/json"; gRPC is not supported')
    .default('http/protobuf')
    .describe('Form of the messages.'),
  headers: pairs.describe(
    'Headers of the requests to the collector, each as `name=value` with percent-encoded values.',
  ),
  compression: z.enum(['none', 'gzip']).default('none').describe('Compression of the messages.'),
  timeout_ms: milliseconds(10_000, 'Longest time of a request to the collector.'),
  schedule_delay_ms: milliseconds(5000, 'Longest time that a span waits for others.'),
  export_timeout_ms: milliseconds(30_000, 'Longest time of a batch with its repetitions. Then it is dropped.'),
  max_queue_size: z.int().min(1).max(1_000_000).default(2048).describe('Most spans that wait. More are dropped.'),
  max_export_batch_size: z.int().min(1).max(100_000).default(512).describe('Most spans of one request.'),
});

export const TelemetryConfig = z.strictObject({
  metrics: z
    .boolean()
    .default(true)
    .describe(
      'Whether `/metrics` is served for Prometheus. With API keys it needs the key of an admin. See [metrics.md](metrics.md).',
    ),
  traces: TracesConfig.prefault({}).describe('The traces of requests.'),
  service_name: z
    .string()
    .min(1)
    .max(255)
    .nullable()
    .default(null)
    .describe('`service.name` of exported spans and metrics. Default: the name of the application.'),
  resource_attributes: pairs.describe(
    'Further facts about this process in exported spans and metrics, each as `name=value`.',
  ),
  otlp: OtlpConfig.prefault({}).describe('The export of spans and metrics by OTLP over HTTP.'),
});

export const DashboardConfig = z.strictObject({
  enabled: z
    .boolean()
    .default(true)
    .describe(
      'Whether `aana-host serve` and `aana-host deploy` serve the dashboard. Programs that embed the application call `openDashboard`. See [operating.md](operating.md#the-dashboard).',
    ),
  host: z
    .string()
    .min(1)
    .default('127.0.0.1')
    .describe('Address on which the dashboard listens. Beyond this machine, put a proxy with TLS in front of it.'),
  port: z
    .int()
    .min(0)
    .max(65_535)
    .default(8265)
    .describe('Port of the dashboard. Another free port is used if it is taken; 0 means any free port.'),
  token: z
    .string()
    .min(16)
    .max(200)
    .regex(/^[\w~-]+$/, 'must have only letters, digits, "-", "_" and "~"')
    .nullable()
    .default(null)
    .describe(
      'What opens the dashboard, besides the API keys of admins. `null`: a new one at each start, which is printed.',
    ),
});
