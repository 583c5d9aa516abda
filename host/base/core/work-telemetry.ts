import { type Clock, systemClock } from './clock.ts';
import { faultOf } from './errors.ts';
import {
  type Attributes,
  type Histogram,
  noTelemetry,
  type Span,
  type SpanAttributes,
  type SpanKind,
  type Telemetry,
  withAttribute,
} from './telemetry.ts';

/** The end of a piece of work. */
export interface WorkEnd {
  /** The error of failed work. */
  readonly error?: unknown;
  /** One word of a small fixed set that describes the end. Default: `ok`, or the fault of the error. */
  readonly outcome?: string | undefined;
  /** Attributes of the span only. */
  readonly attributes?: SpanAttributes | undefined;
}

export interface WorkOptions {
  /** One sentence about the measured time. */
  readonly description: string;
  /** Names of the attributes of the work, for the documentation. Default: none. */
  readonly attributes?: readonly string[];
  /** The role of its spans. Default: `internal`. */
  readonly kind?: SpanKind;
}

/** A piece of work that is under way. */
export interface Work extends Pick<Span, 'traceparent' | 'event'> {
  /** Returns the seconds since it came; 0 without telemetry. */
  elapsed(): number;
  end(how?: WorkEnd): void;
}

/** A piece of work that may have to wait before it begins. */
export interface WaitingWork extends Work {
  /**
   * Ends the wait: the duration counts from now on, and the span has the event `begun`. Returns the seconds of the
   * wait.
   */
  begin(): number;
}

const noTime = (): number => 0;
const nothing = (): void => {};
const unreported = (traceparent: string | undefined): WaitingWork => ({
  traceparent,
  event: nothing,
  elapsed: noTime,
  begin: noTime,
  end: nothing,
});
const NO_WORK = Object.freeze(unreported(undefined));

/**
 * Reports pieces of work of one kind: a span for each, and its duration in seconds (`<name>.duration`) by its outcome
 * (`aana.outcome`).
 */
export class WorkTelemetry {
  readonly #name: string;
  readonly #telemetry: Telemetry;
  readonly #kind: SpanKind | undefined;
  readonly #durations: Histogram;
  readonly #clock: Pick<Clock, 'now'>;

  constructor(
    telemetry: Telemetry,
    name: string,
    { description, attributes = [], kind }: WorkOptions,
    clock: Pick<Clock, 'now'> = systemClock,
  ) {
    this.#name = name;
    this.#telemetry = telemetry;
    this.#kind = kind;
    this.#clock = clock;
    this.#durations = telemetry.histogram(`${name}.duration`, {
      unit: 's',
      description,
      attributes: [...attributes, 'aana.outcome'],
    });
  }

  /** Returns work that begins now. `parent` is the `traceparent` of the caller. */
  begin(attributes: Attributes, parent: string | undefined): Work {
    return this.ofKind(attributes).begin(parent);
  }

  /** Returns work that waits. Its span begins now; without a call of `begin` it has no duration. */
  wait(attributes: Attributes, parent: string | undefined): WaitingWork {
    return this.ofKind(attributes).wait(parent);
  }

  /** Returns the kind of work that has these attributes. Who keeps it reports more cheaply. */
  ofKind(attributes: Attributes): WorkKind {
    return new WorkKind({
      telemetry: this.#telemetry,
      name: this.#name,
      kind: this.#kind,
      durations: this.#durations,
      clock: this.#clock,
      attributes,
    });
  }

  /** Runs and reports `doing`, which gets its place in the trace. */
  async run<T>(
    attributes: Attributes,
    parent: string | undefined,
    doing: (traceparent: string | undefined) => Promise<T>,
  ): Promise<T> {
    const work = this.begin(attributes, parent);
    try {
      const result = await doing(work.traceparent);
      work.end();
      return result;
    } catch (error) {
      work.end({ error });
      throw error;
    }
  }
}

interface WorkKindOptions {
  readonly telemetry: Telemetry;
  readonly name: string;
  readonly kind: SpanKind | undefined;
  readonly durations: Histogram;
  readonly clock: Pick<Clock, 'now'>;
  readonly attributes: Attributes;
}

/** Work with the same attributes. */
export class WorkKind {
  readonly #options: WorkKindOptions;
  /** Of the last outcome. They are kept, because making them costs more than the reports. */
  #labels: Attributes | undefined;

  constructor(options: WorkKindOptions) {
    this.#options = options;
  }

  /** As {@link WorkTelemetry.begin}. */
  begin(parent: string | undefined): Work {
    return this.#open(parent, true);
  }

  /** As {@link WorkTelemetry.wait}. */
  wait(parent: string | undefined): WaitingWork {
    return this.#open(parent, false);
  }

  /** Ends the report of work that began `seconds` ago; undefined if it never began. */
  end(span: Span, seconds: number | undefined, { error, outcome, attributes: more }: WorkEnd): void {
    const labels = this.#labelsOf(outcome ?? (error === undefined ? 'ok' : faultOf(error)));
    if (seconds !== undefined) this.#options.durations.record(seconds, labels, span.traceparent);
    span.end({ error, attributes: more ? Object.assign({}, labels, more) : labels });
  }

  #open(parent: string | undefined, hasBegun: boolean): WaitingWork {
    const { telemetry, name, kind, attributes, clock } = this.#options;
    // Nothing is measured without telemetry, because reading the clock costs more than the rest.
    if (telemetry === noTelemetry) return parent === undefined ? NO_WORK : unreported(parent);
    return new OpenWork(this, telemetry.span(name, { parent, kind, attributes }), clock, hasBegun);
  }

  #labelsOf(outcome: string): Attributes {
    if (this.#labels?.['aana.outcome'] !== outcome)
      this.#labels = withAttribute(this.#options.attributes, 'aana.outcome', outcome);
    return this.#labels;
  }
}

/** Work under way. It is a class, because making a function for each method would cost more than the reports. */
class OpenWork implements WaitingWork {
  readonly traceparent: string | undefined;
  readonly #kind: WorkKind;
  readonly #span: Span;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #cameAt: number;
  #begunAt: number | undefined;

  constructor(kind: WorkKind, span: Span, clock: Pick<Clock, 'now'>, hasBegun: boolean) {
    this.traceparent = span.traceparent;
    this.#kind = kind;
    this.#span = span;
    this.#clock = clock;
    this.#cameAt = clock.now();
    this.#begunAt = hasBegun ? this.#cameAt : undefined;
  }

  event(name: string): void {
    this.#span.event(name);
  }

  elapsed(): number {
    return (this.#clock.now() - this.#cameAt) / 1000;
  }

  begin(): number {
    this.#begunAt = this.#clock.now();
    this.#span.event('begun');
    return (this.#begunAt - this.#cameAt) / 1000;
  }

  end(how: WorkEnd = {}): void {
    const seconds = this.#begunAt === undefined ? undefined : (this.#clock.now() - this.#begunAt) / 1000;
    this.#kind.end(this.#span, seconds, how);
  }
}
