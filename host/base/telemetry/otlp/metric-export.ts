import { signalWithin } from '../../core/abort.ts';
import type { Logger } from '../../core/log/logger.ts';
import type { Counter, Telemetry } from '../../core/telemetry.ts';
import type { Exemplar, MetricData } from '../metric-data.ts';
import { metricDelta } from './metric-delta.ts';
import type { MetricReport, Temporality } from './otlp-metrics.ts';
import type { Send } from './otlp-sender.ts';

export interface MetricExportOptions {
  /** Returns the totals of all instruments. */
  readonly read: () => readonly MetricData[];
  /** Resolves with the function that sends reports, which is asked for at once. */
  readonly sender: Promise<Send<MetricReport>>;
  readonly temporality: Temporality;
  /** Milliseconds between the beginnings of two exports. */
  readonly intervalMs: number;
  /** Milliseconds that an export may take, repetitions included. */
  readonly timeoutMs: number;
  readonly telemetry: Pick<Telemetry, 'counter'>;
  readonly log: Logger;
}

const LOG_EVERY_MS = 60_000;

/** Returns the counter of exported values, with the name of OpenTelemetry's conventions for SDKs. */
export function metricPointCounter(telemetry: Pick<Telemetry, 'counter'>): Counter {
  return telemetry.counter('otel.sdk.exporter.metric_data_point.exported', {
    unit: '{data_point}',
    description: 'Values of metrics that were sent to a collector, by the reason if it did not take them.',
    attributes: ['error.type'],
  });
}

/**
 * Sends the metrics of a host from time to time, one report at a time. A report that does not arrive is not kept,
 * because the next one has its totals, or covers its time too.
 */
export class MetricExport {
  readonly #options: MetricExportOptions;
  readonly #exported: Counter;
  readonly #timer: NodeJS.Timeout;
  readonly #closing = new AbortController();
  readonly #startedAt = Date.now();
  /** The totals that the collector has, and their time. */
  #sent: { readonly at: number; readonly metrics: readonly MetricData[] } = { at: this.#startedAt, metrics: [] };
  /** The exemplars that the collector has and that are still the last ones of their buckets. */
  #sentExemplars: ReadonlySet<Exemplar> = new Set();
  #sending: Promise<void> | undefined;
  #loggedAt = Number.NEGATIVE_INFINITY;

  constructor(options: MetricExportOptions) {
    this.#options = options;
    options.sender.catch(() => {}); // each export reports it
    this.#exported = metricPointCounter(options.telemetry);
    this.#timer = setInterval(() => this.#start(), options.intervalMs).unref();
  }

  /** Sends the last totals for up to `graceMs`. May be called twice. */
  async close(graceMs: number): Promise<void> {
    clearInterval(this.#timer);
    if (this.#closing.signal.aborted) return;
    const timer = setTimeout(() => this.#closing.abort(), graceMs);
    await this.#sending;
    this.#start();
    await this.#sending;
    clearTimeout(timer);
    this.#closing.abort();
  }

  #start(): void {
    this.#sending ??= this.#send().finally(() => (this.#sending = undefined));
  }

  async #send(): Promise<void> {
    const { read, sender, temporality, timeoutMs } = this.#options;
    const at = Date.now();
    const totals = read();
    const isDelta = temporality === 'delta';
    const metrics = isDelta ? metricDelta(this.#sent.metrics, totals) : totals;
    const points = metrics.reduce((sum, metric) => sum + metric.points.length, 0);
    if (points === 0) return;
    try {
      const signal = signalWithin(timeoutMs, this.#closing.signal);
      const startedAt = isDelta ? this.#sent.at : this.#startedAt;
      const hasExemplar = (one: Exemplar): boolean => this.#sentExemplars.has(one);
      const report = { metrics, temporality, startedAt, endedAt: at, hasExemplar };
      const refused = await (await sender)(report, signal);
      this.#sent = { at, metrics: totals };
      this.#sentExemplars = new Set(exemplarsOf(totals));
      this.#exported.add(points - refused);
      if (refused > 0) this.#lose(refused, 'the collector refused some values', 'rejected');
    } catch (error) {
      const { name, message } = error as Error;
      this.#lose(points, message, name);
    }
  }

  #lose(points: number, reason: string, type: string): void {
    this.#exported.add(points, { 'error.type': type });
    if (performance.now() - this.#loggedAt < LOG_EVERY_MS) return;
    this.#loggedAt = performance.now();
    this.#options.log.warn('metrics not exported', { values: points, reason });
  }
}

function exemplarsOf(totals: readonly MetricData[]): Exemplar[] {
  return totals.flatMap((metric) =>
    metric.kind === 'histogram'
      ? metric.points.flatMap(({ exemplars = [] }) => exemplars.filter((one) => one !== undefined))
      : [],
  );
}
