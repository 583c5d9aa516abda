import { AanaError } from '../../core/errors.ts';

export interface Loss {
  readonly deployment: string;
  readonly replica: string;
  readonly signal: NodeJS.Signals | null;
  /** Why it ended, in one sentence. */
  readonly how: string;
  /** The host ended it, for a reason that has nothing to do with the call. */
  readonly planned: boolean;
}

/** What a call ends with whose replica ended before the call did. */
export function replicaLost({ deployment, replica, signal, how, planned }: Loss): AanaError {
  const what = planned
    ? `replica ${replica} was ended before it had finished this request`
    : `replica ${replica} was lost while it worked on this request`;
  return new AanaError('ReplicaLostError', 'unavailable', `${what} (${how}); try again`, {
    data: { deployment, replica, signal, planned },
    fault: 'replica-lost',
  });
}

export function isLoss(error: unknown): error is AanaError {
  return error instanceof AanaError && error.fault === 'replica-lost';
}

/**
 * Whether the call had no part in the loss: the host ended the replica because it was not wanted any more, or was
 * replaced.
 */
export function isPlanned(error: AanaError): boolean {
  return isLoss(error) && (error.data as Partial<Loss> | undefined)?.planned === true;
}
