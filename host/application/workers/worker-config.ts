import type { Config } from '../../base/config/index.ts';
import type { WorkerRole } from './link.ts';

/**
 * Returns the configuration of a worker, which differs from that of the application where processes must not do the
 * same: each has a file of usage, because they would rotate one at the same time, and the controller exports the log.
 */
export function workerConfig({ worker, config }: Pick<WorkerRole, 'worker' | 'config'>): Config {
  const { usage, telemetry } = config;
  const { file } = usage;
  return {
    ...config,
    usage: { ...usage, file: { ...file, path: file.path === null ? null : `${file.path}.worker-${worker}` } },
    telemetry: { ...telemetry, otlp: { ...telemetry.otlp, logs_exporter: ['none'] } },
  };
}
