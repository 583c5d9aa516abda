// Calls of deployments by another process, in the terms of rpc/.
import { requestContextOf } from '../../../base/core/request-context.ts';
import { withRequest } from '../../../base/core/async/request-scope.ts';
import type { CallContext, RpcCallOptions } from '../../rpc/index.ts';
import type { CallOptions } from './deployment-handle.ts';

/** Returns the options with which a process sends a call. */
export function rpcOptionsOf(given: CallOptions): RpcCallOptions {
  const { signal, onProgress, multiplexedModelId, ...context } = withRequest(given);
  return {
    ...requestContextOf(context),
    multiplexedModelId,
    ...{ signal, onProgress: onProgress && ((fraction) => onProgress({ stage: 'running', fraction, text: '' })) },
  };
}

/** Returns the options of a call that came from another process. */
export function callOptionsOf({ signal, progress, multiplexedModelId, ...context }: CallContext): CallOptions {
  return {
    ...requestContextOf(context),
    multiplexedModelId,
    signal,
    onProgress:
      progress &&
      (({ stage, fraction }) => {
        if (stage === 'running' && fraction !== undefined) progress(fraction);
      }),
  };
}
