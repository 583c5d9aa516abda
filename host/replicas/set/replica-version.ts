import type { AanaError } from '../../core/errors.ts';
import type { AutoscalerOptions } from './autoscaler.ts';
import type { ReplicaMemory } from '../../rpc/replica-memory.ts';

/** A place that one slot holds on the machine's devices, over all restarts of its process. */
export interface Place {
  /** What the environment of its process says besides the deployment's. */
  readonly env: Readonly<Record<string, string>>;
  /** For people: `CPU`, `GPU 0`. */
  readonly device?: string | undefined;
  /** Called when the replica there has loaded, and with false when it has exited. */
  onLoaded?(isLoaded: boolean): void;
  /** Called with the memory that the replica there really uses. */
  onMemory?(memory: ReplicaMemory): void;
  release(): void;
}

/** Where replicas get their places. */
export interface Places {
  /**
   * Asks how much of the devices other programs use now; {@link take} and {@link noRoom} count with the answer.
   * Undefined when nobody has to be asked. Never rejects.
   */
  look?(): Promise<void> | undefined;
  /** A place for one more replica; undefined when there is no room now. */
  take(): Place | undefined;
  /**
   * Keeps these places, also when their replicas are gone, for those that come back and for those of another version;
   * until the function that it gives is called.
   */
  hold(places: Iterable<Place>): () => void;
  /** Why there is no room for `count` replicas, naming demand and supply. */
  noRoom(count: number): AanaError;
}

/** What the replicas of one version of a deployment are, and how many. */
export interface ReplicaVersion {
  /** Module that the process runs; it exports `start`. */
  readonly implementation: URL;
  /** JSON that `start` gets. */
  readonly spec: unknown;
  /** Replicas to keep running; with `autoscaling` as many as the calls need. */
  readonly count: number;
  readonly autoscaling?: AutoscalerOptions | undefined;
  /** Calls that one replica takes at the same time. */
  readonly maxOngoing: number;
  /** Calls that wait; more are refused. */
  readonly maxQueued: number;
  /**
   * Milliseconds that running calls may take when the deployment stops, or when the place of their replica is needed.
   */
  readonly graceMs: number;
  /**
   * Milliseconds that running calls may take on a replica that is not wanted any more, while nobody needs its place. At
   * least `graceMs` counts.
   */
  readonly drainMs: number;
  /** Milliseconds that loading may go without a sign of progress. */
  readonly startTimeoutMs: number;
  readonly healthPeriodMs: number;
  /**
   * Milliseconds without an answer to a health check, or with an engine that stands still over its work, after which
   * the process is killed.
   */
  readonly healthTimeoutMs: number;
  /** Default: all run in the given environment. */
  readonly places?: Places | undefined;
}

/** Replicas that run from the start. */
export function firstCount({ count, autoscaling }: ReplicaVersion): number {
  return autoscaling?.minReplicas ?? count;
}
