import * as z from 'zod';
import { amount, toggle, whole } from '../../core/fields.ts';
import { LOG_AREAS } from '../../core/log/log-levels.ts';
import { settings } from '../registry.ts';

const LogLevel = z.enum(['debug', 'info', 'warn', 'error']);

export const LogConfig = z.strictObject({
  level: LogLevel.default('info')
    .describe('Lowest level that is written.')
    .register(settings, { flag: '--log-level <level>', isCommonFlag: true }),
  levels: z
    .partialRecord(z.enum(LOG_AREAS), LogLevel)
    .default({})
    .describe(
      `Other levels for areas of the host: \`{ "http": "debug" }\`. Areas are ` +
        `${LOG_AREAS.map((area) => `\`${area}\``).join(', ')}. See [operating.md](operating.md#logs).`,
    ),
  content: toggle(
    false,
    'Whether log lines may contain text of requests and models, which messages of unexpected errors can include. ' +
      'See [security.md](security.md#what-logs-and-errors-leave-out).',
  ),
  format: z
    .enum(['text', 'json'])
    .default('text')
    .describe('Text for people, or one JSON object per line.')
    .register(settings, { flag: '--log-format <format>', isCommonFlag: true }),
});

const httpUrl = (description: string) =>
  z
    .url({ protocol: /^https?$/, error: 'must be an address such as http://127.0.0.1:4318' })
    .nullable()
    .default(null)
    .describe(description);

const pairs = z.array(z.string().regex(/^[\w!#$%&'*+.^`|~-]+\s*=[\t\x20-\x7e]*$/, 'must be name=value')).default([]);

const duration = z.int().min(1).max(3_600_000);
const milliseconds = (value: number, description: string) => duration.default(value).describe(description);

const TracesConfig = z.strictObject({
  kept: whole(
    { min: 0, max: 1000, default: 50 },
    'Number of failed and of slow requests whose spans are kept in memory for `/api/traces` and `aana-host ' +
      'traces`; 0 keeps none. See [tracing.md](tracing.md).',
  ),
  content: toggle(
    false,
    'Whether spans have what users and models wrote: prompts and answers of language models, and transcripts, in ' +
      'traces that are kept or exported. See [tracing.md](tracing.md#prompts-answers-and-transcripts).',
  ).register(settings, { env: 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT' }),
  slow_s: amount({ min: 0, max: 86_400, default: 1 }, 'Seconds from which a request is slow.'),
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
    )
    .register(settings, { env: 'OTEL_TRACES_SAMPLER' }),
  sampler_arg: amount({ min: 0, max: 1, default: 1 }, 'Part of the traces that `…traceidratio` exports.').register(
    settings,
    { env: 'OTEL_TRACES_SAMPLER_ARG' },
  ),
  propagate_to: z
    .array(z.string().regex(/^(\*\.)?[a-z0-9.:[\]-]+$/, 'must be a host such as api.example.org or *.example.org'))
    .default([])
    .describe(
      'Hosts that get a `traceparent` with the requests of plugins: `api.example.org`, or `*.example.org` for all ' +
        'below it. Others learn nothing of a trace.',
    ),
});

const protocol = z.enum(
  ['http/protobuf', 'http/json'],
  'must be "http/protobuf" or "http/json"; gRPC is not supported',
);
const compression = z.enum(['none', 'gzip'], 'must be "none" or "gzip"');

/** Keys of one signal that take precedence over those of all signals. `what` is what the messages contain. */
const ofSignal = <const S extends string>(signal: S, what: string) => {
  const instead = (key: string): string => `For ${what}, instead of \`${key}\`.`;
  return {
    [`${signal}_endpoint`]: httpUrl(`The whole URL for ${what}. Takes precedence over \`endpoint\`.`),
    [`${signal}_headers`]: pairs.nullable().default(null).describe(instead('headers')),
    [`${signal}_protocol`]: protocol.nullable().default(null).describe(instead('protocol')),
    [`${signal}_compression`]: compression.nullable().default(null).describe(instead('compression')),
    [`${signal}_request_timeout_ms`]: duration
      .nullable()
      .default(null)
      .describe(instead('timeout_ms'))
      .register(settings, { env: `OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_TIMEOUT` }),
  } as OwnKeys<S>;
};

type OwnKeys<S extends string> = Record<`${S}_endpoint`, ReturnType<typeof httpUrl>> &
  Record<`${S}_headers`, z.ZodDefault<z.ZodNullable<typeof pairs>>> &
  Record<`${S}_protocol`, z.ZodDefault<z.ZodNullable<typeof protocol>>> &
  Record<`${S}_compression`, z.ZodDefault<z.ZodNullable<typeof compression>>> &
  Record<`${S}_request_timeout_ms`, z.ZodDefault<z.ZodNullable<typeof duration>>>;

/** Names of exporters. `error` lists them, because the default one does not say which are wrong. */
const exporters = <const N extends readonly [string, ...string[]]>(...names: N) =>
  z.array(z.enum(names, `must be ${names.map((name) => `"${name}"`).join(' or ')}`)).default(['otlp' as N[number]]);

const maxQueueSize = z.int().min(1).max(1_000_000).default(2048);
const maxBatchSize = z.int().min(1).max(100_000).default(512);

const OtlpConfig = z.strictObject({
  disabled: toggle(false, 'Whether nothing is exported, whatever the other keys say.').register(settings, {
    env: 'OTEL_SDK_DISABLED',
  }),
  endpoint: httpUrl(
    'Address of a collector. Spans go to the path `/v1/traces` below it, metrics to `/v1/metrics`, and log lines to ' +
      '`/v1/logs`. Default: they stay here.',
  ),
  protocol: protocol.default('http/protobuf').describe('Form of the messages.'),
  headers: pairs.describe(
    'Headers of the requests to the collector, each as `name=value` with percent-encoded values.',
  ),
  compression: compression.default('none').describe('Compression of the messages.'),
  timeout_ms: milliseconds(10_000, 'Longest time of a request to the collector.').register(settings, {
    env: 'OTEL_EXPORTER_OTLP_TIMEOUT',
  }),
  traces_exporter: exporters('otlp', 'none')
    .describe('Whether spans go to the collector (`otlp`) or not (`none`).')
    .register(settings, { env: 'OTEL_TRACES_EXPORTER' }),
  ...ofSignal('traces', 'spans'),
  metrics_exporter: exporters('otlp', 'prometheus', 'none')
    .describe(
      'Whether metrics go to the collector (`otlp`) or not (`none`, `prometheus`). `/metrics` does not depend on it.',
    )
    .register(settings, { env: 'OTEL_METRICS_EXPORTER' }),
  ...ofSignal('metrics', 'metrics'),
  metrics_interval_ms: milliseconds(60_000, 'Time between two exports of metrics.').register(settings, {
    env: 'OTEL_METRIC_EXPORT_INTERVAL',
  }),
  metrics_timeout_ms: milliseconds(30_000, 'Longest time of an export of metrics with its repetitions.').register(
    settings,
    { env: 'OTEL_METRIC_EXPORT_TIMEOUT' },
  ),
  metrics_temporality: z
    .enum(['cumulative', 'delta'], 'must be "cumulative" or "delta"')
    .default('cumulative')
    .describe('Whether counters and histograms are sent as totals since the start, or since the export before.')
    .register(settings, { env: 'OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE' }),
  logs_exporter: exporters('otlp', 'console', 'none')
    .describe(
      'Whether log lines go to the collector (`otlp`) or not (`none`, `console`). They are written to the standard ' +
        'error all the same.',
    )
    .register(settings, { env: 'OTEL_LOGS_EXPORTER' }),
  ...ofSignal('logs', 'log lines'),
  schedule_delay_ms: milliseconds(5000, 'Longest time that a span waits for others.').register(settings, {
    env: 'OTEL_BSP_SCHEDULE_DELAY',
  }),
  export_timeout_ms: milliseconds(
    30_000,
    'Longest time of a batch of spans with its repetitions. Then it is dropped.',
  ).register(settings, { env: 'OTEL_BSP_EXPORT_TIMEOUT' }),
  max_queue_size: maxQueueSize
    .describe('Most spans that wait. More are dropped.')
    .register(settings, { env: 'OTEL_BSP_MAX_QUEUE_SIZE' }),
  max_export_batch_size: maxBatchSize
    .describe('Most spans of one request.')
    .register(settings, { env: 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE' }),
  logs_schedule_delay_ms: milliseconds(1000, 'Longest time that a log line waits for others.').register(settings, {
    env: 'OTEL_BLRP_SCHEDULE_DELAY',
  }),
  logs_export_timeout_ms: milliseconds(
    30_000,
    'Longest time of a batch of log lines with its repetitions. Then it is dropped.',
  ).register(settings, { env: 'OTEL_BLRP_EXPORT_TIMEOUT' }),
  logs_max_queue_size: maxQueueSize
    .describe('Most log lines that wait. More are dropped.')
    .register(settings, { env: 'OTEL_BLRP_MAX_QUEUE_SIZE' }),
  logs_max_export_batch_size: maxBatchSize
    .describe('Most log lines of one request.')
    .register(settings, { env: 'OTEL_BLRP_MAX_EXPORT_BATCH_SIZE' }),
});

export const TelemetryConfig = z.strictObject({
  metrics: toggle(
    true,
    'Whether `/metrics` is served for Prometheus. With API keys it needs the key of an admin. See ' +
      '[metrics.md](metrics.md).',
  ).register(settings, { env: 'AANA_METRICS' }),
  traces: TracesConfig.prefault({}).describe('The traces of requests.').register(settings, { prefix: 'AANA_TRACES_' }),
  service_name: z
    .string()
    .min(1)
    .max(255)
    .nullable()
    .default(null)
    .describe('`service.name` of what is exported. Default: the name of the application.')
    .register(settings, { env: 'OTEL_SERVICE_NAME' }),
  resource_attributes: pairs
    .describe('Further facts about this process in what is exported, each as `name=value`.')
    .register(settings, { env: 'OTEL_RESOURCE_ATTRIBUTES' }),
  otlp: OtlpConfig.prefault({})
    .describe('The export of spans, metrics and log lines by OTLP over HTTP.')
    .register(settings, { prefix: 'OTEL_EXPORTER_OTLP_' }),
});

export const DashboardConfig = z.strictObject({
  enabled: toggle(
    true,
    'Whether `aana-host serve` and `aana-host deploy` serve the dashboard. Programs that embed the application ' +
      'call `openDashboard`. See [operating.md](operating.md#the-dashboard).',
  ).register(settings, { env: 'AANA_DASHBOARD', flag: '--no-dashboard' }),
  host: z
    .string()
    .min(1)
    .default('127.0.0.1')
    .describe('Address on which the dashboard listens. Beyond this machine, put a proxy with TLS in front of it.')
    .register(settings, { flag: '--dashboard-host <address>' }),
  port: whole(
    { min: 0, max: 65_535, default: 8265 },
    'Port of the dashboard. Another free port is used if it is taken; 0 means any free port.',
  ).register(settings, { flag: '--dashboard-port <number>' }),
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
