import { gzip as gzipCallback } from 'node:zlib';
import { promisify } from 'node:util';
import { delay } from '../../core/abort.ts';
import type { LogRecord } from '../../core/log/logger.ts';
import type { Attributes } from '../../core/telemetry.ts';
import type { SpanRecord } from '../traces/span-record.ts';
import { jsonWithExemplars, protobufWithExemplars } from './otlp-exemplars.ts';
import type { MetricReport } from './otlp-metrics.ts';

/** The answer of a collector. */
export interface CollectorAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Uint8Array;
}

/**
 * Posts a message to the collector. Redirects are not followed. Rejects when there is no answer, with a message that
 * has no secrets.
 */
export type PostToCollector = (
  headers: Readonly<Record<string, string>>,
  body: Uint8Array,
  signal: AbortSignal,
) => Promise<CollectorAnswer>;

export interface OtlpOptions {
  readonly post: PostToCollector;
  readonly protocol: 'http/protobuf' | 'http/json';
  /** Headers of the requests, such as the key of a service. */
  readonly headers: Readonly<Record<string, string>>;
  readonly compression: 'none' | 'gzip';
  /** Facts about this process. */
  readonly resource: Attributes;
  readonly version: string;
}

/** Sends a message. Resolves with the number of items that the collector refused, and rejects when it got none. */
export type Send<T> = (value: T, signal: AbortSignal) => Promise<number>;

const gzip = promisify(gzipCallback);
/** Statuses after which the same request may succeed. Source: OTLP's specification. */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const FIRST_RETRY_MS = 1000;
const RETRY_GROWTH = 1.5;

/** The answer of a collector that takes the same request at no time. */
class Refused extends Error {
  override readonly name = 'CollectorRefused';
}

/** The answer of a collector that may take the same request later. */
class NotNow extends Error {
  override readonly name = 'CollectorUnavailable';
  readonly retryAfterMs: number | undefined;

  constructor(message: string, retryAfterMs?: number) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * Returns a function that sends spans by OTLP over HTTP. OpenTelemetry's packages write the messages, and are loaded
 * now. Requests are sent without their exporter, because nothing ends its requests and its pauses between them early.
 */
export async function otlpSender(options: OtlpOptions): Promise<Send<readonly SpanRecord[]>> {
  const { JsonTraceSerializer, ProtobufTraceSerializer } = await import('@opentelemetry/otlp-transformer');
  const { readableSpanOf } = await import('./readable-span.ts');
  const send = messageSender(options, isJson(options) ? JsonTraceSerializer : ProtobufTraceSerializer);
  const readable = readableSpanOf(options.resource, options.version);
  return async (spans, signal) => {
    const answer = await send(spans.map(readable), signal);
    return Number(answer?.rejectedSpans ?? 0);
  };
}

/** Returns a function that sends metrics, like {@link otlpSender}. */
export async function otlpMetricSender(options: OtlpOptions): Promise<Send<MetricReport>> {
  const { JsonMetricsSerializer, ProtobufMetricsSerializer } = await import('@opentelemetry/otlp-transformer');
  const { otlpMetricsOf } = await import('./otlp-metrics.ts');
  const serializer = isJson(options)
    ? jsonWithExemplars(JsonMetricsSerializer)
    : protobufWithExemplars(ProtobufMetricsSerializer);
  const send = messageSender(options, serializer);
  const metricsOf = otlpMetricsOf(options.resource, options.version);
  return async (report, signal) => {
    const answer = await send(metricsOf(report), signal);
    return Number(answer?.rejectedDataPoints ?? 0);
  };
}

/** Returns a function that sends log lines, like {@link otlpSender}. */
export async function otlpLogSender(options: OtlpOptions): Promise<Send<readonly LogRecord[]>> {
  const { JsonLogsSerializer, ProtobufLogsSerializer } = await import('@opentelemetry/otlp-transformer');
  const { otlpLogOf } = await import('./otlp-logs.ts');
  const send = messageSender(options, isJson(options) ? JsonLogsSerializer : ProtobufLogsSerializer);
  const logOf = otlpLogOf(options.resource, options.version);
  return async (records, signal) => {
    const answer = await send(records.map(logOf), signal);
    return Number(answer?.rejectedLogRecords ?? 0);
  };
}

const isJson = ({ protocol }: OtlpOptions): boolean => protocol === 'http/json';

/** Writes the requests and reads the answers of one kind of messages. */
export interface Serializer<T, P> {
  serializeRequest(value: T): Uint8Array | undefined;
  deserializeResponse(answer: Uint8Array): { readonly partialSuccess?: P };
}

/** Returns a function that sends one message. Resolves with what the collector says about parts that it refused. */
function messageSender<T, P>(
  options: OtlpOptions,
  serializer: Serializer<T, P>,
): (value: T, signal: AbortSignal) => Promise<P | undefined> {
  const headers = {
    ...options.headers,
    'content-type': isJson(options) ? 'application/json' : 'application/x-protobuf',
    ...(options.compression === 'gzip' && { 'content-encoding': 'gzip' }),
  };
  return async (value, signal) => {
    const message = serializer.serializeRequest(value) ?? new Uint8Array();
    const body = options.compression === 'gzip' ? await gzip(message) : message;
    const answer = await retried(() => post(options, headers, body, signal), signal);
    return answer.length > 0 ? serializer.deserializeResponse(answer).partialSuccess : undefined;
  };
}

/** Repeats a request until it succeeds, cannot succeed, or the signal aborts. */
async function retried<T>(send: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let pauseMs = FIRST_RETRY_MS; ; pauseMs *= RETRY_GROWTH) {
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof NotNow)) throw error;
      await delay(error.retryAfterMs ?? pauseMs * (0.8 + 0.4 * Math.random()), signal).catch(() => {
        throw error; // it says more than the end of the time
      });
    }
  }
}

async function post(
  { post: send }: OtlpOptions,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const answer = await send(headers, body, signal).catch((error: unknown) => {
    throw new NotNow(`the collector cannot be reached: ${error instanceof Error ? error.message : String(error)}`);
  });
  const { status } = answer;
  if (status >= 200 && status <= 299) return answer.body;
  const refusal = `the collector answered ${status}`;
  if (!RETRYABLE.has(status)) throw new Refused(refusal);
  const seconds = Number(answer.headers['retry-after'] ?? Number.NaN);
  throw new NotNow(refusal, Number.isFinite(seconds) ? seconds * 1000 : undefined);
}
