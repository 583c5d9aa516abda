import type { LoadProgress, Member } from './fleet.ts';
import type { SlotFailure } from '../slot/replica-slot.ts';
import type { ReplicaMemory } from '../../rpc/replica-memory.ts';
import type { ReplicaState } from '../process/replica-state.ts';
import type { UpdateState } from '../update/update-state.ts';

export interface ReplicaStatus {
  readonly name: string;
  readonly state: ReplicaState;
  readonly pid: number | undefined;
  /** Where it runs, for people: `CPU`, `GPU 0`; empty when it has no place. */
  readonly device: string;
  /** Calls it works on. */
  readonly ongoing: number;
  /** Steps of its engine as of the last health check. */
  readonly steps: number;
  /** What its process uses, as measured; undefined while it loads, and where its implementation does not tell. */
  readonly memory: ReplicaMemory | undefined;
  readonly restarts: number;
  /** Why it was given up; empty while it is kept running. */
  readonly failure: string;
  /** How far its model is; undefined when it is not loading. */
  readonly loading: LoadProgress | undefined;
}

export interface ReplicaSetStatus {
  readonly status: 'DEPLOYING' | 'RUNNING' | 'UNHEALTHY' | 'DEPLOY_FAILED' | 'STOPPED';
  /** Why, when it is not running. */
  readonly message: string;
  readonly replicas: readonly ReplicaStatus[];
  /** Calls that wait for a replica. */
  readonly queued: number;
  /** Where the update is that runs. */
  readonly updating: UpdateState | undefined;
  /** What the process wrote last of a replica that was given up, oldest line first. */
  readonly lastLines: readonly string[];
}

interface StatusFacts {
  readonly members: readonly Member[];
  readonly deviceOf: (member: Member) => string;
  /** Those that are not on their way out. */
  readonly kept: readonly Member[];
  readonly phase: 'starting' | 'started' | 'stopped';
  readonly queued: number;
  readonly updating: UpdateState | undefined;
  /** Why no replica starts by itself any more. */
  readonly failure: SlotFailure | undefined;
  /** Why a process was lost the last time. */
  readonly lastLoss: string;
  /** Replicas that there should be and for which there is no room. */
  readonly missing: number;
}

/** What a set of replicas says of itself. */
export function replicaStatus(facts: StatusFacts): ReplicaSetStatus {
  const replicas = facts.members.map((member) => {
    const { loading, slot } = member;
    const { name, replica, restarts, failure } = slot;
    return {
      name,
      state: replica?.state ?? ('exited' as const),
      pid: replica?.pid,
      device: facts.deviceOf(member),
      ongoing: replica?.ongoing ?? 0,
      steps: replica?.steps ?? 0,
      memory: replica?.memory,
      restarts,
      failure: failure?.reason ?? '',
      loading,
    };
  });
  const lastLines = (facts.failure ?? facts.members.find(({ slot }) => slot.failure)?.slot.failure)?.lastLines ?? [];
  return { ...health(facts), replicas, queued: facts.queued, updating: facts.updating, lastLines };
}

function health({
  kept,
  phase,
  failure,
  lastLoss,
  missing,
}: StatusFacts): Pick<ReplicaSetStatus, 'status' | 'message'> {
  const failures = kept.flatMap(({ slot }) => slot.failure?.reason ?? []);
  const message = failures[0] ?? '';
  if (failure) return { status: 'DEPLOY_FAILED', message: failure.reason };
  if (kept.length > 0 && failures.length === kept.length) return { status: 'DEPLOY_FAILED', message };
  if (phase === 'stopped') return { status: 'STOPPED', message: '' };
  if (phase === 'starting') return { status: 'DEPLOYING', message: '' };
  if (missing > 0)
    return { status: 'UNHEALTHY', message: message || `there is no room for ${missing} of its replicas` };
  // One that is starting for the first time is more than what there was, not less.
  const isWell = kept.every(
    ({ slot: { replica, restarts, state } }) => replica?.state === 'ready' || (state === 'starting' && restarts === 0),
  );
  return isWell ? { status: 'RUNNING', message: '' } : { status: 'UNHEALTHY', message: message || lastLoss };
}
