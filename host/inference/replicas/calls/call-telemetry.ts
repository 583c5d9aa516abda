import type { Clock } from '../../../base/core/clock.ts';
import { errorLogFields, faultOf } from '../../../base/core/errors.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import { type RequestContext, traceFields } from '../../../base/core/request-context.ts';
import type { CallMeter } from '../../../base/core/usage/usage-meter.ts';
import {
  type Counter,
  type Gauge,
  type Histogram,
  type SpanAttributes,
  type Telemetry,
  withAttribute,
} from '../../../base/core/telemetry.ts';
import { WorkTelemetry } from '../../../base/core/work-telemetry.ts';

/** Collects what one call says about the contents of its request, for its span. */
export interface CallContent {
  /** Called with the result, or with values of the stream. */
  add(values: readonly unknown[]): void;
  attributes(): SpanAttributes;
}

/** Telemetry of one call, from the moment it asks for a replica. */
export interface CallRecord {
  /** Request context for the replica. Its trace parent is the span of this call. */
  readonly context: RequestContext;
  /** Called when a replica begins to work on it. */
  begin(replica: string): void;
  /** Called with the number of values of its stream that have arrived. */
  values(count: number): void;
  /** Called when it ends; `error` is the failure, if any. */
  end(error?: unknown): void;
}

/** Reports the calls of one deployment, to the telemetry and to the log. */
export class CallTelemetry {
  readonly #deployment: string;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #work: WorkTelemetry;
  readonly #calls: Counter;
  readonly #waits: Histogram;
  readonly #running: Gauge;
  #open = 0;

  constructor(deployment: string, clock: Clock, telemetry: Telemetry, log: Logger) {
    this.#deployment = deployment;
    this.#clock = clock;
    this.#log = log;
    const attributes = ['aana.deployment', 'aana.method'];
    const work = { description: 'Time of a call on a replica.', attributes, kind: 'client' } as const;
    this.#work = new WorkTelemetry(telemetry, 'aana.deployment.call', work, clock);
    this.#calls = telemetry.counter('aana.deployment.calls', {
      unit: '{call}',
      description: 'Ended calls by outcome: ok, or the party at fault.',
      attributes: [...attributes, 'aana.outcome'],
    });
    this.#waits = telemetry.histogram('aana.deployment.call.wait', {
      unit: 's',
      description: 'Time that a call waited for a replica.',
      attributes,
    });
    this.#running = telemetry.gauge('aana.deployment.calls.open', {
      unit: '{call}',
      description: 'Calls that wait for a replica or run on one.',
      attributes: ['aana.deployment'],
    });
  }

  open(method: string, context: RequestContext, metered?: CallMeter, content?: CallContent): CallRecord {
    const attributes = { 'aana.deployment': this.#deployment, 'aana.method': method };
    const work = this.#work.wait(attributes, context.traceparent);
    this.#count(1);
    const openedAt = this.#clock.now();
    let replica: string | undefined;
    let begunAt: number | undefined;
    let values = 0;
    return {
      context: work.traceparent === context.traceparent ? context : { ...context, traceparent: work.traceparent },
      begin: (chosen) => {
        replica = chosen;
        if (metered) begunAt = this.#clock.now();
        this.#waits.record(work.begin(), attributes);
      },
      values: (count) => {
        if (values === 0) work.event('first value');
        values += count;
        metered?.values(count);
      },
      end: (error) => {
        if (begunAt !== undefined) metered?.computed((this.#clock.now() - begunAt) / 1000);
        const outcome = error === undefined ? 'ok' : faultOf(error);
        work.end({
          error,
          outcome,
          attributes: {
            ...(replica !== undefined && { 'aana.replica': replica }),
            ...(values > 0 && { 'aana.call.values': values }),
            ...(error === undefined && content?.attributes()),
          },
        });
        this.#calls.add(1, withAttribute(attributes, 'aana.outcome', outcome));
        this.#count(-1);
        this.#log.debug('call ended', {
          ...{ method, replica, outcome, requestId: context.requestId, ms: Math.round(this.#clock.now() - openedAt) },
          ...traceFields(context.traceparent),
          ...(error !== undefined && errorLogFields(error)),
        });
      },
    };
  }

  #count(change: number): void {
    this.#open += change;
    this.#running.set(this.#open, { 'aana.deployment': this.#deployment });
  }
}
