import type { AanaError } from '../../../base/core/errors.ts';
import type { AutoscalerOptions } from './autoscaler.ts';
import type { ServedMethods } from '../../rpc/method.ts';
import type { ReplicaMemory } from '../../rpc/replica-memory.ts';

/** What a replica has of one device. */
export interface DeviceShare {
  /** Name for people: `CPU`, `GPU 0`. */
  readonly device: string;
  /** Share of a GPU, from 0 to 1; 0 of the processors. */
  readonly share: number;
  /** Reserved processors; 0 of a GPU. */
  readonly cpus: number;
  /** Bytes reserved for it or used by it. */
  readonly memory_bytes: number;
}

/** A slot's place on the machine's devices, kept over all restarts of its process. */
export interface DevicePlace {
  /** Additional environment variables of the process. */
  readonly env: Readonly<Record<string, string>>;
  /** Numbers of the processors to which its threads are bound. Default: all. */
  readonly processors?: readonly number[] | undefined;
  /** Name for people: `CPU`, `GPU 0`; bound to processors `CPU 0-3`. */
  readonly device?: string | undefined;
  /** Returns what the replica has of each of its devices now. */
  shares?(): readonly DeviceShare[];
  /** Called with true when the replica has loaded, and with false when it has exited. */
  onLoaded?(isLoaded: boolean): void;
  /** Called with the measured memory of the replica. */
  onMemory?(memory: ReplicaMemory): void;
  release(): void;
}

/** Source of places for replicas. */
export interface DevicePlaces {
  /**
   * Updates how much of the devices other programs use, which {@link take} and {@link noRoom} take into account.
   * Returns undefined when no query is needed. Never rejects.
   */
  look?(): Promise<void> | undefined;
  /** Takes a place for one more replica. Returns undefined when there is no room now. */
  take(): DevicePlace | undefined;
  /**
   * Keeps these places, even when their replicas are gone, for a rollback and for replicas of another version. The
   * returned function ends this.
   */
  hold(places: Iterable<DevicePlace>): () => void;
  /** Returns the error that there is no room for `count` replicas, with demand and supply. */
  noRoom(count: number): AanaError;
}

/** A version of a deployment: the implementation, configuration and number of its replicas. */
export interface ReplicaVersion {
  /** Module that the process runs. It exports `start`. */
  readonly implementation: URL;
  /** Start parameters: JSON that `start` gets. */
  readonly spec: unknown;
  /** What the process may call in the host. Default: nothing. */
  readonly served?: ServedMethods | undefined;
  /** Number of replicas. Ignored with `autoscaling`. */
  readonly count: number;
  readonly autoscaling?: AutoscalerOptions | undefined;
  /** Calls that one replica takes at the same time. */
  readonly maxOngoing: number;
  /** Most calls that wait; more are refused. */
  readonly maxQueued: number;
  /** Whether a replica pauses calls of one user when another user waits. */
  readonly pausesForOthers?: boolean | undefined;
  /**
   * Milliseconds in which running calls may finish when the deployment stops, or when the place of their replica is
   * needed.
   */
  readonly graceMs: number;
  /**
   * Milliseconds in which running calls may finish on a replica that is no longer needed, while nobody needs its place.
   * At least `graceMs`.
   */
  readonly drainMs: number;
  /** Milliseconds without progress after which loading fails. */
  readonly startTimeoutMs: number;
  readonly healthPeriodMs: number;
  /**
   * Milliseconds without an answer to a health check, or of the processor without progress of an engine that has work,
   * after which the process is killed.
   */
  readonly healthTimeoutMs: number;
  /** Places of the replicas. Default: unlimited, without additional environment variables. */
  readonly places?: DevicePlaces | undefined;
}

/** Returns the number of replicas at the start. */
export function firstCount({ count, autoscaling }: ReplicaVersion): number {
  return autoscaling?.minReplicas ?? count;
}
