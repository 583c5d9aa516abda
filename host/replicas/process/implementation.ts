import type { Logger } from '../../core/log/logger.ts';
import type { Artifact } from '../../schemas/index.ts';
import type { GpuMemory, ServedMethods } from '../../rpc/index.ts';

/** What runs inside a replica once it is loaded. */
export interface Implementation {
  readonly methods: ServedMethods;
  /** Facts about the loaded model, shown in the deployment's status. */
  readonly info?: unknown;
  /**
   * Says which code it runs. When it differs between processes of one version, the log says so: what they import has
   * changed since the first of them.
   */
  readonly code?: string | undefined;
  /**
   * One small call that works like those of users: whoever cannot answer it never becomes ready, and what loads late is
   * loaded.
   */
  warmUp?(): Promise<void>;
  /**
   * Takes another spec while calls run, for those that begin afterwards. Rejects when it cannot, and then goes on as it
   * was. Without it a deployment is updated by new replicas.
   */
  reconfigure?(spec: unknown): Promise<void>;
  /** Grows while there is work; reported with each health check. */
  steps?(): number;
  /**
   * Whether there is work that it can go on with, and a number that grows all the time while it works. One that is busy
   * while the number stands still has hung, although its event loop answers; the host then replaces it.
   */
  activity?(): { readonly busy: boolean; readonly beats: number };
  /**
   * What it uses of each GPU that it was given. Where an implementation has it, the host corrects what it counted for
   * the replica.
   */
  gpuMemory?(): readonly GpuMemory[];
  /**
   * Asked with each health check; the answer to the check waits for it. When it rejects, the process ends and another
   * one follows.
   */
  checkHealth?(): Promise<void>;
  /** Frees the model. Called once, when no call is running any more. */
  close?(): Promise<void>;
}

export interface StartContext {
  readonly log: Logger;
  /** The path of an artifact's bytes on this machine. Rejects with `ArtifactNotFound`. */
  artifactPath(artifact: Artifact): Promise<string>;
  /** Tells how far loading is: 0 to 1, or undefined when unknown. */
  progress(fraction: number | undefined, text: string): void;
}

/**
 * A module that can be run in a replica exports this function as `start`. A rejection is final: the deployment has
 * failed.
 */
export type StartImplementation = (spec: unknown, context: StartContext) => Promise<Implementation>;
