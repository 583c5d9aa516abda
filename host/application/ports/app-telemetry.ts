import type { Config } from '../../base/config/index.ts';
import { inArea } from '../../base/core/log/log-levels.ts';
import type { LogRing } from '../../base/core/log/log-ring.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import { noTelemetry, type Telemetry, withSpans } from '../../base/core/telemetry.ts';
import type { PluginSet } from '../../endpoints/plugins/index.ts';
import type { DeploymentManager } from '../../inference/deployments/index.ts';
import type { Network } from '../../io/outgoing/index.ts';
import {
  type Format,
  type KeptTraces,
  Metrics,
  metricsText,
  type RequestTotals,
  requestTotals,
  routeWork,
} from '../../base/telemetry/index.ts';
import { observeApplication, watchLoad } from '../metrics/observe-application.ts';
import { exportLogs, type LogExport, OWN_AREA } from './log-export.ts';
import { exportMetrics } from './metric-export.ts';
import { type Tracing, tracingFrom } from './tracing.ts';

export interface AppTelemetryOptions {
  /** Name of the application. */
  readonly name: string;
  readonly config: Config['telemetry'];
  /** Through it collectors are reached. */
  readonly network: Network;
  /** The program's own telemetry, which gets everything in place of the metrics and traces of the host. */
  readonly own: Telemetry | undefined;
  /** Without an area. */
  readonly log: Logger;
  /** The records of the log, which are exported if a collector is configured. */
  readonly logs: LogRing;
}

/** What an application measures: its metrics, its traces, and where both go. */
export class AppTelemetry {
  /** To it the parts of the application report. */
  readonly port: Telemetry;
  /** The load of the last minutes. Undefined without metrics. */
  readonly load: ReturnType<typeof watchLoad> | undefined;
  readonly #name: string;
  readonly #metrics: Metrics | undefined;
  readonly #tracing: Tracing | undefined;
  readonly #endExport: (() => Promise<void>) | undefined;
  readonly #logExport: LogExport | undefined;
  readonly #closed = new AbortController();
  #stopMeasuring: (() => void) | undefined;

  constructor({ name, config, network, own, log, logs }: AppTelemetryOptions) {
    const ofTelemetry = { name, network, until: this.#closed.signal, log: inArea(log, OWN_AREA) };
    this.#name = name;
    const metrics = config.metrics && !own ? new Metrics() : undefined;
    this.#metrics = metrics;
    const reports = own ?? metrics ?? noTelemetry;
    this.#tracing = own ? undefined : tracingFrom(config, { ...ofTelemetry, telemetry: reports });
    this.port = this.#tracing ? withSpans(reports, this.#tracing.span, config.traces.content) : reports;
    this.load = metrics && watchLoad(metrics);
    this.#endExport = metrics && exportMetrics(config, { ...ofTelemetry, metrics });
    const logExport = own ? undefined : exportLogs(config, { ...ofTelemetry, telemetry: reports });
    this.#logExport = logExport;
    if (logExport) logs.onRecord(logExport.add);
  }

  /** The last failed and slow requests. Undefined if none are kept. */
  get traces(): KeptTraces | undefined {
    return this.#tracing?.kept;
  }

  /** Returns how many requests were answered since the start, and how many failed. Undefined without metrics. */
  get requests(): (() => RequestTotals) | undefined {
    const metrics = this.#metrics;
    return metrics && (() => requestTotals(metrics));
  }

  /** Returns the metrics for Prometheus or in OpenMetrics. Undefined without metrics. */
  get metricsText(): ((format: Format) => string) | undefined {
    const metrics = this.#metrics;
    return metrics && ((format) => metricsText(metrics.read(), { 'service.name': this.#name }, format));
  }

  /** Returns the requests of every route since the start. Undefined without metrics. */
  readonly routeWork = (): ReturnType<typeof routeWork> | undefined => this.#metrics && routeWork(this.#metrics);

  /** Returns how many attempts to deliver webhooks this host has made; 0 without metrics. */
  readonly deliveryAttempts = (): number => this.#recorded('aana.webhook.attempt.duration');

  /** Measures the state of plugins from now on, and that of deployments in the controller. */
  observe(deployments: DeploymentManager | undefined, plugins: PluginSet): void {
    this.#stopMeasuring = this.#metrics && observeApplication(this.#metrics, deployments, plugins);
  }

  /** Sends the last spans, metrics and log lines, and ends the connections to collectors. */
  async close(): Promise<void> {
    await Promise.all([this.#tracing?.close(), this.#endExport?.(), this.#logExport?.close()]);
    this.#closed.abort();
    this.#stopMeasuring?.();
    this.load?.stop();
  }

  /** Returns the number of values of a histogram. */
  #recorded(name: string): number {
    return (this.#metrics?.read(new Set([name])) ?? [])
      .flatMap((metric) => (metric.kind === 'histogram' ? metric.points : []))
      .reduce((sum, { counts }) => counts.reduce((all, count) => all + count, sum), 0);
  }
}
