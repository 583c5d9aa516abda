import { HostError } from '../host-error.ts';
import type { Invocation } from '../../../../wit/generated/world/invocation.ts';
import { onCancelled } from './event-loop.ts';

/**
 * Returns a signal that is aborted when the run must end: at the failure of a call of the host, at the end of a wait,
 * or when somebody reads it. Its reason is the error of the host.
 */
export function cancelSignal(invocation: Invocation): AbortSignal {
  const controller = new AbortController(); // of the guest, or of Node in tests
  let reason: unknown;
  const look = (error?: unknown): void => {
    if (reason !== undefined || !invocation.isCancelled()) return;
    reason = error ?? new HostError('CancelledError', 'cancelled', 'the request was cancelled');
    controller.abort(reason);
  };
  onCancelled(look);
  const looked = <T>(get: () => T) => ({
    get(): T {
      look();
      return get();
    },
  });
  return Object.defineProperties(controller.signal, {
    aborted: looked(() => reason !== undefined),
    reason: looked(() => reason),
    throwIfAborted: {
      value() {
        look();
        if (reason !== undefined) throw reason;
      },
    },
  });
}
