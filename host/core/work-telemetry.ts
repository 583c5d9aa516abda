import { faultOf } from './errors.ts';
import { type Attributes, type Histogram, noTelemetry, type Telemetry } from './telemetry.ts';

/** How a piece of work ended. */
export interface WorkEnd {
  /** What it failed with. */
  readonly error?: unknown;
  /** One word of a small fixed set that says how it ended. Default: `ok`, or the fault of the error. */
  readonly outcome?: string | undefined;
  /** For the span alone: values may differ each time. */
  readonly attributes?: Attributes | undefined;
}

/** A piece of work that is under way. */
export interface Work {
  /** The place in the trace of what is done within it. */
  readonly traceparent: string | undefined;
  end(how?: WorkEnd): void;
}

const nothing = (): void => {};
const NO_WORK: Work = Object.freeze({ traceparent: undefined, end: nothing });

/**
 * Reports pieces of work of one kind: a span for each, and the seconds that it took (`<name>.duration`) by its outcome
 * (`aana.outcome`).
 */
export class WorkTelemetry {
  readonly #name: string;
  readonly #telemetry: Telemetry;
  readonly #durations: Histogram;

  /** `description` says in one sentence which time is taken. */
  constructor(telemetry: Telemetry, name: string, description: string) {
    this.#name = name;
    this.#telemetry = telemetry;
    this.#durations = telemetry.histogram(`${name}.duration`, { unit: 's', description });
  }

  /** `parent` is the `traceparent` of the caller. */
  begin(attributes: Attributes, parent: string | undefined): Work {
    if (this.#telemetry === noTelemetry) return parent === undefined ? NO_WORK : { traceparent: parent, end: nothing }; // reading the clock costs more than the rest
    const span = this.#telemetry.span(this.#name, { parent, attributes });
    const beganAt = performance.now();
    return {
      traceparent: span.traceparent,
      end: ({ error, outcome = error === undefined ? 'ok' : faultOf(error), attributes: more }: WorkEnd = {}) => {
        this.#durations.record((performance.now() - beganAt) / 1000, { ...attributes, 'aana.outcome': outcome });
        span.end({ ...(error !== undefined && { error }), ...(more && { attributes: more }) });
      },
    };
  }

  /** Reports `doing`, and passes it its place in the trace. */
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
