import { fail } from '../../core/errors.ts';
import type { LocalTrace } from './local-trace.ts';
import type { SpanRecord } from './span-record.ts';

/** A request or an attempt at a task that has ended. */
export type EndedTrace = LocalTrace & { readonly root: SpanRecord };

export interface KeptTracesOptions {
  /** Most failed ones that are kept, and most slow ones. */
  readonly limit: number;
  /** Milliseconds from which one is slow. */
  readonly slowMs: number;
}

/**
 * The last failed and the last slow requests and attempts at tasks, for people who ask why. Failed and slow ones have
 * places of their own, so that many failures do not displace the slow ones.
 */
export class KeptTraces {
  readonly #options: KeptTracesOptions;
  readonly #failed: EndedTrace[] = [];
  readonly #slow: EndedTrace[] = [];
  #added = 0;

  constructor(options: KeptTracesOptions) {
    this.#options = options;
  }

  /** Number of traces that were kept so far, with those that were displaced. */
  get added(): number {
    return this.#added;
  }

  /** Keeps a trace if its root failed or was slow. */
  add(trace: LocalTrace): void {
    if (!hasEnded(trace)) return;
    const { startedAt, endedAt } = trace.root;
    if (trace.root.errorType !== undefined) this.#keep(this.#failed, trace);
    else if (endedAt - startedAt >= this.#options.slowMs) this.#keep(this.#slow, trace);
  }

  /** Returns the kept traces, the last one first. */
  list(): EndedTrace[] {
    return [...this.#failed, ...this.#slow].sort((a, b) => b.root.endedAt - a.root.endedAt);
  }

  /** Returns the kept requests and attempts of a trace. Throws `NotFoundException` if there are none. */
  find(traceId: string): EndedTrace[] {
    const found = this.list().filter((trace) => trace.traceId === traceId);
    if (found.length > 0) return found;
    throw fail('NotFoundException', 'no failed or slow request of this trace is kept');
  }

  #keep(ring: EndedTrace[], trace: EndedTrace): void {
    ring.push(trace);
    this.#added += 1;
    if (ring.length > this.#options.limit) ring.shift();
  }
}

function hasEnded(trace: LocalTrace): trace is EndedTrace {
  return trace.root !== undefined;
}
