import { fail } from '../../../base/core/errors.ts';

/** How many calls of a method are computed together. */
export interface BatchLimits {
  /** Most calls, from 1 to the `maxBatchSize` that the method declares. */
  readonly maxBatchSize?: number | undefined;
  /** Seconds that a call waits for others, from 0 to 60. */
  readonly batchWaitTimeoutS?: number | undefined;
}

/** Changes the limits of a method. */
export type SetBatch = (method: string, limits: BatchLimits) => void;

/** A symbol and not a private field, because the class may come from another copy of this package than the replica. */
const BATCHES = Symbol.for('aana-host.batches');

interface WithBatches {
  [BATCHES]?: SetBatch;
}

/** Gives an object of a deployment class the limits of its batches. */
export function attachBatches(deployment: object, set: SetBatch): void {
  (deployment as WithBatches)[BATCHES] = set;
}

/** Returns what {@link attachBatches} gave. Throws `NotReady` before. */
export function batchesOf(deployment: object): SetBatch {
  const set = (deployment as WithBatches)[BATCHES];
  if (set) return set;
  const { name } = deployment.constructor;
  throw fail('NotReady', `${name}: setBatch works in a replica, from applyConfig() on, not in the constructor`);
}
