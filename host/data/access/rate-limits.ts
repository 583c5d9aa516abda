import { inOneSpelling, matchesPattern } from '../../base/core/net/route-paths.ts';
import { clientNetwork } from './client-network.ts';
import { type RateCheck, type RateLimit, RateLimiter, type RateVerdict } from './rate-limiter.ts';

/** The settings `rate_limits`. */
export interface RateLimitsConfig {
  /** The limit of each caller over all requests; null is no limit. */
  readonly default: RateLimit | null;
  /**
   * The limit of each caller for an endpoint, by its path, a single path of a template, or a pattern such as
   * `/video/*`.
   */
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

/** Applies the limits of the configuration. */
export class RateLimits {
  #config!: RateLimitsConfig;
  readonly #limiter: RateLimiter;
  /** Whole paths first, then templates, then patterns, the longest first. */
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
      .sort((a, b) => width(a.path) - width(b.path) || b.path.length - a.path.length);
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
   * counts for no limit. `template` is the path of the endpoint there, such as `/items/{id}`.
   */
  take(sharer: RateSharer, path: string, template?: string): NamedVerdict[] {
    const { userId, keyId } = sharer;
    const { default: common, users, keys } = this.#config;
    const own = userId !== null && Object.hasOwn(users, userId) ? users[userId] : common;
    const ofKey = keyId !== null && Object.hasOwn(keys, keyId) ? keys[keyId] : undefined;
    return this.#take(sharer, [['default', own], ['key', ofKey], ...this.#limitsOf(path, template)]);
  }

  /** Counts a run of an endpoint that a request to another path names. That request has counted for `default`. */
  takeRun(sharer: RateSharer, path: string): NamedVerdict[] {
    return this.#take(sharer, this.#limitsOf(path, path));
  }

  #limitsOf(path: string, template: string | undefined): NamedLimit[] {
    if (this.#endpoints.length === 0) return [];
    const [own, wide] = [plain(path), template === undefined ? undefined : plain(template)];
    const endpoint = this.#endpoints.find((one) => matchesPattern(one.path, own, wide));
    return endpoint ? [[endpoint.pattern, endpoint.limit]] : [];
  }

  #take({ userId, keyId, address }: RateSharer, limits: readonly NamedLimit[]): NamedVerdict[] {
    if (!limits.some(([, limit]) => limit)) return [];
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

/** Returns 0 for a pattern of one path, 1 for one with parameters, and 2 for one of all paths below a path. */
function width(pattern: string): 0 | 1 | 2 {
  if (pattern.endsWith('/*')) return 2;
  return pattern.includes('{') ? 1 : 0;
}

/**
 * Returns a path in lower case, without slashes at its end and encoded in one way. Routers ignore the first two, so
 * another spelling of a path must not have a separate limit.
 */
function plain(path: string): string {
  let end = path.length;
  while (end > 1 && path[end - 1] === '/') end -= 1;
  return inOneSpelling(path.slice(0, end)).toLowerCase();
}
