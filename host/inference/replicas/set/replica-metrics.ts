import type { Attributes, Counter, Gauge, Histogram, Telemetry } from '../../../base/core/telemetry.ts';
import type { ReplicaMetric } from '../../rpc/replica-metrics.ts';

/** Metrics of one process. */
export interface ProcessMetrics {
  report(metrics: readonly ReplicaMetric[]): void;
  /** Called when the process is gone. Counters and histograms that arrive later still count. */
  close(): void;
}

/** Most instruments of a deployment. Metrics beyond it are not recorded. */
const MAX_INSTRUMENTS = 200;

/**
 * Records what the replicas of a deployment measure. Counters go on when a replica is restarted, and gauges are the
 * sums over the processes that run.
 */
export class ReplicaMetrics {
  readonly #deployment: string;
  readonly #telemetry: Telemetry;
  readonly #counters = new Map<string, Counter>();
  readonly #histograms = new Map<string, Histogram>();
  readonly #gauges = new Map<string, SummedGauge>();

  constructor(deployment: string, telemetry: Telemetry) {
    this.#deployment = deployment;
    this.#telemetry = telemetry;
  }

  /** Returns the metrics of a new process. */
  open(): ProcessMetrics {
    const process = Symbol();
    const totals = new Map<string, number>();
    let isOpen = true;
    return {
      report: (metrics) => {
        for (const metric of metrics) this.#record(metric, isOpen ? process : undefined, totals);
      },
      close: () => {
        isOpen = false;
        for (const gauge of this.#gauges.values()) gauge.remove(process);
      },
    };
  }

  #record(metric: ReplicaMetric, process: symbol | undefined, totals: Map<string, number>): void {
    const { name, kind, unit, description } = metric;
    const options = { unit, description };
    for (const { value, attributes: own } of metric.values) {
      if (!Number.isFinite(value)) continue;
      const attributes = { ...own, 'aana.deployment': this.#deployment };
      const series = JSON.stringify([name, own]);
      if (kind === 'counter') {
        const added = value - (totals.get(series) ?? 0);
        totals.set(series, Math.max(value, totals.get(series) ?? 0));
        if (added > 0)
          this.#instrument(this.#counters, name, () => this.#telemetry.counter(name, options))?.add(added, attributes);
      } else if (kind === 'histogram') {
        this.#instrument(this.#histograms, name, () => this.#telemetry.histogram(name, options))?.record(
          value,
          attributes,
        );
      } else if (process) {
        const make = (): SummedGauge => new SummedGauge(this.#telemetry.gauge(name, options));
        this.#instrument(this.#gauges, name, make)?.set(process, value, attributes);
      }
    }
  }

  #instrument<Instrument>(
    known: Map<string, Instrument>,
    name: string,
    make: () => Instrument,
  ): Instrument | undefined {
    const found = known.get(name);
    if (found || this.#counters.size + this.#histograms.size + this.#gauges.size >= MAX_INSTRUMENTS) return found;
    const made = make();
    known.set(name, made);
    return made;
  }
}

/** A gauge whose value is the sum of the values of processes. */
class SummedGauge {
  readonly #gauge: Gauge;
  readonly #series = new Map<string, { readonly attributes: Attributes; readonly values: Map<symbol, number> }>();

  constructor(gauge: Gauge) {
    this.#gauge = gauge;
  }

  set(process: symbol, value: number, attributes: Attributes): void {
    const key = JSON.stringify(attributes);
    const series = this.#series.get(key) ?? { attributes, values: new Map<symbol, number>() };
    this.#series.set(key, series);
    series.values.set(process, value);
    this.#report(series);
  }

  remove(process: symbol): void {
    for (const series of this.#series.values()) if (series.values.delete(process)) this.#report(series);
  }

  #report({ attributes, values }: { readonly attributes: Attributes; readonly values: Map<symbol, number> }): void {
    this.#gauge.set(
      [...values.values()].reduce((sum, value) => sum + value, 0),
      attributes,
    );
  }
}
