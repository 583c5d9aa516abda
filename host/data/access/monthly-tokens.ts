import { RepeatedWork } from '../../base/core/async/repeated-work.ts';
import type { Logger } from '../../base/core/log/logger.ts';
import type { Storage } from '../storage/index.ts';

/** Tokens of one caller in a month. */
interface Count {
  /** Tokens that the database had at the last look, of all hosts. */
  stored: number;
  /** Tokens that this host has not stored yet. */
  unstored: number;
  /** The time of the last look by the monotonic clock. */
  readAt: number;
}

export interface MonthlyTokensOptions {
  readonly storage: Storage;
  readonly log: Logger;
  /** The wall clock in milliseconds since 1970. */
  readonly now?: () => number;
}

/** Tokens are stored so often. Another host sees them so much later. */
const EVERY_MS = 5000;
/** With more callers, those that were seen longest ago are read again when they come back. */
const MOST_CALLERS = 100_000;

/**
 * Counts the tokens of callers in the calendar month (UTC), for all hosts together. When the database is away, tokens
 * are counted in memory, and stored when it is back.
 */
export class MonthlyTokens {
  readonly #options: MonthlyTokensOptions;
  readonly #now: () => number;
  readonly #counts = new Map<string, Count>();
  #month: string;
  readonly #storing: RepeatedWork;
  /**
   * The last look or write. They run one after the other, because a look beside a write would count its tokens twice.
   */
  #last: Promise<unknown> = Promise.resolve();
  /** Callers that the next look reads together, because each request of another caller would wait for its own. */
  readonly #wanted = new Set<string>();
  #nextLook: Promise<void> | undefined;

  constructor(options: MonthlyTokensOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#month = this.#currentMonth();
    this.#storing = new RepeatedWork({
      everyMs: EVERY_MS,
      work: () => this.store(),
      onError: (error) =>
        options.log.warn('the tokens of users were not stored; they are counted in memory', { error }),
    });
  }

  /**
   * Reads what callers have used, unless that was read a moment ago. If the database is away, goes on with what is
   * known.
   */
  read(names: readonly string[]): Promise<void> {
    this.#turn();
    const old = this.#oldOf(names);
    if (old.length === 0) return Promise.resolve();
    for (const name of old) this.#wanted.add(name);
    this.#nextLook ??= this.#inTurn(() => {
      const wanted = [...this.#wanted];
      this.#wanted.clear();
      this.#nextLook = undefined;
      return this.#look(wanted);
    });
    return this.#nextLook;
  }

  /** Returns the callers of which nothing was read a moment ago. */
  #oldOf(names: readonly string[]): string[] {
    return names.filter((name) => performance.now() - (this.#counts.get(name)?.readAt ?? -Infinity) > EVERY_MS);
  }

  async #look(names: readonly string[]): Promise<void> {
    const old = this.#oldOf(names);
    if (old.length === 0) return;
    const month = this.#month;
    try {
      const found = await this.#options.storage.read(({ userTokens }) => userTokens.read(month, old));
      if (month !== this.#month) return;
      for (const name of old) this.#read(name, found.get(name) ?? 0);
    } catch (error) {
      this.#options.log.warn('the tokens of a user this month cannot be read', { error });
      for (const name of old) this.#read(name, this.#counts.get(name)?.stored ?? 0); // so that not each request waits
    }
  }

  /** Returns the tokens of a caller this month. */
  used(name: string): number {
    this.#turn();
    const count = this.#counts.get(name);
    return count ? count.stored + count.unstored : 0;
  }

  add(name: string, tokens: number): void {
    this.#turn();
    this.#countOf(name).unstored += tokens;
    this.#storing.start();
  }

  /** Returns the seconds until the month is over. */
  endsInS(): number {
    const now = new Date(this.#now());
    return Math.ceil((Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1) - now.getTime()) / 1000);
  }

  /** Stores what is not stored yet. */
  store(): Promise<void> {
    return this.#inTurn(() => this.#store());
  }

  async #store(): Promise<void> {
    const month = this.#month;
    const added = [...this.#counts].flatMap(([name, { unstored }]) =>
      unstored > 0 ? [{ name, tokens: unstored }] : [],
    );
    if (added.length === 0) return;
    const stored = await this.#options.storage.write(({ userTokens }) => userTokens.add(month, added));
    if (month !== this.#month) return;
    for (const { name, tokens } of added) {
      const count = this.#countOf(name);
      count.unstored -= tokens;
      this.#read(name, stored.get(name) ?? count.stored + tokens);
    }
  }

  /** Stores what is left, once more. */
  async stop(): Promise<void> {
    await this.#storing.stop();
    await this.store().catch((error: unknown) =>
      this.#options.log.warn('the last tokens of users were not stored', { error }),
    );
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }

  #read(name: string, stored: number): void {
    const { unstored } = this.#countOf(name);
    this.#counts.delete(name); // the map then has the callers in the order of their last look
    this.#counts.set(name, { stored, unstored, readAt: performance.now() });
    for (const [oldest, count] of this.#counts) {
      if (this.#counts.size <= MOST_CALLERS || count.unstored > 0) return;
      this.#counts.delete(oldest);
    }
  }

  #countOf(name: string): Count {
    const found = this.#counts.get(name);
    if (found) return found;
    const made = { stored: 0, unstored: 0, readAt: -Infinity };
    this.#counts.set(name, made);
    return made;
  }

  /** Begins to count from 0 when a month is over. The tokens of its last seconds that are not stored are left out. */
  #turn(): void {
    const month = this.#currentMonth();
    if (month === this.#month) return;
    this.#month = month;
    this.#counts.clear();
  }

  /** Such as `2026-11`. */
  #currentMonth(): string {
    return new Date(this.#now()).toISOString().slice(0, 7);
  }
}
