import {
  type Counter,
  type Gauge,
  type Histogram,
  type InstrumentOptions,
  noTelemetry,
  type Telemetry,
} from '../core/telemetry.ts';
import { boundariesFor } from './boundaries.ts';
import { type Readable, ReadableCounter, ReadableGauge, ReadableHistogram } from './instruments.ts';
import type { MetricData, NumberPoint, Reading } from './metric-data.ts';

interface Registered extends Required<Pick<InstrumentOptions, 'unit' | 'description' | 'attributes'>> {
  readonly kind: Reading['kind'];
  readonly instrument: Readable;
}

/** What a metric is, without its values. */
export interface MetricDescription extends Omit<Registered, 'instrument'> {
  readonly name: string;
}

/**
 * Adds up what the code reports to the port, so that it can be read at any time. Parts that use the same name share one
 * instrument; a name that has another kind already records nothing. Spans are not recorded.
 */
export class Metrics implements Telemetry {
  readonly span = noTelemetry.span;
  readonly #byName = new Map<string, Registered>();

  counter(name: string, options?: InstrumentOptions): Counter {
    const found = this.#named('counter', name, options, () => new ReadableCounter());
    return found instanceof ReadableCounter ? found : noTelemetry.counter(name);
  }

  gauge(name: string, options?: InstrumentOptions): Gauge {
    const found = this.#named('gauge', name, options, () => new ReadableGauge());
    return found instanceof ReadableGauge ? found : noTelemetry.gauge(name);
  }

  histogram(name: string, options: InstrumentOptions = {}): Histogram {
    const boundaries = options.boundaries ?? boundariesFor(options.unit);
    const found = this.#named('histogram', name, options, () => new ReadableHistogram(boundaries));
    return found instanceof ReadableHistogram ? found : noTelemetry.histogram(name);
  }

  /** Adds an instrument whose values are measured each time when the metrics are read. */
  observe(
    kind: 'counter' | 'gauge',
    name: string,
    options: InstrumentOptions,
    measure: () => readonly NumberPoint[],
  ): void {
    this.#named(kind, name, options, () => ({ read: () => ({ kind, points: measure() }) }));
  }

  /**
   * Returns what was reported so far, without instruments that have no values. `names` limits it to these instruments,
   * and others are not measured.
   */
  read(names?: ReadonlySet<string>): MetricData[] {
    return [...this.#byName].flatMap(([name, { instrument, unit, description }]) => {
      if (names && !names.has(name)) return [];
      const reading = instrument.read();
      return reading.points.length > 0 ? [{ name, unit, description, ...reading }] : [];
    });
  }

  /** Returns what every instrument is, in the order of their registration. */
  describe(): MetricDescription[] {
    return [...this.#byName].map(([name, { kind, unit, description, attributes }]) => {
      return { name, kind, unit, description, attributes };
    });
  }

  /** Returns the instrument of this name, or registers the one that `make` returns. */
  #named(
    kind: Reading['kind'],
    name: string,
    { unit = '', description = '', attributes = [] }: InstrumentOptions = {},
    make: () => Readable,
  ): Readable {
    const found = this.#byName.get(name);
    if (found) return found.instrument;
    const instrument = make();
    this.#byName.set(name, { kind, unit, description, attributes, instrument });
    return instrument;
  }
}
