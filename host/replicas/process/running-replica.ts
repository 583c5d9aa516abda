import type { ReplicaExit, ReplicaOptions, StartOutcome } from './replica.ts';
import type { RpcCallOptions } from '../../rpc/call-client.ts';
import type { ReplicaMemory } from '../../rpc/replica-memory.ts';
import type { ReplicaState } from './replica-state.ts';

/** Interface of replicas for slots, the pool and the set. Implemented by {@link Replica} and by simulated replicas. */
export interface RunningReplica {
  readonly name: string;
  readonly state: ReplicaState;
  readonly pid: number | undefined;
  readonly ongoing: number;
  readonly steps: number;
  readonly memory?: ReplicaMemory | undefined;
  /** Stamp of the code that it runs, once it is ready; undefined when unknown. */
  readonly code: string | undefined;
  readonly started: Promise<StartOutcome>;
  readonly exited: Promise<ReplicaExit>;
  call(method: string, args: Record<string, unknown>, options: RpcCallOptions): Promise<unknown>;
  stream(method: string, args: Record<string, unknown>, options: RpcCallOptions): AsyncIterableIterator<unknown[]>;
  /** Gives the implementation another spec. Rejects when it refuses the spec and keeps the old one. */
  reconfigure(spec: unknown): Promise<void>;
  stop(graceMs: number, reason?: string): Promise<void>;
}

export type SpawnReplica = (options: ReplicaOptions) => RunningReplica;
