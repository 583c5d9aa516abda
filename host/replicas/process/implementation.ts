import type { Logger } from '../../core/log/logger.ts';
import type { RequestContext } from '../../core/request-context.ts';
import type { Artifact } from '../../schemas/index.ts';
import type { GpuMemory } from '../../rpc/replica-memory.ts';

/** What a method of an implementation gets beside its arguments. */
export interface CallContext extends RequestContext {
  /** Aborts when the caller cancelled, went away, or the replica is told to stop at once. */
  readonly signal: AbortSignal;
}

/**
 * A method answers with a promise (one value) or an async iterable (a stream); the caller says which it expects. Values are JSON.
 * A stream is pulled only as fast as its reader takes values, so a generator that waits inside `yield` is being held back.
 */
export type ImplementationMethod = (args: Record<string, unknown>, context: CallContext) => Promise<unknown> | AsyncIterable<unknown>;

/** What runs inside a replica once it is loaded. */
export interface Implementation {
  readonly methods: Readonly<Record<string, ImplementationMethod>>;
  /** Facts about the loaded model, shown in the deployment's status. */
  readonly info?: unknown;
  /** Says which code it runs. When it differs between processes of one version, the log says so: what they import has changed since the first of them. */
  readonly code?: string | undefined;
  /** One small call that works like those of users: whoever cannot answer it never becomes ready, and what loads late is loaded. */
  warmUp?(): Promise<void>;
  /**
   * Takes another spec while calls run, for those that begin afterwards. Rejects when it cannot, and then goes on as it was. Without it a deployment is
   * updated by new replicas.
   */
  reconfigure?(spec: unknown): Promise<void>;
  /** Grows while there is work; reported with each health check. */
  steps?(): number;
  /**
   * Whether there is work that it can go on with, and a number that grows all the time while it works. One that is busy while the
   * number stands still has hung, although its event loop answers; the host then replaces it.
   */
  activity?(): { readonly busy: boolean; readonly beats: number };
  /** What it uses of each GPU that it was given. Where an implementation has it, the host corrects what it counted for the replica. */
  gpuMemory?(): readonly GpuMemory[];
  /** Asked with each health check; the answer to the check waits for it. When it rejects, the process ends and another one follows. */
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

/** A module that can be run in a replica exports this function as `start`. A rejection is final: the deployment has failed. */
export type StartImplementation = (spec: unknown, context: StartContext) => Promise<Implementation>;
