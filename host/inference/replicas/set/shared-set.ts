import type { AanaError } from '../../../base/core/errors.ts';
import type { ReplicaAddress } from '../../rpc/frames.ts';
import type { CallBounds } from '../pool/replica-pool.ts';
import type { Member } from './fleet.ts';
import { notListening } from './set-errors.ts';

/** The refusals of all waiting calls of a deployment. */
export interface RefusedCalls {
  /** How often that happened. Hosts refuse their waiting calls when it has grown. */
  readonly count: number;
  /** The last error. */
  readonly error: AanaError | undefined;
}

/** What other hosts see of a deployment, so that they call its replicas. */
export interface SharedSet {
  readonly bounds: CallBounds & { readonly pausesForOthers: boolean };
  /** The error with which all new calls are refused. */
  readonly refusal: AanaError | undefined;
  /** The error of calls that find no replica and may not wait for one. */
  readonly unavailable: AanaError | undefined;
  readonly refused: RefusedCalls;
  /** The replicas that take calls, with the models that they have, if they have many. */
  readonly replicas: readonly {
    readonly name: string;
    readonly address: ReplicaAddress;
    readonly models: readonly string[];
  }[];
}

export interface SharedSetFacts extends Pick<SharedSet, 'refusal' | 'refused'> {
  readonly deployment: string;
  readonly members: readonly Member[];
  readonly bounds: CallBounds;
  /** Returns the error of calls that find no replica. */
  unavailable(): AanaError | undefined;
}

/** Returns what other hosts see of a deployment. Replicas that could not listen for them are not there. */
export function sharedSet({
  deployment,
  members,
  bounds: { maxOngoing, maxQueued, pausesForOthers = false },
  refusal,
  refused,
  unavailable,
}: SharedSetFacts): SharedSet {
  const ready = members.flatMap(({ slot: { replica }, takesCalls }) =>
    takesCalls && replica?.state === 'ready' ? [replica] : [],
  );
  const replicas = ready.flatMap(({ name, address, models }) =>
    address ? [{ name, address, models: models?.ids ?? [] }] : [],
  );
  const isUnheard = ready.length > 0 && replicas.length === 0;
  return {
    bounds: { maxOngoing, maxQueued, pausesForOthers },
    refusal,
    unavailable: isUnheard ? notListening(deployment) : unavailable(),
    refused,
    replicas,
  };
}
