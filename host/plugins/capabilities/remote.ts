import { AanaError, cancelledError } from '../../core/errors.ts';
import type { CallsOf } from './scope.ts';

const helperName = /^[a-z][\w-]{0,63}$/i;

/** Helpers of the same component in invocations of their own. */
export const remoteCalls: CallsOf<'remote.start' | 'remote.wait'> = {
  async 'remote.start'(scope, name, input) {
    if (!scope.startHelper) throw new AanaError('NestedHelper', 'denied', 'a helper cannot start helpers');
    if (!helperName.test(name)) throw new AanaError('InvalidArguments', 'invalid-input', `"${name}" cannot be the name of a helper`);
    const abort = new AbortController();
    const result = scope.startHelper(name, input, AbortSignal.any([scope.signal, abort.signal]));
    result.catch(() => {}); // the guest sees it when it waits, or does not care
    try {
      return scope.keep({ kind: 'task', task: { result, cancel: () => abort.abort(cancelledError('the helper was dropped')) } });
    } catch (error) {
      abort.abort(error);
      throw error;
    }
  },
  'remote.wait': (scope, task) => scope.get(task, 'task').task.result,
};
