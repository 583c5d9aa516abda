import type { KeptPlaces } from '../../core/kept-places.ts';
import type { RequestContext } from '../../core/request-context.ts';
import type { LoadProgress } from '../../replicas/index.ts';

/** An endpoint passes its own context on, and the call then has all facts about the request. */
export interface CallOptions extends RequestContext {
  readonly signal?: AbortSignal | undefined;
  /** Places that were kept for the run of an endpoint; a call that takes one is not refused for want of room. */
  readonly places?: KeptPlaces | undefined;
  /** Hears how far the model is, as long as the call waits for one that loads. */
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
}

/** What a caller holds to use a deployment; each call goes to a free replica. */
export interface DeploymentHandle {
  readonly name: string;
  /** Runs a method and gives its result. */
  call(method: string, args: Record<string, unknown>, options?: CallOptions): Promise<unknown>;
  /**
   * Runs a streaming method. Each element holds the values made since the last one, at least one. Leaving the loop
   * cancels it.
   */
  stream(method: string, args: Record<string, unknown>, options?: CallOptions): AsyncIterable<unknown[]>;
}
