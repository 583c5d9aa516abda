import * as z from 'zod';
import { Ending } from '../../../base/core/abort.ts';
import { withRequest } from '../../../base/core/async/request-scope.ts';
import { type AanaError, fail } from '../../../base/core/errors.ts';
import { check } from '../class/check.ts';
import type { CallOptions, DeploymentHandle } from './deployment-handle.ts';

/** Schema of the id of a model of a deployment with many. */
export const MultiplexedModelId = z.string().min(1).max(256);

export const CallLimits = z.strictObject({
  multiplexedModelId: MultiplexedModelId.optional(),
  timeoutS: z.number().positive().max(86_400).optional(),
  priority: z.int().min(-1000).max(1000).optional(),
});

/** Options of all calls of a handle. */
export interface CallLimits {
  /**
   * The model that the calls are for, of a class with `static multiplexed`: 1 to 256 characters. Each call goes to a
   * replica that has it, if one has room.
   */
  readonly multiplexedModelId?: string | undefined;
  /**
   * Seconds from a call until its result or the end of its stream, above 0 to 86400. Then the call is cancelled, and
   * ends with `DeadlineExceeded`. Default: the time that its request has.
   */
  readonly timeoutS?: number | undefined;
  /**
   * A whole number from -1000 to 1000. Calls with a higher number go first among the waiting calls of the same user.
   * Default: the priority of the request.
   */
  readonly priority?: number | undefined;
}

/** Returns a handle whose calls have these limits. Options of a call go before them. Throws `ValidationError`. */
export function limitedHandle(base: DeploymentHandle, limits: CallLimits): DeploymentHandle {
  const { timeoutS, priority, multiplexedModelId } = check(
    CallLimits,
    limits,
    `options of the handle of deployment ${base.name}`,
  );
  const optionsOf = (given: CallOptions): CallOptions =>
    withRequest({
      ...given,
      priority: given.priority ?? priority,
      multiplexedModelId: given.multiplexedModelId ?? multiplexedModelId,
    });
  if (timeoutS === undefined)
    return {
      name: base.name,
      call: (method, args, given = {}) => base.call(method, args, optionsOf(given)),
      stream: (method, args, given = {}) => base.stream(method, args, optionsOf(given)),
    };
  const endingOf = (method: string, { signal }: CallOptions): Ending =>
    new Ending({ signal, timeoutMs: timeoutS * 1000, timedOut: () => timedOut(base.name, method, timeoutS) });
  const within = (options: CallOptions, { signal, deadlineAt }: Ending): CallOptions => ({
    ...options,
    ...{ signal, deadlineAt: Math.min(deadlineAt, options.deadlineAt ?? Infinity) },
  });
  const stream = async function* (
    method: string,
    args: Record<string, unknown>,
    options: CallOptions,
  ): AsyncGenerator<unknown[], unknown> {
    using ending = endingOf(method, options);
    return yield* base.stream(method, args, within(options, ending));
  };
  return {
    name: base.name,
    call: async (method, args, given = {}) => {
      const options = optionsOf(given);
      using ending = endingOf(method, options);
      return await base.call(method, args, within(options, ending));
    },
    stream: (method, args, given = {}) => stream(method, args, optionsOf(given)),
  };
}

function timedOut(deployment: string, method: string, timeoutS: number): AanaError {
  return fail('DeadlineExceeded', `deployment ${deployment} did not finish ${method} within ${timeoutS} s`, {
    data: { deployment, timeout_s: timeoutS },
  });
}
