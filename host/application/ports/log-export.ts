import type { Config } from '../../config/index.ts';
import type { Logger, LogRecord } from '../../core/log/logger.ts';
import { shortRecord } from '../../core/log/short-record.ts';
import type { Telemetry } from '../../core/telemetry.ts';
import { ExportQueue, logCounters, otlpLogSender } from '../../telemetry/index.ts';
import { otlpOptions } from './otlp-options.ts';

/** The export of the log lines of an application. */
export interface LogExport {
  readonly add: (record: LogRecord) => void;
  /** Sends the last lines. */
  close(): Promise<void>;
}

export interface LogExportOptions {
  /** Name of the application. */
  readonly name: string;
  readonly telemetry: Pick<Telemetry, 'counter'>;
  /** Tells about lines that were dropped. Its own lines must not be exported, because each could cause the next one. */
  readonly log: Logger;
}

/** The shutdown does not wait longer than this for the collector. */
const CLOSE_MS = 2000;

/** Returns the export of log lines as configured; undefined if no collector is configured. */
export function exportLogs(
  config: Config['telemetry'],
  { name, telemetry, log }: LogExportOptions,
): LogExport | undefined {
  const options = otlpOptions(config, 'logs', name);
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
  return { add: (record) => queue.add(shortRecord(record)), close: () => queue.close(CLOSE_MS) };
}
