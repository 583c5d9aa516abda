import type { LoadProgress, Member } from './fleet.ts';
import type { SlotFailure } from '../slot/replica-slot.ts';
import type { ReplicaMemory } from '../../rpc/replica-memory.ts';
import type { ReplicaState } from '../process/replica-state.ts';
import type { DeviceShare, DevicePlace } from './replica-version.ts';
import type { UpdateState } from '../update/update-state.ts';

export interface ReplicaStatus {
  readonly name: string;
  readonly state: ReplicaState;
  readonly pid: number | undefined;
  /** Name of its device, for people: `CPU`, `GPU 0`, bound `CPU 0-3`; empty when it has no place. */
  readonly device: string;
  /** What it has of each of its devices. */
  readonly shares: readonly DeviceShare[];
  /** Number of calls on it. */
  readonly ongoing: number;
  /** Steps of the engine at the last health check. */
  readonly steps: number;
  /** Measured memory of the process; undefined while it loads, or if the implementation does not report it. */
  readonly memory: ReplicaMemory | undefined;
  /** Models that it has or loads, of a class with many. */
  readonly models: readonly string[];
  readonly restarts: number;
  /** Reason for which it was given up; otherwise empty. */
  readonly failure: string;
  /** Load progress; undefined when it is not loading. */
  readonly loading: LoadProgress | undefined;
}

export interface ReplicaSetStatus {
  /** `UNLOADED`: the deployment has no replicas until it is loaded again. */
  readonly status: 'DEPLOYING' | 'RUNNING' | 'UNHEALTHY' | 'DEPLOY_FAILED' | 'STOPPED' | 'UNLOADED';
  /** Reason of a status other than `RUNNING`. */
  readonly message: string;
  readonly replicas: readonly ReplicaStatus[];
  /** Number of waiting calls. */
  readonly queued: number;
  /** State of the update in progress. */
  readonly updating: UpdateState | undefined;
  /** Last lines of a replica that was given up, oldest first. */
  readonly lastLines: readonly string[];
}

interface StatusFacts {
  readonly members: readonly Member[];
  readonly placeOf: (member: Member) => DevicePlace | undefined;
  /** Members that are not ending. */
  readonly kept: readonly Member[];
  readonly phase: 'starting' | 'started' | 'stopped';
  readonly queued: number;
  readonly updating: UpdateState | undefined;
  /** Reason for which all replicas were given up. */
  readonly failure: SlotFailure | undefined;
  /** Reason of the latest loss of a process. */
  readonly lastLoss: string;
  /** Number of wanted replicas for which there is no room. */
  readonly missing: number;
}

/** Returns the status of a replica set. */
export function replicaStatus(facts: StatusFacts): ReplicaSetStatus {
  const replicas = facts.members.map((member) => {
    const { loading, slot } = member;
    const { name, replica, restarts, failure } = slot;
    const place = facts.placeOf(member);
    return {
      name,
      state: replica?.state ?? ('exited' as const),
      pid: replica?.pid,
      device: place?.device ?? '',
      shares: place?.shares?.() ?? [],
      ongoing: replica?.ongoing ?? 0,
      steps: replica?.steps ?? 0,
      memory: replica?.memory,
      models: replica?.models?.ids ?? [],
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
    return { status: 'UNHEALTHY', message: message || `there is no room for ${missing} of the replicas` };
  // A replica in its first start is an addition, so the others still serve.
  const isWell = kept.every(
    ({ slot: { replica, restarts, state } }) => replica?.state === 'ready' || (state === 'starting' && restarts === 0),
  );
  return isWell ? { status: 'RUNNING', message: '' } : { status: 'UNHEALTHY', message: message || lastLoss };
}
