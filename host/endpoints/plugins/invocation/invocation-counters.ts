import { toErrorRecord } from '../../../base/core/errors.ts';
import type { Result } from './invocation.ts';

/** Counts of a plugin's invocations. */
export interface InvocationCounters {
  readonly running: number;
  readonly queued: number;
  readonly done: number;
  /** Failures by kind of the error. */
  readonly failed: Readonly<Record<string, number>>;
  /** Calls of the host that were denied, such as requests to a host that is not granted. */
  readonly denied: number;
  /** Milliseconds that guests have computed. */
  readonly cpuMs: number;
}

/** Counts invocations that have ended. */
export class EndedInvocations {
  #done = 0;
  #cpuMs = 0;
  #denied = 0;
  readonly #failed: Record<string, number> = {};

  add(result: Result, cpuMs: number): void {
    this.#cpuMs += cpuMs;
    if ('json' in result) {
      this.#done++;
      return;
    }
    const { kind } = toErrorRecord(result.error);
    this.#failed[kind] = (this.#failed[kind] ?? 0) + 1;
  }

  /** Counts a call that was denied to an invocation, also to one that still runs. */
  deny(): void {
    this.#denied++;
  }

  counters(): Pick<InvocationCounters, 'done' | 'failed' | 'denied' | 'cpuMs'> {
    return { done: this.#done, failed: { ...this.#failed }, denied: this.#denied, cpuMs: this.#cpuMs };
  }
}
