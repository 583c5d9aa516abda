import type { Config } from '../../base/config/index.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import type { Telemetry } from '../../base/core/telemetry.ts';
import { ExportQueue, KeptTraces, otlpSender, samplerOf, spanCounters, Tracer } from '../../base/telemetry/index.ts';
import { type ExportSource, otlpOptions } from './otlp-options.ts';

/** The spans of an application. */
export interface Tracing {
  readonly span: Telemetry['span'];
  /** The last failed and slow requests. Undefined if none are kept. */
  readonly kept: KeptTraces | undefined;
  /** Sends the last spans. */
  close(): Promise<void>;
}

export interface TracingOptions extends ExportSource {
  readonly telemetry: Telemetry;
  readonly log: Logger;
}

/** The shutdown does not wait longer than this for the collector. */
const CLOSE_MS = 2000;

/** Returns the recording of spans as configured; undefined if nothing reads them. */
export function tracingFrom(
  config: Config['telemetry'],
  { telemetry, log, ...source }: TracingOptions,
): Tracing | undefined {
  const { traces, otlp } = config;
  const options = otlpOptions(config, 'traces', source);
  if (!options && traces.kept === 0) return undefined;
  const kept = traces.kept === 0 ? undefined : new KeptTraces({ limit: traces.kept, slowMs: traces.slow_s * 1000 });
  const queue =
    options &&
    new ExportQueue({
      noun: 'spans',
      sender: otlpSender(options),
      maxQueueSize: otlp.max_queue_size,
      maxBatchSize: otlp.max_export_batch_size,
      scheduleDelayMs: otlp.schedule_delay_ms,
      exportTimeoutMs: otlp.export_timeout_ms,
      counters: spanCounters(telemetry),
      log,
    });
  const tracer = new Tracer({
    // Without an exporter, a trace that began here is of no use to other servers.
    sampler: samplerOf(queue ? traces.sampler : 'parentbased_always_off', traces.sampler_arg),
    onSpan: queue && ((span) => queue.add(span)),
    onTrace: kept && ((trace) => kept.add(trace)),
  });
  return { span: tracer.span, kept, close: async () => queue?.close(CLOSE_MS) };
}
