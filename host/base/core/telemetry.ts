/**
 * Names of attributes and their values. Each has few different values, because every combination is a separate series.
 * An object does not change after a report, because receivers recognise it.
 */
export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** Attributes of a span. Their values may differ each time. */
export type SpanAttributes = Readonly<Record<string, Attributes[string] | string[]>>;

/**
 * Returns the attributes with one more. A spread would take ten times as long, which the shortest requests would
 * notice.
 */
export function withAttribute(attributes: Attributes, name: string, value: Attributes[string]): Attributes {
  const more: Record<string, Attributes[string]> = Object.assign({}, attributes);
  more[name] = value;
  return more;
}

/** Counts events. */
export interface Counter {
  add(value?: number, attributes?: Attributes): void;
}

/** Records the distribution of values, such as the seconds of calls. */
export interface Histogram {
  /**
   * Records a value. `traceparent` is the place of the work in its trace; if the trace is sampled, the value may become
   * an example that leads to it.
   */
  record(value: number, attributes?: Attributes, traceparent?: string): void;
}

/** Reports the present value of something, such as the length of a queue. */
export interface Gauge {
  set(value: number, attributes?: Attributes): void;
}

/** The role of a span between processes. */
export type SpanKind = 'internal' | 'server' | 'client' | 'producer' | 'consumer';

/** A piece of work with a beginning and an end. */
export interface Span {
  /** The place of this span in its trace, for calls inside it; undefined when the span is not recorded. */
  readonly traceparent: string | undefined;
  /** Notes what happens now, such as the first value of a stream. */
  event(name: string): void;
  /**
   * Returns the time on the clock of the trace, as in {@link SpanOptions.startedAt}. It does not jump as the clock of
   * the system can.
   */
  now(): number;
  /** Ends the span. `error` is the error of failed work, `endedAt` as in {@link SpanOptions.startedAt}. */
  end(outcome?: {
    readonly error?: unknown;
    readonly attributes?: SpanAttributes;
    readonly endedAt?: number | undefined;
  }): void;
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
  /** The `tracestate` of the caller, which only a span of the kind `server` has. */
  readonly tracestate?: string | undefined;
  /** Default: `internal`. */
  readonly kind?: SpanKind | undefined;
  /** Milliseconds since the epoch, with fractions. Default: now. */
  readonly startedAt?: number | undefined;
  readonly attributes?: SpanAttributes | undefined;
}

/**
 * The port through which code reports its work, in the terms of OpenTelemetry. Names are lower case with dots
 * (`aana.deployment.calls`), and times are in seconds. Code creates its instruments once and keeps them.
 */
export interface Telemetry {
  /** Whether spans may have what users and models wrote. Default: no. */
  readonly takesContent?: boolean;
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
  span: (_name: string, { parent }: SpanOptions = {}) => ({
    traceparent: parent,
    event: nothing,
    now: Date.now,
    end: nothing,
  }),
});

/** Returns telemetry whose spans are those of `span`, with the content of requests if `takesContent`. */
export function withSpans(telemetry: Telemetry, span: Telemetry['span'], takesContent: boolean): Telemetry {
  return {
    takesContent,
    counter: (name, options) => telemetry.counter(name, options),
    histogram: (name, options) => telemetry.histogram(name, options),
    gauge: (name, options) => telemetry.gauge(name, options),
    span,
  };
}
