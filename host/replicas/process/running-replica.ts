import type { ReplicaExit, ReplicaOptions, StartOutcome } from './replica.ts';
import type { RpcCallOptions } from '../../rpc/call-client.ts';
import type { ReplicaMemory } from '../../rpc/replica-memory.ts';
import type { ReplicaState } from './replica-state.ts';

/** What a slot, the pool and the set want of a replica: {@link Replica}, or a simulated one. */
export interface RunningReplica {
  readonly name: string;
  readonly state: ReplicaState;
  readonly pid: number | undefined;
  readonly ongoing: number;
  readonly steps: number;
  readonly memory?: ReplicaMemory | undefined;
  /** Says which code it runs, once it is ready; undefined when that is not known. */
  readonly code: string | undefined;
  readonly started: Promise<StartOutcome>;
  readonly exited: Promise<ReplicaExit>;
  call(method: string, args: Record<string, unknown>, options: RpcCallOptions): Promise<unknown>;
  stream(method: string, args: Record<string, unknown>, options: RpcCallOptions): AsyncIterableIterator<unknown[]>;
  /** Hands the implementation another spec. Rejects when it does not take it; then it goes on with what it had. */
  reconfigure(spec: unknown): Promise<void>;
  stop(graceMs: number, reason?: string): Promise<void>;
}

export type SpawnReplica = (options: ReplicaOptions) => RunningReplica;
