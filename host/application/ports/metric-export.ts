import type { Config } from '../../base/config/index.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import { MetricExport, type Metrics, otlpMetricSender } from '../../base/telemetry/index.ts';
import { type ExportSource, otlpOptions } from './otlp-options.ts';

/** The shutdown does not wait longer than this for the collector. */
const CLOSE_MS = 2000;

/**
 * Exports metrics as configured. Returns the function that sends the last ones and ends the export; undefined if no
 * collector is configured.
 */
export function exportMetrics(
  config: Config['telemetry'],
  { metrics, log, ...source }: ExportSource & { readonly metrics: Metrics; readonly log: Logger },
): (() => Promise<void>) | undefined {
  const options = otlpOptions(config, 'metrics', source);
  if (!options) return undefined;
  const { otlp } = config;
  const exporting = new MetricExport({
    read: () => metrics.read(),
    sender: otlpMetricSender(options),
    temporality: otlp.metrics_temporality,
    intervalMs: otlp.metrics_interval_ms,
    timeoutMs: otlp.metrics_timeout_ms,
    telemetry: metrics,
    log,
  });
  return () => exporting.close(CLOSE_MS);
}
