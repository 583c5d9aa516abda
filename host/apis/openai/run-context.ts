import type { RequestContext } from '../../base/core/request-context.ts';

/** Facts of a request for the calls of deployments. */
export type RunContext = RequestContext & {
  /** Ends the calls. */
  readonly signal: AbortSignal;
  /** Called with the deployment that gets the request. */
  readonly tellDeployment?: ((name: string) => void) | undefined;
  /** Called when a stream has its first values. No other model of the alias gets the request after that. */
  readonly begin?: (() => void) | undefined;
  /** Called with each part of the request that has no effect for the model. May throw to refuse it. */
  readonly ignore?: ((param: string) => void) | undefined;
};
