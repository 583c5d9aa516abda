import type { KeptPlaces } from '../../../base/core/kept-places.ts';
import type { RequestContext } from '../../../base/core/request-context.ts';
import type { CallProgress } from '../../replicas/index.ts';

/**
 * Options of a call. Code that runs for a request needs none: its calls have the facts of the request, and what is
 * given here replaces them. The deadline is the earlier one. A `userId` of another user replaces all of them.
 */
export interface CallOptions extends RequestContext {
  readonly signal?: AbortSignal | undefined;
  /** The model that the call is for, of a deployment with many: 1 to 256 characters. */
  readonly multiplexedModelId?: string | undefined;
  /** Reserved places of the endpoint's run. A call that takes one is not refused because the deployment is full. */
  readonly places?: KeptPlaces | undefined;
  /** Called with load progress while the call waits for the model, and then with the progress of the call itself. */
  readonly onProgress?: ((progress: CallProgress) => void) | undefined;
}

/** Object through which code calls a deployment. Each call goes to a free replica. */
export interface DeploymentHandle {
  readonly name: string;
  /** Runs a method and returns its result. */
  call(method: string, args: Record<string, unknown>, options?: CallOptions): Promise<unknown>;
  /**
   * Runs a streaming method. Each element holds all values since the previous element, at least one. The iterable
   * returns the value that the method returned after its last one. Leaving the loop cancels the call.
   */
  stream(method: string, args: Record<string, unknown>, options?: CallOptions): AsyncIterable<unknown[], unknown>;
}
