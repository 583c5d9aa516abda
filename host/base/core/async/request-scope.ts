import { AsyncLocalStorage } from 'node:async_hooks';
import type { KeptPlaces } from '../kept-places.ts';
import type { RequestContext } from '../request-context.ts';

/** What the calls of one request have in common. */
export interface CallFacts extends RequestContext {
  readonly signal?: AbortSignal | undefined;
  readonly places?: KeptPlaces | undefined;
}

const scopes = new AsyncLocalStorage<RequestScope | undefined>();
let isTracked = false;

/**
 * Lets scopes follow asynchronous work from now on. Called by a process that has deployments to call. Before, there is
 * nothing to follow, because Node before version 24 pays for it with each promise of the process.
 */
export function trackRequests(): void {
  isTracked = true;
}

/** Runs `work` in no request, although code of one asks for it: what it starts works for many requests. */
export function outsideRequests<T>(work: () => T): T {
  return isTracked ? scopes.run(undefined, work) : work();
}

/**
 * One request, or one attempt at a task, around code of an application. The calls that this code makes get the facts of
 * the request, whatever the code passes to them; see {@link withRequest}.
 */
export class RequestScope implements Disposable {
  #facts: CallFacts;

  constructor(facts: CallFacts) {
    this.#facts = facts;
  }

  get facts(): CallFacts {
    return this.#facts;
  }

  /** Runs code of the application, and everything that it starts, in this scope. Returns what `work` returns. */
  run<T>(work: () => T): T {
    return isTracked ? scopes.run(this, work) : work();
  }

  /** Returns an iterator over `values`, which are made in this scope. */
  around<T, R>(values: AsyncIterable<T, R, undefined>): AsyncIterableIterator<T, R, undefined> {
    const iterator = values[Symbol.asyncIterator]();
    return {
      // After a `yield`, a generator goes on in the scope of the code that asks for more.
      next: () => this.run(() => iterator.next()),
      return: (value) =>
        this.run(
          async (): Promise<IteratorResult<T, R>> =>
            (await iterator.return?.(value)) ?? { done: true, value: (await value) as R },
        ),
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  /**
   * Called when the request has ended. Work that goes on stays work of its user, but has no deadline, trace, meter or
   * place any more. If the request was aborted, later calls of its code fail with the reason.
   */
  [Symbol.dispose](): void {
    const { requestId, userId, client, priority, weight, signal } = this.#facts;
    this.#facts = { requestId, userId, client, priority, weight, ...(signal?.aborted && { signal }) };
  }
}

/**
 * Returns the options of a call with the facts of the request whose code makes it. An option that the code gives takes
 * the place of the request's fact, except for the deadline, of which the earlier one counts. Options that name another
 * user are those of another request, and are returned as they are.
 */
export function withRequest<Options extends CallFacts>(options: Options): Options {
  const facts = scopes.getStore()?.facts;
  if (!facts || (options.userId !== undefined && options.userId !== facts.userId)) return options;
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Options;
  const deadlineAt = Math.min(facts.deadlineAt ?? Infinity, given.deadlineAt ?? Infinity);
  return { ...facts, ...given, deadlineAt: deadlineAt === Infinity ? undefined : deadlineAt };
}
