import type { GrowingFiles } from '../../../io/artifacts/index.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import type { Artifact } from '../../../base/schemas/index.ts';
import type { CallClient, GpuMemory, ReplicaMetric, ServedMethods } from '../../rpc/index.ts';

/** The loaded implementation of a deployment inside a replica. */
export interface Implementation {
  readonly methods: ServedMethods;
  /** Facts about the loaded model, shown in the deployment's status. */
  readonly info?: unknown;
  /**
   * Stamp of the code that it runs. If it differs between replicas of one version, files have changed since the first
   * one started; the host then logs an error.
   */
  readonly code?: string | undefined;
  /**
   * Makes one small call like those of users, so that lazy loading happens now. If it fails, the replica does not
   * become ready.
   */
  warmUp?(): Promise<void>;
  /**
   * Applies another spec to calls that begin afterwards, while running calls go on. If it rejects, the old spec stays
   * in force. Without this method a deployment is updated with new replicas.
   */
  reconfigure?(spec: unknown): Promise<void>;
  /** Returns a counter that grows while there is work. It is reported with each health check. */
  steps?(): number;
  /**
   * Returns whether the engine has work that it can do now, and a counter that grows while it works. The host replaces
   * a replica that is busy while the counter stands still, because its engine hangs although the event loop answers.
   */
  activity?(): { readonly busy: boolean; readonly beats: number };
  /**
   * Returns the memory that it uses on each of its GPUs. The host replaces its estimate for the replica by these
   * numbers.
   */
  gpuMemory?(): readonly GpuMemory[];
  /**
   * Returns what it has measured, for the telemetry of the host. Called with each health check, and before `close` in a
   * process that is told to end.
   */
  metrics?(): readonly ReplicaMetric[];
  /** Called with each health check, whose answer waits for it. If it rejects, the process ends and is restarted. */
  checkHealth?(): Promise<void>;
  /** Frees the model. Called once, after the last call. */
  close?(): Promise<void>;
}

export interface StartContext {
  readonly log: Logger;
  /**
   * Returns the path of an artifact that a running call names in its arguments. The file stays until that call has
   * ended. Rejects with `ArtifactNotFound`, or `DiskFullException` when there is no space for a copy.
   */
  artifactPath(artifact: Artifact): Promise<string>;
  /**
   * Returns the paths of files that grow while the audio of a running call is decoded, and of a file beside them that
   * appears when they are complete. If decoding fails, or the bytes cannot be had, the former are removed. Rejects like
   * `artifactPath`.
   */
  growingPaths(ids: readonly string[], endId: string): Promise<GrowingFiles>;
  /** Reports the progress of loading: 0 to 1, or undefined when unknown. */
  progress(fraction: number | undefined, text: string): void;
  /** Tells the host which of many models are there or being loaded. Calls for these prefer this replica. */
  onModels(ids: readonly string[]): void;
  /** Calls what the host serves to replicas. */
  readonly host: Pick<CallClient, 'call' | 'stream'>;
}

/** The function `start` that a module for replicas exports. A rejection is final: the deployment has failed. */
export type StartImplementation = (spec: unknown, context: StartContext) => Promise<Implementation>;
