import type { RequestContext } from '../../base/core/request-context.ts';

/** Facts of a request for the calls of deployments. */
export type RunContext = RequestContext & {
  /** Ends the calls. */
  readonly signal: AbortSignal;
  /** Called with each part of the request that has no effect for the model. May throw to refuse it. */
  readonly ignore?: ((param: string) => void) | undefined;
};
