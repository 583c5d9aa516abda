import { isAsyncIterable } from '../../../base/core/async/async-values.ts';
import { fail } from '../../../base/core/errors.ts';
import type { StartContext } from '../../replicas/process/implementation.ts';
import { check } from '../class/check.ts';
import type { CalledDeployment } from '../class/deployment-definition.ts';
import type { MakeHandle } from '../class/host-handles.ts';
import type { DeploymentHandle } from '../handle/deployment-handle.ts';
import { HandleOptions } from '../handle/handle-options.ts';
import { rpcOptionsOf } from '../handle/remote-calls.ts';
import type { ServedCall } from '../handle/served-calls.ts';
import { withMethods } from '../handle/typed-handle.ts';

/** Returns the handles of the class `type` in a replica. Their calls go through the host. */
export function calledDeployments(
  type: string,
  called: Readonly<Record<string, CalledDeployment>>,
  host: StartContext['host'],
): MakeHandle {
  return (key, options = {}) => {
    const callee = Object.hasOwn(called, key) ? called[key] : undefined;
    if (!callee) {
      const keys = Object.keys(called).join(', ') || 'none';
      throw fail('HandleNotDeclared', `${type}: static handles has no ${key}; its keys are: ${keys}`);
    }
    const retry = check(HandleOptions, options, `handle of deployment ${callee.name}`);
    return withMethods(handleOf(callee, retry, host), callee.methods, () => callee.methods);
  };
}

function handleOf(
  { name, methods }: CalledDeployment,
  retry: HandleOptions,
  host: StartContext['host'],
): DeploymentHandle {
  const ask = (asked: Omit<ServedCall, 'deployment' | 'retry'>): Record<string, unknown> => ({
    ...{ deployment: name, retry },
    ...asked,
  });
  return {
    name,
    call: (method, args, options = {}) => host.call('call', ask({ method, args }), rpcOptionsOf(options)),
    stream: (method, args, options = {}) => {
      const { name: feed = '' } = (Object.hasOwn(methods, method) && methods[method]?.feed) || {};
      const { [feed]: values, ...others } = args;
      if (!isAsyncIterable(values)) return host.stream('stream', ask({ method, args }), rpcOptionsOf(options));
      const fed = Object.assign(rpcOptionsOf(options), { feed: { name: 'values', values } });
      return host.stream('stream', ask({ method, args: others, feed }), fed);
    },
  };
}
