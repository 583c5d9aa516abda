import { clientNetwork } from './client-network.ts';
import { type RateCheck, type RateLimit, RateLimiter, type RateVerdict } from './rate-limiter.ts';
import { matchesPath } from './scopes.ts';

/** The settings `rate_limits`. */
export interface RateLimitsConfig {
  /** The limit of each caller over all requests; null is no limit. */
  readonly default: RateLimit | null;
  /** The limit of each caller for an endpoint, by the path of the endpoint or a pattern such as `/video/*`. */
  readonly endpoints: Readonly<Record<string, RateLimit>>;
  /** Limits of single users by id; each replaces `default`, and null is no limit. */
  readonly users: Readonly<Record<string, RateLimit | null>>;
  /** Further limits of single keys by `key_id`. */
  readonly keys: Readonly<Record<string, RateLimit>>;
  /** The limit of each address for the documentation; null is no limit. Default: no limit. */
  readonly documentation?: RateLimit | null;
}

/**
 * The caller that a request counts for: all requests of the same user count together or, where the host requires no
 * keys, all requests from the same address.
 */
export interface RateSharer {
  readonly userId: string | null;
  readonly keyId: string | null;
  readonly address: string;
}

export interface NamedVerdict extends RateVerdict {
  /** `default`, `key`, or the path as it is configured. */
  readonly policy: string;
}

/** A limit with its policy. */
type NamedLimit = readonly [policy: string, limit: RateLimit | null | undefined];

/** Applies the limits of the configuration. The counts belong to this process, so several hosts count separately. */
export class RateLimits {
  #config!: RateLimitsConfig;
  readonly #limiter: RateLimiter;
  /** Whole paths first, then the longest patterns. */
  #endpoints!: readonly { readonly pattern: string; readonly path: string; readonly limit: RateLimit }[];

  constructor(config: RateLimitsConfig, limiter: RateLimiter = new RateLimiter()) {
    this.#limiter = limiter;
    this.configure(config);
  }

  /** Replaces the limits. What callers have used counts for the new ones. */
  configure(config: RateLimitsConfig): void {
    this.#config = config;
    this.#endpoints = Object.entries(config.endpoints)
      .map(([pattern, limit]) => ({ pattern, limit, path: plain(pattern) }))
      .sort((a, b) => Number(a.path.endsWith('/*')) - Number(b.path.endsWith('/*')) || b.path.length - a.path.length);
  }

  /** Whether any limit is configured. */
  get isAny(): boolean {
    const { default: common, endpoints, users, keys } = this.#config;
    return common !== null || [endpoints, users, keys].some((limits) => Object.keys(limits).length > 0);
  }

  /**
   * Counts a request for the documentation. Its limit is separate, so that a caller over another limit can still read
   * about the limits.
   */
  takeDocumentation(address: string): RateVerdict | undefined {
    const { documentation: limit } = this.#config;
    return limit
      ? this.#limiter.take([{ key: `documentation address ${clientNetwork(address)}`, limit }])[0]
      : undefined;
  }

  /**
   * Counts a request, and returns a verdict for each of its limits. If one verdict has `isAllowed: false`, the request
   * counts for no limit.
   */
  take(sharer: RateSharer, path: string): NamedVerdict[] {
    const { userId, keyId } = sharer;
    const { default: common, users, keys } = this.#config;
    const own = userId !== null && Object.hasOwn(users, userId) ? users[userId] : common;
    const ofKey = keyId !== null && Object.hasOwn(keys, keyId) ? keys[keyId] : undefined;
    return this.#take(sharer, [['default', own], ['key', ofKey], ...this.#limitsOf(path)]);
  }

  /** Counts a run of an endpoint that a request to another path names. That request has counted for `default`. */
  takeRun(sharer: RateSharer, path: string): NamedVerdict[] {
    return this.#take(sharer, this.#limitsOf(path));
  }

  #limitsOf(path: string): NamedLimit[] {
    const endpoint = this.#endpoints.find((one) => matchesPath(one.path, plain(path)));
    return endpoint ? [[endpoint.pattern, endpoint.limit]] : [];
  }

  #take({ userId, keyId, address }: RateSharer, limits: readonly NamedLimit[]): NamedVerdict[] {
    const sharer = userId === null ? `address ${clientNetwork(address)}` : `user ${userId}`;
    const policies: string[] = [];
    const checks: RateCheck[] = [];
    for (const [policy, limit] of limits) {
      if (!limit) continue;
      policies.push(policy);
      checks.push({ key: policy === 'key' ? `key ${keyId}` : `${policy} ${sharer}`, limit });
    }
    return this.#limiter.take(checks).map((verdict, i) => ({ ...verdict, policy: policies[i] ?? '' }));
  }
}

/**
 * Returns a path in lower case and without slashes at its end. Routers ignore both, so another spelling of a path must
 * not have a separate limit.
 */
function plain(path: string): string {
  let end = path.length;
  while (end > 1 && path[end - 1] === '/') end -= 1;
  return path.slice(0, end).toLowerCase();
}
