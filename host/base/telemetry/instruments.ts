import type { Attributes, Counter, Gauge, Histogram } from '../core/telemetry.ts';
import { AttributeSeries } from './attribute-series.ts';
import type { Exemplar, NumberPoint, Reading } from './metric-data.ts';

/** An instrument whose values can be read. */
export interface Readable {
  read(): Reading;
}

const NONE: Attributes = {};
/** The end of the place of a sampled trace. */
const SAMPLED = '-01';

interface HistogramState {
  sum: number;
  readonly counts: number[];
  /** By bucket. Undefined before the first value of a sampled trace. */
  exemplars: (Exemplar | undefined)[] | undefined;
}

export class ReadableCounter implements Counter, Readable {
  readonly #totals = new AttributeSeries(() => ({ value: 0 }));

  /** Adds a number above 0. Others are ignored, because a counter never falls. */
  add(value = 1, attributes = NONE): void {
    if (value > 0 && Number.isFinite(value)) this.#totals.of(attributes).value += value;
  }

  read(): Reading {
    return { kind: 'counter', points: pointsOf(this.#totals) };
  }
}

export class ReadableGauge implements Gauge, Readable {
  readonly #latest = new AttributeSeries(() => ({ value: 0 }));

  set(value: number, attributes = NONE): void {
    if (Number.isFinite(value)) this.#latest.of(attributes).value = value;
  }

  read(): Reading {
    return { kind: 'gauge', points: pointsOf(this.#latest) };
  }
}

function pointsOf(series: AttributeSeries<{ readonly value: number }>): NumberPoint[] {
  return series.list().map(({ attributes, state: { value } }) => ({ attributes, value }));
}

export class ReadableHistogram implements Histogram, Readable {
  readonly #boundaries: readonly number[];
  readonly #series: AttributeSeries<HistogramState>;

  /** `boundaries` are the inclusive upper bounds of the buckets, ascending. One more bucket takes everything above. */
  constructor(boundaries: readonly number[]) {
    this.#boundaries = boundaries;
    this.#series = new AttributeSeries(() => ({
      sum: 0,
      counts: [...boundaries, 0].map(() => 0),
      exemplars: undefined,
    }));
  }

  record(value: number, attributes = NONE, traceparent?: string): void {
    if (!Number.isFinite(value)) return;
    const boundaries = this.#boundaries;
    const state = this.#series.of(attributes);
    let bucket = 0;
    while (bucket < boundaries.length && value > (boundaries[bucket] as number)) bucket += 1;
    state.counts[bucket] = (state.counts[bucket] as number) + 1;
    state.sum += value;
    if (traceparent?.endsWith(SAMPLED)) (state.exemplars ??= [])[bucket] = { value, at: Date.now(), traceparent };
  }

  read(): Reading {
    const boundaries = this.#boundaries;
    const points = this.#series.list().map(({ attributes, state: { sum, counts, exemplars } }) => {
      const point = { attributes, boundaries, sum, counts: [...counts] };
      return exemplars ? { ...point, exemplars: [...exemplars] } : point;
    });
    return { kind: 'histogram', points };
  }
}
