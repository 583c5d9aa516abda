import type { Config } from '../../base/config/index.ts';
import type { KeptRecord } from '../../base/core/log/log-ring.ts';
import { LOG_LEVELS, type Logger, type LogRecord } from '../../base/core/log/logger.ts';
import type { Telemetry } from '../../base/core/telemetry.ts';
import { ExportQueue, logCounters, otlpLogSender } from '../../base/telemetry/index.ts';
import { type ExportSource, otlpOptions } from './otlp-options.ts';

/** The export of the log lines of an application. */
export interface LogExport {
  readonly add: (record: KeptRecord) => void;
  /** Sends the last lines. */
  close(): Promise<void>;
}

export interface LogExportOptions extends ExportSource {
  readonly telemetry: Pick<Telemetry, 'counter'>;
  /** Of the area {@link OWN_AREA}. Tells about lines that were dropped. */
  readonly log: Logger;
}

/** The area of lines about exports, which are not exported, because each could cause the next one. */
export const OWN_AREA = 'telemetry';

/** The shutdown does not wait longer than this for the collector. */
const CLOSE_MS = 2000;

/** Returns the export of log lines as configured; undefined if no collector is configured. */
export function exportLogs(
  config: Config['telemetry'],
  { telemetry, log, ...source }: LogExportOptions,
): LogExport | undefined {
  const options = otlpOptions(config, 'logs', source);
  if (!options) return undefined;
  const { otlp } = config;
  const queue = new ExportQueue<LogRecord>({
    noun: 'log records',
    sender: otlpLogSender(options),
    maxQueueSize: otlp.logs_max_queue_size,
    maxBatchSize: otlp.logs_max_export_batch_size,
    scheduleDelayMs: otlp.logs_schedule_delay_ms,
    exportTimeoutMs: otlp.logs_export_timeout_ms,
    counters: logCounters(telemetry),
    log,
  });
  const followsTraces = otlpOptions(config, 'traces', source) !== undefined;
  return {
    add: (record) => {
      const staysHere = record.field('area') === OWN_AREA || (followsTraces && isOfUnsampledTrace(record));
      if (!staysHere) queue.add(record);
    },
    close: () => queue.close(CLOSE_MS),
  };
}

/**
 * Whether a line stays here because the collector does not get the spans of its request either. The line of each
 * request would cost more than all other telemetry together.
 */
function isOfUnsampledTrace(record: KeptRecord): boolean {
  return (
    LOG_LEVELS[record.level] < LOG_LEVELS.warn &&
    record.field('traceId') !== undefined &&
    record.field('spanId') === undefined
  );
}
