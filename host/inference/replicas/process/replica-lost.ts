import { AanaError, fail } from '../../../base/core/errors.ts';

export interface Loss {
  readonly deployment: string;
  readonly replica: string;
  readonly signal: NodeJS.Signals | null;
  /** Reason of the end, in one sentence. */
  readonly how: string;
  /** Whether the host ended it for a reason that has nothing to do with the call. */
  readonly planned: boolean;
}

/** Returns the error of a call whose replica ended before the call did. */
export function replicaLost({ deployment, replica, signal, how, planned }: Loss): AanaError {
  const what = planned
    ? `replica ${replica} was ended before it had finished this request`
    : `replica ${replica} was lost while it worked on this request`;
  return fail('ReplicaLostError', `${what} (${how}); try again`, {
    data: { deployment, replica, signal, planned },
    fault: 'replica-lost',
  });
}

export function isLoss(error: unknown): error is AanaError {
  return error instanceof AanaError && error.fault === 'replica-lost';
}

/**
 * Returns whether the host ended the replica because it was no longer needed or was replaced, so that the call had no
 * part in it.
 */
export function isPlanned(error: AanaError): boolean {
  return isLoss(error) && (error.data as Partial<Loss> | undefined)?.planned === true;
}
