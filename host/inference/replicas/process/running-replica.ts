import type { MemberFiles } from '../../../base/certificates/index.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import type { HeldModels } from '../pool/held-models.ts';
import type { RpcCallOptions } from '../../rpc/call-client.ts';
import type { ArtifactFolders, ReplicaAddress } from '../../rpc/frames.ts';
import type { ReplicaMemory } from '../../rpc/replica-memory.ts';
import type { ReplicaMetric } from '../../rpc/replica-metrics.ts';
import type { ServedMethods } from '../../rpc/method.ts';
import type { ReplicaState } from './replica-state.ts';

/** Where replicas listen for hosts of other machines. */
export interface RemoteListening {
  /** Address of this machine. The system chooses the port. */
  readonly host: string;
  readonly member: MemberFiles;
}

export interface ReplicaOptions {
  readonly deployment: string;
  /** Name for logs and errors, such as `asr_deployment#1`. */
  readonly name: string;
  /** Module that the process runs. It exports `start`. */
  readonly implementation: URL;
  /** Start parameters: JSON that `start` gets. */
  readonly spec: unknown;
  readonly log: Logger;
  /** What the process may call in the host. Default: nothing. */
  readonly served?: ServedMethods | undefined;
  /** Environment of the process. */
  readonly env: NodeJS.ProcessEnv;
  readonly nice: number;
  /** Calls that it runs at the same time. */
  readonly maxOngoing: number;
  /** Folder for the socket on which it listens for further hosts. Default: it has none. */
  readonly socketsDir?: string | undefined;
  /** Default: there are no artifacts. */
  readonly artifacts?: ArtifactFolders | undefined;
  /** Where and as which member of a cluster it also listens for hosts of other machines. Default: nowhere. */
  readonly remote?: RemoteListening | undefined;
  /** Numbers of the processors that the process may use. Default: those of this process. */
  readonly processors?: readonly number[] | undefined;
  /** Limit of the process's address space, in bytes. Default: none. */
  readonly addressBytes?: number | undefined;
  /** Milliseconds without progress after which loading fails. */
  readonly startTimeoutMs: number;
  readonly healthPeriodMs: number;
  /**
   * Milliseconds without an answer to a health check, or of the processor without progress of an engine that has work,
   * after which the process is killed.
   */
  readonly healthTimeoutMs: number;
  readonly onProgress?: ((fraction: number | undefined, text: string) => void) | undefined;
  /** Called with the memory of the process after loading and with each health check. */
  readonly onMemory?: ((memory: ReplicaMemory) => void) | undefined;
  /** Called with what the implementation has measured. It may still come after the process is gone. */
  readonly onMetrics?: ((metrics: readonly ReplicaMetric[]) => void) | undefined;
  /** Called when the number of calls of other hosts has changed. */
  readonly onLoad?: (() => void) | undefined;
  /** Called when it has told other models. */
  readonly onModels?: (() => void) | undefined;
  /** Called after each change of state and before its consequences. */
  readonly onState?: ((state: ReplicaState) => void) | undefined;
}

export type StartOutcome =
  | { readonly ok: true }
  /** `final`: another start would fail in the same way. */
  | { readonly ok: false; readonly final: boolean; readonly reason: string };

export interface ReplicaExit {
  /** Reason in one sentence for an operator. */
  readonly reason: string;
  /** Last lines of its output, oldest first. */
  readonly lastLines: readonly string[];
}

/** A replica as those see it who call it. */
export interface CalledReplica {
  readonly name: string;
  /** Calls on it, of all hosts together. */
  readonly ongoing: number;
  /** Those of other hosts. Default: none. */
  readonly others?: number | undefined;
  /** Its models, if it has many. */
  readonly models?: HeldModels | undefined;
  call(method: string, args: Record<string, unknown>, options: RpcCallOptions): Promise<unknown>;
  stream(method: string, args: Record<string, unknown>, options: RpcCallOptions): AsyncIterableIterator<unknown[]>;
}

/** Interface of replicas for slots and the set. Implemented by `Replica` and by simulated replicas. */
export interface RunningReplica extends CalledReplica {
  readonly state: ReplicaState;
  readonly pid: number | undefined;
  readonly steps: number;
  /** Where it listens for further hosts, once it is ready. Undefined if it does not. */
  readonly address?: ReplicaAddress | undefined;
  readonly memory?: ReplicaMemory | undefined;
  /** Stamp of the code that it runs, once it is ready; undefined when unknown. */
  readonly code: string | undefined;
  readonly started: Promise<StartOutcome>;
  readonly exited: Promise<ReplicaExit>;
  /** Sets another number of calls that it runs at the same time. */
  setBounds(maxOngoing: number): void;
  /** Gives the implementation another spec. Rejects when it refuses the spec and keeps the old one. */
  reconfigure(spec: unknown): Promise<void>;
  stop(graceMs: number, reason?: string): Promise<void>;
}

export type SpawnReplica = (options: ReplicaOptions) => RunningReplica;
