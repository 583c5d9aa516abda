/**
 * Names of attributes and their values. Each has few different values, because every combination is a separate series.
 */
export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** Counts events. */
export interface Counter {
  add(value?: number, attributes?: Attributes): void;
}

/** Records the distribution of values, such as the seconds of calls. */
export interface Histogram {
  record(value: number, attributes?: Attributes): void;
}

/** Reports the present value of something, such as the length of a queue. */
export interface Gauge {
  set(value: number, attributes?: Attributes): void;
}

/** A piece of work with a beginning and an end. */
export interface Span {
  /** The place of this span in its trace, for calls inside it; undefined when the span is not recorded. */
  readonly traceparent: string | undefined;
  /** Ends the span. `error` is the error of failed work. */
  end(outcome?: { readonly error?: unknown; readonly attributes?: Attributes }): void;
}

export interface InstrumentOptions {
  /** One sentence that describes the instrument to people. */
  readonly description?: string;
  /** A unit of UCUM, such as `s`, `By` or `{call}`. */
  readonly unit?: string;
  /** Names of the attributes, for the documentation. Default: none. */
  readonly attributes?: readonly string[];
  /**
   * Of a histogram: inclusive upper bounds of its buckets, ascending. Default: bounds for the unit, which the receiver
   * of the reports chooses.
   */
  readonly boundaries?: readonly number[];
}

export interface SpanOptions {
  /** The `traceparent` of the caller. */
  readonly parent?: string | undefined;
  readonly attributes?: Attributes | undefined;
}

/**
 * The port through which code reports its work, in the terms of OpenTelemetry. Names are lower case with dots
 * (`aana.deployment.calls`), and times are in seconds. Code creates its instruments once and keeps them.
 */
export interface Telemetry {
  counter(name: string, options?: InstrumentOptions): Counter;
  histogram(name: string, options?: InstrumentOptions): Histogram;
  gauge(name: string, options?: InstrumentOptions): Gauge;
  span(name: string, options?: SpanOptions): Span;
}

const nothing = (): void => {};
const NO_COUNTER: Counter = Object.freeze({ add: nothing });
const NO_HISTOGRAM: Histogram = Object.freeze({ record: nothing });
const NO_GAUGE: Gauge = Object.freeze({ set: nothing });

/** Records nothing. Its spans pass the place of the parent on, so that traces through this process stay whole. */
export const noTelemetry: Telemetry = Object.freeze({
  counter: () => NO_COUNTER,
  histogram: () => NO_HISTOGRAM,
  gauge: () => NO_GAUGE,
  span: (_name: string, { parent }: SpanOptions = {}) => ({ traceparent: parent, end: nothing }),
});
