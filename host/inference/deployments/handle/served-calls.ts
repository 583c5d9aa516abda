import { flattened } from '../../../base/core/async/async-values.ts';
import { AanaError, fail } from '../../../base/core/errors.ts';
import type { ServedMethods } from '../../rpc/index.ts';
import type { DeploymentHandle } from './deployment-handle.ts';
import type { HandleOptions } from './handle-options.ts';
import { callOptionsOf } from './remote-calls.ts';

/** Arguments of `call` and `stream`, which a replica asks of the host. */
export interface ServedCall {
  readonly deployment: string;
  readonly method: string;
  readonly args: Record<string, unknown>;
  readonly retry: HandleOptions;
  /** The argument whose values come with the call, as `values`. */
  readonly feed?: string | undefined;
}

/** Returns what the host serves to replicas: calls of the deployments that they may call. */
export function servedCalls(
  mayCall: (name: string) => boolean,
  handleOf: (name: string, policy: HandleOptions) => DeploymentHandle,
): ServedMethods {
  const handle: typeof handleOf = (name, policy) => {
    if (mayCall(name)) return handleOf(name, policy);
    throw fail('HandleNotDeclared', `the class does not name deployment ${name} in its handles`);
  };
  return {
    call: async (asked, context) => {
      const { deployment, method, args, retry } = asked as unknown as ServedCall;
      try {
        return await handle(deployment, retry).call(method, args, callOptionsOf(context));
      } catch (error) {
        throw ofDependency(error);
      }
    },
    stream: async function* (asked, context) {
      const { deployment, method, args, retry, feed } = asked as unknown as ServedCall;
      const all = feed === undefined ? args : { ...args, [feed]: asked['values'] };
      try {
        return yield* flattened(handle(deployment, retry).stream(method, all, callOptionsOf(context)));
      } catch (error) {
        throw ofDependency(error);
      }
    },
  };
}

/**
 * Returns the error of a deployment for the deployment that called it. The fault is not that of the latter, whose
 * replica was not lost and need not be replaced.
 */
function ofDependency(error: unknown): unknown {
  if (!(error instanceof AanaError) || !(error.fault === 'deployment' || error.fault === 'replica-lost')) return error;
  const { name, kind, message, data, unexpected, cause } = error;
  return new AanaError(name, kind, message, { data, unexpected, cause, fault: 'dependency' });
}
