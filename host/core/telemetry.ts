/**
 * Names of attributes and their values; few different values each, because every combination is a series of its own.
 */
export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** Counts events. */
export interface Counter {
  add(value?: number, attributes?: Attributes): void;
}

/** Takes the distribution of values, such as seconds of a call. */
export interface Histogram {
  record(value: number, attributes?: Attributes): void;
}

/** Says what a value is now, such as the length of a queue. */
export interface Gauge {
  set(value: number, attributes?: Attributes): void;
}

/** A piece of work with a beginning and an end. */
export interface Span {
  /** The place of this span in its trace, for calls made within it; undefined when nothing records the span. */
  readonly traceparent: string | undefined;
  /** Ends the span. `error` is what the work failed with. */
  end(outcome?: { readonly error?: unknown; readonly attributes?: Attributes }): void;
}

export interface InstrumentOptions {
  /** One sentence for people. */
  readonly description?: string;
  /** A unit of UCUM, such as `s`, `By` or `{call}`. */
  readonly unit?: string;
}

export interface SpanOptions {
  /** The `traceparent` of the caller. */
  readonly parent?: string | undefined;
  readonly attributes?: Attributes | undefined;
}

/**
 * Where code reports what it does, in the terms of OpenTelemetry: names are lower case with dots
 * (`aana.deployment.calls`), times are in seconds. Code asks for its instruments once and keeps them.
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

/** Records nothing. Spans hand the parent's place on, so that a trace that passes through stays whole. */
export const noTelemetry: Telemetry = Object.freeze({
  counter: () => NO_COUNTER,
  histogram: () => NO_HISTOGRAM,
  gauge: () => NO_GAUGE,
  span: (_name: string, { parent }: SpanOptions = {}) => ({ traceparent: parent, end: nothing }),
});
