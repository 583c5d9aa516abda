/** The party whose mistake made a request fail. */
export type NativeFault = 'caller' | 'deployment' | 'overload' | 'cancelled';

/** The tenant, priority and deadline of a request, and whose computing it may use. */
export interface RequestTerms {
  /**
   * Tenants share an engine by their weights, regardless of the number and priority of their requests. Requests without
   * a tenant share one further tenant.
   */
  readonly tenant?: string | null;
  /**
   * Only requests with the same key use what was computed for each other: beginnings of prompts, images, grammars and
   * tools. Default: the tenant.
   */
  readonly cacheKey?: string;
  /**
   * Requests with a higher priority begin before other requests of the same tenant. The language model engine counts
   * one level as 5 seconds of waiting, and levels from −24 to 24, so each request gets its turn. Default: 0.
   */
  readonly priority?: number;
  /** The tenant's part of the engine beside the weights of other tenants, 0.001 to 1000. Default: 1. */
  readonly weight?: number;
  /**
   * Milliseconds from now. A request that has not ended by then fails with `deadline-exceeded`. Default: no deadline.
   */
  readonly deadlineMs?: number;
}
