import type { Clock } from '../../core/clock.ts';
import { faultOf } from '../../core/errors.ts';
import type { RequestContext } from '../../core/request-context.ts';
import type { Counter, Gauge, Histogram, Span, Telemetry } from '../../core/telemetry.ts';

/** One call, from the moment it asks for a replica. */
export interface CallRecord {
  /** What the replica is told of the request: its place in the trace is within this call. */
  readonly context: RequestContext;
  /** A replica works on it now. */
  begin(): void;
  /** `error` is what it failed with. */
  end(error?: unknown): void;
}

/** Reports the calls of one deployment. */
export class CallTelemetry {
  readonly #deployment: string;
  readonly #clock: Clock;
  readonly #telemetry: Telemetry;
  readonly #calls: Counter;
  readonly #durations: Histogram;
  readonly #waits: Histogram;
  readonly #running: Gauge;
  #open = 0;

  constructor(deployment: string, clock: Clock, telemetry: Telemetry) {
    this.#deployment = deployment;
    this.#clock = clock;
    this.#telemetry = telemetry;
    this.#calls = telemetry.counter('aana.deployment.calls', {
      unit: '{call}',
      description: 'Calls that ended, by their outcome: ok, or whose fault it was that they failed.',
    });
    this.#durations = telemetry.histogram('aana.deployment.call.duration', {
      unit: 's',
      description: 'Time of a call on a replica.',
    });
    this.#waits = telemetry.histogram('aana.deployment.call.wait', {
      unit: 's',
      description: 'Time that a call waited for a replica.',
    });
    this.#running = telemetry.gauge('aana.deployment.calls.open', {
      unit: '{call}',
      description: 'Calls that wait for a replica or run on one.',
    });
  }

  open(method: string, context: RequestContext): CallRecord {
    const attributes = { 'aana.deployment': this.#deployment, 'aana.method': method };
    const span: Span = this.#telemetry.span('aana.deployment.call', { parent: context.traceparent, attributes });
    const cameAt = this.#clock.now();
    let begunAt: number | undefined;
    this.#count(1);
    return {
      context: span.traceparent === context.traceparent ? context : { ...context, traceparent: span.traceparent },
      begin: () => {
        begunAt = this.#clock.now();
        this.#waits.record((begunAt - cameAt) / 1000, attributes);
      },
      end: (error) => {
        const outcome = { ...attributes, 'aana.outcome': error === undefined ? 'ok' : faultOf(error) };
        if (begunAt !== undefined) this.#durations.record((this.#clock.now() - begunAt) / 1000, outcome);
        this.#calls.add(1, outcome);
        span.end({ ...(error !== undefined && { error }) });
        this.#count(-1);
      },
    };
  }

  #count(change: number): void {
    this.#open += change;
    this.#running.set(this.#open, { 'aana.deployment': this.#deployment });
  }
}
