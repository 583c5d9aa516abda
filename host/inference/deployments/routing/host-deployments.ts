import type { RequestContext } from '../../../base/core/request-context.ts';
import type { ReplicaSetStatus, Reservation } from '../../replicas/index.ts';
import type { BoundDeployment } from '../class/bound-deployment.ts';
import type { DeploymentOptionsInput } from '../class/deployment-options.ts';
import type { HandleOptionsInput } from '../handle/handle-options.ts';
import type { DescribedHandle } from '../handle/typed-handle.ts';

export interface Readiness {
  readonly ready: boolean;
  /** Names of started deployments that serve no calls now. */
  readonly away: readonly string[];
}

/** The deployments as every host of an application uses them, whether it keeps their replicas running or not. */
export interface HostDeployments {
  /**
   * Registers the result of a class's `options`, or an entry of the configuration file. Throws `ValidationError`, which
   * names the deployment and the key, also when deployments would call each other in a circle.
   */
  register(name: string, deployment: BoundDeployment | DeploymentOptionsInput): BoundDeployment;
  /** Removes a deployment that was not started. Does nothing if there is none of that name. */
  unregister(name: string): void;
  /** Whether a deployment has this name. */
  has(name: string): boolean;
  /** Calls `listener` after a deployment was registered or removed. */
  onNames(listener: () => void): void;
  /** Returns the current definition and options of each deployment, in the order of registration. */
  registered(): Map<string, BoundDeployment>;
  /**
   * Returns a handle. Each of its calls goes to the deployment that has the name at that time; calls before the start
   * are refused. Throws `DeploymentNotFound`, which names all deployments.
   */
  handle(name: string, retry?: HandleOptionsInput): DescribedHandle;
  /**
   * Reserves room in a deployment for a call that follows other work of its request, such as the fetch of a video.
   * Throws `DeploymentNotFound`, or the error with which the call would be refused now: `DeploymentFull`,
   * `DeploymentOverloaded`.
   */
  reserve(name: string, context: RequestContext): Reservation;
  /**
   * Returns whether calls are served: those of one deployment, or those of any. A host without deployments is ready.
   * Throws `DeploymentNotFound`.
   */
  readiness(name?: string): Readiness;
  /** Returns the deployments whose models hear the audio of dialogs. */
  hearing(): ReadonlySet<string>;
  status(): Readonly<Record<string, Pick<ReplicaSetStatus, 'status' | 'message'>>>;
  /** Ends all use of the replicas. Running calls may finish for `graceMs`. May be called twice. */
  shutdown(options: { readonly graceMs: number }): Promise<void>;
}

/** Returns the readiness of the deployments with these states; `serves` as in the table of deployments. */
export function readinessOf(
  asked: ReadonlyMap<string, { readonly serves?: boolean | undefined }>,
  isOfAll: boolean,
): Readiness {
  const started = [...asked].filter(([, { serves }]) => serves !== undefined);
  const away = started.filter(([, { serves }]) => serves === false).map(([name]) => name);
  const isEmpty = isOfAll && started.length === 0;
  return { ready: isEmpty || away.length < started.length, away };
}
