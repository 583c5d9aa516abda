import ipaddr from 'ipaddr.js';
import { type RateCheck, type RateLimit, RateLimiter, type RateVerdict } from './rate-limiter.ts';
import { matchesPath } from './scopes.ts';

/** In the words of the settings `rate_limits`. */
export interface RateLimitsConfig {
  /** What each caller may do in all. */
  readonly default: RateLimit | null;
  /** What each caller may do at an endpoint, by its path or `/video/*`. */
  readonly endpoints: Readonly<Record<string, RateLimit>>;
  /** In place of `default`, by `key_id`; null is no limit. */
  readonly keys: Readonly<Record<string, RateLimit | null>>;
  /** What each address may ask of the documentation; null is no limit. Default: no limit. */
  readonly documentation?: RateLimit | null;
}

/** Who shares the limits: everybody with the same key or, where there are none, from the same address. */
export interface RateSharer {
  readonly keyId: string | null;
  readonly address: string;
}

export interface NamedVerdict extends RateVerdict {
  /** `default`, or the path as it is configured. */
  readonly policy: string;
}

/** The limits of the configuration. They count in this process; several hosts have each their own. */
export class RateLimits {
  readonly #config: RateLimitsConfig;
  readonly #limiter: RateLimiter;
  /** Whole paths first, then the longest patterns. */
  readonly #endpoints: readonly { readonly pattern: string; readonly path: string; readonly limit: RateLimit }[];

  constructor(config: RateLimitsConfig, limiter: RateLimiter = new RateLimiter()) {
    this.#config = config;
    this.#limiter = limiter;
    this.#endpoints = Object.entries(config.endpoints)
      .map(([pattern, limit]) => ({ pattern, limit, path: plain(pattern) }))
      .sort((a, b) => Number(a.path.endsWith('/*')) - Number(b.path.endsWith('/*')) || b.path.length - a.path.length);
  }

  /** Whether there is any limit. */
  get isAny(): boolean {
    const { default: common, endpoints, keys } = this.#config;
    return common !== null || Object.keys(endpoints).length + Object.keys(keys).length > 0;
  }

  /** Counts a request for the documentation, which has a limit of its own: who is over another one can still read what the limits are. */
  takeDocumentation(address: string): RateVerdict | undefined {
    const { documentation: limit } = this.#config;
    return limit ? this.#limiter.take([{ key: `documentation address ${networkOf(address)}`, limit }])[0] : undefined;
  }

  /** Counts a request. Gives a verdict for each limit that it is under; when one is `isAllowed: false`, it was counted for none. */
  take({ keyId, address }: RateSharer, path: string): NamedVerdict[] {
    const sharer = keyId === null ? `address ${networkOf(address)}` : `key ${keyId}`;
    const { default: common, keys } = this.#config;
    const own = keyId !== null && Object.hasOwn(keys, keyId) ? keys[keyId] : common;
    const endpoint = this.#endpoints.find((one) => matchesPath(one.path, plain(path)));
    const limits = [
      ['default', own],
      [endpoint?.pattern ?? '', endpoint?.limit],
    ] as const;
    const policies: string[] = [];
    const checks: RateCheck[] = [];
    for (const [policy, limit] of limits) {
      if (!limit) continue;
      policies.push(policy);
      checks.push({ key: `${policy} ${sharer}`, limit });
    }
    return this.#limiter.take(checks).map((verdict, i) => ({ ...verdict, policy: policies[i] ?? '' }));
  }
}

/** Routers of the application match without regard to case and to slashes at the end; who writes a path in another way shall not have a limit of its own. */
function plain(path: string): string {
  let end = path.length;
  while (end > 1 && path[end - 1] === '/') end -= 1;
  return path.slice(0, end).toLowerCase();
}

/** One IPv6 network of 64 bits belongs to one customer, who has all of its addresses. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address); // an IPv4 address within IPv6 is the IPv4 one
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  return `${(parsed as ipaddr.IPv6).parts.slice(0, 4).map((group) => group.toString(16)).join(':')}::/64`;
}
