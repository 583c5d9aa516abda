import type { Attributes, Counter, Gauge, Histogram, Telemetry } from '../../base/core/telemetry.ts';
import { type Work, WorkTelemetry } from '../../base/core/work-telemetry.ts';
import type { ClaimedTask, Outcome } from '../storage/index.ts';

/** One attempt at a task on this host. */
export interface AttemptRecord {
  /** The place in the trace for the calls inside the attempt. */
  readonly traceparent: string | undefined;
  /** Called when the endpoint has ended, or failed with `error`. */
  ran(error?: unknown): void;
  /** Called with the stored outcome; undefined when this host has lost the task. */
  end(stored: Outcome | undefined): void;
}

/** Reports the tasks that this host accepts and runs, by the paths of their endpoints. */
export class TaskTelemetry {
  readonly #attempts: WorkTelemetry;
  readonly #waits: Histogram;
  readonly #accepted: Counter;
  readonly #ended: Counter;
  readonly #counts: Histogram;
  readonly #running: Gauge;
  #count = 0;

  constructor(telemetry: Telemetry) {
    this.#attempts = new WorkTelemetry(telemetry, 'aana.task.attempt', {
      description: 'Time of an attempt at a task.',
      attributes: ['aana.endpoint'],
      kind: 'consumer',
    });
    this.#waits = telemetry.histogram('aana.task.wait', {
      unit: 's',
      description: 'Time from the moment at which a task could be taken until a host took it.',
      attributes: ['aana.endpoint'],
    });
    this.#accepted = telemetry.counter('aana.tasks.accepted', {
      unit: '{task}',
      description: 'Tasks that this host stored.',
      attributes: ['aana.endpoint'],
    });
    this.#ended = telemetry.counter('aana.tasks.ended', {
      unit: '{task}',
      description: 'Tasks that ended on this host, by their status.',
      attributes: ['aana.endpoint', 'aana.task.status'],
    });
    this.#counts = telemetry.histogram('aana.task.attempts', {
      unit: '{attempt}',
      description: 'Attempts that a task had when it ended.',
      attributes: ['aana.endpoint', 'aana.task.status'],
    });
    this.#running = telemetry.gauge('aana.tasks.running', {
      unit: '{task}',
      description: 'Tasks that run on this host.',
    });
  }

  accepted(endpoint: string): void {
    this.#accepted.add(1, { 'aana.endpoint': endpoint });
  }

  begin({ id, endpoint, traceparent, waited_ms: waitedMs, num_retries: attempt }: ClaimedTask): AttemptRecord {
    const attributes: Attributes = { 'aana.endpoint': endpoint };
    const work: Work = this.#attempts.begin(attributes, traceparent ?? undefined);
    this.#waits.record(Math.max(0, waitedMs) / 1000, attributes);
    this.#running.set(++this.#count);
    return {
      traceparent: work.traceparent,
      ran: (error) => work.end({ error, attributes: { 'aana.task.id': id, 'aana.attempt': attempt } }),
      end: (stored) => {
        this.#running.set(--this.#count);
        if (stored === undefined || stored.kind === 'release') return;
        const outcome = { ...attributes, 'aana.task.status': stored.kind === 'complete' ? 'completed' : 'failed' };
        this.#ended.add(1, outcome);
        this.#counts.record(attempt, outcome);
      },
    };
  }
}
