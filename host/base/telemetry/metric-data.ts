import type { Attributes } from '../core/telemetry.ts';

/** The value of one series of a counter or a gauge. */
export interface NumberPoint {
  readonly attributes: Attributes;
  /** A total since the start for a counter, the present value for a gauge. */
  readonly value: number;
}

/** A value of a histogram with the place of its work in a sampled trace. */
export interface Exemplar {
  readonly value: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly traceparent: string;
}

/** One series of a histogram. */
export interface HistogramPoint {
  readonly attributes: Attributes;
  /** Inclusive upper bounds of the buckets, ascending. */
  readonly boundaries: readonly number[];
  /** Number of values in each bucket since the start; the last bucket has the values above all bounds. */
  readonly counts: readonly number[];
  readonly sum: number;
  /** The last value of a sampled trace in each bucket. Undefined if there is none in any. */
  readonly exemplars?: readonly (Exemplar | undefined)[] | undefined;
}

/** All series of an instrument at one time. */
export type Reading =
  | { readonly kind: 'counter' | 'gauge'; readonly points: readonly NumberPoint[] }
  | { readonly kind: 'histogram'; readonly points: readonly HistogramPoint[] };

export interface MetricFacts {
  /** Lower case with dots. */
  readonly name: string;
  /** A unit of UCUM; empty without one. */
  readonly unit: string;
  /** One sentence for people. */
  readonly description: string;
}

export type MetricData = MetricFacts & Reading;
