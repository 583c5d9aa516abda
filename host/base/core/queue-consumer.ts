import { setMaxListeners } from 'node:events';
import { type Clock, systemClock, within } from './clock.ts';
import { type Deferred, deferred } from './deferred.ts';
import { fail } from './errors.ts';

/** How a consumer reaches its queue, and what it does with the items. */
export interface QueueConsumerOptions<Item> {
  /** Most items that run at once. */
  readonly concurrency: number;
  /** Claims due items for this process, at most `room`. The next claim begins after this one has ended. */
  claim(room: number): Promise<readonly Item[]>;
  /** Reads when the next item is due: milliseconds from now, 0 or less for now, Infinity when no item waits. */
  nextDueInMs(): Promise<number>;
  /** Runs one item. `signal` aborts with the reason given to {@link QueueConsumer.abort}, or with {@link SHUTDOWN}. */
  run(item: Item, signal: AbortSignal): Promise<void>;
  /**
   * Subscribes to notifications of new items, each of which calls {@link QueueConsumer.wake}. Returns a function that
   * ends the subscription.
   */
  listen(): Promise<() => void>;
  /** Called when `claim` or `nextDueInMs` rejected. The consumer tries again a second later. */
  onClaimError(error: unknown): void;
  /** Called when {@link run} rejected. */
  onRunError(error: unknown, item: Item): void;
  /** Default: no renewal, because leases last longer than the work on an item can. */
  readonly leases?: LeaseRenewal<Item> | undefined;
  /** Default: the system clock. */
  readonly clock?: Clock | undefined;
}

export interface LeaseRenewal<Item> {
  readonly everyMs: number;
  /** Renews the leases of all items that run. The next renewal begins after this one has ended. */
  renew(items: readonly Item[]): Promise<void>;
  onError(error: unknown): void;
}

/** A time in which nothing is claimed. */
export interface Pause {
  /** Whether running items are aborted with {@link SHUTDOWN}. */
  readonly endsRunning: boolean;
}

/** The abort reason of items that still run when the grace period of the stop is over, or that a pause ends. */
export const SHUTDOWN = fail('ShuttingDown', 'the application is shutting down');

/** Some items become due without a notification: at a later time, or added by a process that cannot notify this one. */
const POLL_MS = 1000;
const AFTER_ERROR_MS = 1000;

/**
 * A competing consumer of a durable queue: it claims due items, runs a limited number of them at once, and renews their
 * leases. It claims when it is woken, and when a place is free and more items are due. It reads the next due time at
 * least once a second.
 */
export class QueueConsumer<Item> {
  readonly #options: QueueConsumerOptions<Item>;
  readonly #clock: Clock;
  readonly #running = new Map<Item, { readonly ending: AbortController; readonly done: Promise<void> }>();
  readonly #stopping = new AbortController();
  readonly #graceOver = new AbortController();
  readonly #ended = new AbortController();
  /** Whether a claim is worth its transaction without a read before it. */
  #expectsItems = true;
  #wake: Deferred<void> = deferred();
  #loop: Promise<void> = Promise.resolve();
  #isRenewing = false;
  #pause: Pause | undefined;
  #unlisten: (() => void) | undefined;

  constructor(options: QueueConsumerOptions<Item>) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    setMaxListeners(0, this.#graceOver.signal); // every item may listen to it
  }

  /** Items that run now. */
  get running(): readonly Item[] {
    return [...this.#running.keys()];
  }

  /** Aborts when the grace period of {@link stop} is over. */
  get graceOver(): AbortSignal {
    return this.#graceOver.signal;
  }

  /** Begins to claim items. */
  async start(): Promise<void> {
    const unlisten = await this.#options.listen();
    if (this.#stopping.signal.aborted) return unlisten();
    this.#unlisten = unlisten;
    if (this.#options.leases) void this.#renewUntilEnded(this.#options.leases);
    this.#loop = this.#claimUntilStopped();
  }

  /**
   * Claims no more items. Waits until all items have ended; those that still run after `graceMs` are aborted with
   * {@link SHUTDOWN}. May be called twice.
   */
  async stop(graceMs: number): Promise<void> {
    this.#stopping.abort(SHUTDOWN);
    this.#wake.resolve();
    this.#unlisten?.();
    this.#unlisten = undefined;
    await this.#loop;
    const ended = Promise.all([...this.#running.values()].map(({ done }) => done));
    if (!(await within(ended, graceMs, this.#clock))) {
      for (const { ending } of this.#running.values()) ending.abort(SHUTDOWN);
      this.#graceOver.abort(SHUTDOWN);
      await ended;
    }
    this.#ended.abort();
  }

  /** Called when there may be a new item. */
  wake(): void {
    this.#expectsItems = true;
    this.#wake.resolve();
  }

  /** Claims no more items until {@link resume}. */
  pause(pause: Pause): void {
    this.#pause = pause;
    if (pause.endsRunning) for (const { ending } of this.#running.values()) ending.abort(SHUTDOWN);
  }

  resume(): void {
    this.#pause = undefined;
    this.wake();
  }

  /** Aborts the signal of an item. Does nothing when the item has ended. */
  abort(item: Item, reason: unknown): void {
    this.#running.get(item)?.ending.abort(reason);
  }

  /** Renews the leases of all items that run, also before the next renewal is due. Errors go to `onError`. */
  async renew(): Promise<void> {
    const { leases } = this.#options;
    const items = this.running;
    if (!leases || items.length === 0 || this.#isRenewing) return;
    this.#isRenewing = true;
    try {
      await leases.renew(items);
    } catch (error) {
      leases.onError(error);
    } finally {
      this.#isRenewing = false;
    }
  }

  async #claimUntilStopped(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      this.#wake = deferred(); // before the claim, so that a notification meanwhile is not missed
      try {
        const waitMs = await this.#claim();
        if (waitMs > 0) await within(this.#wake.promise, waitMs, this.#clock);
      } catch (error) {
        this.#options.onClaimError(error);
        this.#expectsItems = true;
        await this.#clock.delay(AFTER_ERROR_MS, signal).catch(() => {});
      }
    }
  }

  /** Claims items once. Returns the milliseconds until the next claim when nothing wakes the consumer. */
  async #claim(): Promise<number> {
    const room = this.#options.concurrency - this.#running.size;
    if (room <= 0 || this.#pause) return POLL_MS;
    // A read costs less than a claim, because writers wait for each other.
    const dueInMs = this.#expectsItems ? 0 : await this.#options.nextDueInMs();
    if (dueInMs > 0) return Math.min(dueInMs, POLL_MS);
    this.#expectsItems = false;
    const items = await this.#options.claim(room);
    for (const item of items) this.#begin(item);
    const nextInMs = items.length < room ? await this.#options.nextDueInMs() : 0;
    if (nextInMs > 0) return Math.min(nextInMs, POLL_MS);
    this.#expectsItems = true;
    return items.length > 0 ? 0 : POLL_MS; // after an empty claim, the due items are not for this process, or not now
  }

  #begin(item: Item): void {
    const ending = new AbortController();
    if (this.#pause?.endsRunning) ending.abort(SHUTDOWN); // it was claimed before the pause
    const done = Promise.resolve()
      .then(() => this.#options.run(item, ending.signal))
      .catch((error: unknown) => this.#options.onRunError(error, item))
      .finally(() => {
        this.#running.delete(item);
        this.#wake.resolve(); // its place is free, and its end may have made another item due
      });
    this.#running.set(item, { ending, done });
  }

  async #renewUntilEnded({ everyMs }: LeaseRenewal<Item>): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      await this.#clock.delay(everyMs, signal).catch(() => {});
      void this.renew(); // a slow renewal does not delay the next one
    }
  }
}
