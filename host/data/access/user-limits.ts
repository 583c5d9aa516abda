import type { Logger } from '../../base/core/log/logger.ts';
import { noTelemetry, type Counter, type Telemetry } from '../../base/core/telemetry.ts';
import type { TokenAllowance } from '../../base/core/usage/usage-meter.ts';
import { overRequestsAtOnce, overTokens, overTokensOfMonth } from './errors.ts';
import type { MonthlyTokens } from './monthly-tokens.ts';
import { type RateCheck, RateLimiter } from './rate-limiter.ts';

/** Limits of one caller; null is no limit. */
export interface CallerLimits {
  /** Most tokens of each text that a model generates. */
  readonly max_output_tokens: number | null;
  /** Most tokens of prompts and answers in a minute, on all hosts together. */
  readonly tokens_per_minute: number | null;
  /** Most tokens of prompts and answers in a calendar month (UTC), on all hosts together. */
  readonly tokens_per_month: number | null;
  /** Most requests that this host answers at the same time. */
  readonly max_requests: number | null;
}

type Some = { readonly [K in keyof CallerLimits]?: CallerLimits[K] | undefined };

/** The settings `user_limits`. */
export interface UserLimitsConfig extends CallerLimits {
  /** Values for single users, by id. Each replaces the common one. */
  readonly users: Readonly<Record<string, Some>>;
  /** Further limits of single API keys, by id. */
  readonly keys: Readonly<Record<string, Some>>;
}

/** Whom a request counts for. */
export interface LimitedCaller {
  /** Null where the host requires no keys. Then the address counts. */
  readonly userId: string | null;
  /** Null without a key, and for tasks. */
  readonly keyId: string | null;
  /** The network that the request came from, as `clientNetwork` names it. Undefined for work without a connection. */
  readonly client: string | undefined;
}

/** What is left of a limit in tokens, for the headers of an answer. */
export interface TokensLeft {
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until the whole minute's tokens are available again. */
  readonly resetS: number;
}

/** Somebody whose work is counted, with the limits. */
interface Counted {
  /** `user ann`, `key ann-1`, `address 10.0.0.1`. */
  readonly name: string;
  readonly limits: Some;
}

export interface UserLimitsOptions {
  readonly config: UserLimitsConfig;
  /** Tokens of the current month. */
  readonly months: MonthlyTokens;
  readonly log: Logger;
  readonly telemetry?: Telemetry | undefined;
  readonly minutes?: RateLimiter | undefined;
}

const MINUTE_S = 60;

/**
 * Applies the limits of users. A request counts for its user and, where the key has limits, for its key. Where the host
 * requires no keys, it counts for its address. Tokens are counted when they are known: those of an answer while it is
 * generated, those of a prompt when the call ends. So a call may go over a limit, and the next one waits for longer.
 */
export class UserLimits {
  #config!: UserLimitsConfig;
  #isAny!: boolean;
  readonly #options: UserLimitsOptions;
  readonly #minutes: RateLimiter;
  readonly #open = new Map<string, number>();
  readonly #refusals: Counter;

  constructor(options: UserLimitsOptions) {
    const { config, telemetry = noTelemetry, minutes = new RateLimiter() } = options;
    this.configure(config);
    this.#options = options;
    this.#minutes = minutes;
    this.#refusals = userRefusalCounter(telemetry);
  }

  /** Whether any limit is configured. */
  get isAny(): boolean {
    return this.#isAny;
  }

  /** Replaces the limits. Requests that are being answered have the new ones from now on. */
  configure(config: UserLimitsConfig): void {
    const { users, keys, ...common } = config;
    this.#config = config;
    this.#isAny = [common, ...Object.values(users), ...Object.values(keys)].some((one) =>
      Object.values(one).some((limit) => typeof limit === 'number'),
    );
  }

  /**
   * Counts a request that begins. Returns what must be called once when it has ended. Throws `TooManyRequestsException`
   * when as many requests of the caller as the limit allows are being answered.
   */
  begin(caller: LimitedCaller): () => void {
    const counted = this.#counted(caller);
    for (const { name, limits } of counted) {
      const most = limits.max_requests;
      if (typeof most !== 'number' || (this.#open.get(name) ?? 0) < most) continue;
      throw this.#refused(caller, 'max_requests', overRequestsAtOnce(most));
    }
    for (const { name } of counted) this.#open.set(name, (this.#open.get(name) ?? 0) + 1);
    return () => {
      for (const { name } of counted) {
        const left = (this.#open.get(name) ?? 1) - 1;
        if (left === 0) this.#open.delete(name);
        else this.#open.set(name, left);
      }
    };
  }

  /** Returns what a caller may use. Reads the tokens of the month where they are limited. */
  async of(caller: LimitedCaller): Promise<TokenAllowance> {
    const names = this.#counted(caller).filter(({ limits }) => typeof limits.tokens_per_month === 'number');
    if (names.length > 0) await this.#options.months.read(names.map(({ name }) => name));
    const counted = (): Counted[] => this.#counted(caller);
    return {
      get maxOutputTokens() {
        const limits = counted().map(({ limits: { max_output_tokens: most } }) => most ?? Infinity);
        const least = Math.min(...limits);
        return least === Infinity ? undefined : least;
      },
      admit: () => this.#admit(caller),
      spend: (tokens) => this.#spend(caller, tokens),
    };
  }

  /**
   * Returns what is left of the limit of tokens a minute of which the least is left; undefined without such a limit.
   */
  tokensLeft(caller: LimitedCaller): TokensLeft | undefined {
    const left = this.#minutes.look(this.#minuteChecks(caller)).map(({ check, remaining, resetS }) => ({
      limit: check.limit.capacity,
      remaining,
      resetS,
    }));
    return left.toSorted((a, b) => a.remaining - b.remaining)[0];
  }

  #admit(caller: LimitedCaller): void {
    for (const { name, limits } of this.#counted(caller)) {
      const most = limits.tokens_per_month;
      if (typeof most === 'number' && this.#options.months.used(name) >= most)
        throw this.#refused(caller, 'tokens_per_month', overTokensOfMonth(most, this.#options.months.endsInS()));
    }
    const [worst] = this.#minutes
      .look(this.#minuteChecks(caller))
      .filter(({ isAllowed }) => !isAllowed)
      .toSorted((a, b) => b.retryAfterS - a.retryAfterS);
    if (worst)
      throw this.#refused(caller, 'tokens_per_minute', overTokens(worst.check.limit.capacity, worst.retryAfterS));
  }

  #spend(caller: LimitedCaller, tokens: number): void {
    for (const check of this.#minuteChecks(caller)) this.#minutes.spend(check, tokens);
    for (const { name, limits } of this.#counted(caller))
      if (typeof limits.tokens_per_month === 'number') this.#options.months.add(name, tokens);
  }

  #minuteChecks(caller: LimitedCaller): RateCheck[] {
    return this.#counted(caller).flatMap(({ name, limits: { tokens_per_minute: capacity } }) =>
      typeof capacity === 'number' ? [{ key: `tokens ${name}`, limit: { capacity, interval_seconds: MINUTE_S } }] : [],
    );
  }

  /** Work without a user and an address is the host's own. */
  #counted({ userId, keyId, client }: LimitedCaller): Counted[] {
    if (!this.#isAny) return [];
    const { users, keys, ...common } = this.#config;
    const counted: Counted[] = [];
    if (userId !== null)
      counted.push({
        name: `user ${userId}`,
        limits: { ...common, ...(Object.hasOwn(users, userId) && users[userId]) },
      });
    else if (client !== undefined) counted.push({ name: `address ${client}`, limits: common });
    const own = keyId !== null && Object.hasOwn(keys, keyId) ? keys[keyId] : undefined;
    if (own) counted.push({ name: `key ${keyId}`, limits: own });
    return counted;
  }

  #refused({ userId, keyId, client }: LimitedCaller, limit: keyof CallerLimits, error: Error): Error {
    this.#refusals.add(1, { 'aana.user_limit': limit });
    this.#options.log.info('refused because of a limit of the user', {
      limit,
      ...(userId === null ? { address: client } : { userId }),
      ...(keyId !== null && { keyId }),
    });
    return error;
  }
}

/** Returns the counter of what was refused because of a limit of a user. */
export function userRefusalCounter(telemetry: Telemetry): Counter {
  return telemetry.counter('aana.user_limit.refusals', {
    unit: '{refusal}',
    description: 'Requests and calls of models that were refused because of a limit of a user, by the setting.',
    attributes: ['aana.user_limit'],
  });
}
