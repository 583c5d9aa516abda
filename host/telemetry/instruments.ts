import type { Attributes, Counter, Gauge, Histogram } from '../core/telemetry.ts';
import { AttributeSeries } from './attribute-series.ts';
import type { NumberPoint, Reading } from './metric-data.ts';

/** An instrument whose values can be read. */
export interface Readable {
  read(): Reading;
}

const NONE: Attributes = {};

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
  readonly #series;

  /** `boundaries` are the inclusive upper bounds of the buckets, ascending. One more bucket takes everything above. */
  constructor(boundaries: readonly number[]) {
    this.#boundaries = boundaries;
    this.#series = new AttributeSeries(() => ({ sum: 0, counts: [...boundaries, 0].map(() => 0) }));
  }

  record(value: number, attributes = NONE): void {
    if (!Number.isFinite(value)) return;
    const boundaries = this.#boundaries;
    const state = this.#series.of(attributes);
    let bucket = 0;
    while (bucket < boundaries.length && value > (boundaries[bucket] as number)) bucket += 1;
    state.counts[bucket] = (state.counts[bucket] as number) + 1;
    state.sum += value;
  }

  read(): Reading {
    const boundaries = this.#boundaries;
    const points = this.#series
      .list()
      .map(({ attributes, state: { sum, counts } }) => ({ attributes, boundaries, sum, counts: [...counts] }));
    return { kind: 'histogram', points };
  }
}
