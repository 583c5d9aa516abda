import { cancelledError, fail } from '../../../base/core/errors.ts';
import type { RemoteCalls } from '../../../../wit/generated/world/remote.ts';
import type { HeldChars } from './scope/held-chars.ts';
import type { CallsOf, RunningHelper } from './scope/scope.ts';

const helperName = /^[a-z][\w-]{0,63}$/i;

/** Helpers: further invocations of the same component. */
export const remoteCalls: CallsOf<keyof RemoteCalls> = {
  async 'remote.start'(scope, name, input) {
    const { startHelper } = scope;
    if (!startHelper) throw fail('NestedHelper', 'a helper cannot start helpers');
    if (!helperName.test(name))
      throw fail(
        'InvalidArguments',
        `"${name}" is not the name of a helper: a name has at most 64 letters, digits, "_" and "-", and begins ` +
          `with a letter`,
      );
    const helper = heldHelper(scope.held, input, (signal) =>
      startHelper(name, input, AbortSignal.any([scope.signal, signal])),
    );
    try {
      return scope.keep({ kind: 'helper', helper });
    } catch (error) {
      helper.cancel();
      throw error;
    }
  },
  'remote.wait': (scope, handle) => scope.get(handle, 'helper').helper.result,
};

/** Starts a helper. Its input, and later its result, counts as held until the helper is cancelled. */
function heldHelper(held: HeldChars, input: string, start: (signal: AbortSignal) => Promise<string>): RunningHelper {
  let chars = 0;
  let isDropped = false;
  const hold = (next: number): void => {
    held.give(chars);
    chars = 0;
    if (isDropped) return;
    held.take(next);
    chars = next;
  };
  hold(input.length);
  const abort = new AbortController();
  const result = start(abort.signal).then(
    (json) => {
      hold(json.length);
      return json;
    },
    (error: unknown) => {
      hold(0);
      throw error;
    },
  );
  result.catch(() => {}); // the guest sees the error when it waits for the result
  return {
    result,
    cancel() {
      isDropped = true;
      hold(0);
      abort.abort(cancelledError('the helper was dropped'));
    },
  };
}
