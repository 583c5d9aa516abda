import { AanaError, fail } from '../../../base/core/errors.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import type { Placement } from '../../devices/index.ts';
import {
  failedDeployment,
  firstCount,
  type ReplicaSet,
  type UpdateResult,
  type UpdateState,
} from '../../replicas/index.ts';
import type { BoundDeployment } from '../class/bound-deployment.ts';
import { check } from '../class/check.ts';
import type { ReplicaSpec } from '../class/deployment-definition.ts';
import { DeploymentOptions } from '../class/deployment-options.ts';
import { type DeploymentPlaces, placementOf } from '../placement/deployment-places.ts';
import type { DeploymentStarter, Report } from './deployment-starter.ts';
import type { DevicePlan } from '../placement/device-plan.ts';
import { kindOfChange } from './kind-of-change.ts';
import type { ManagedDeployment } from './managed-deployment.ts';

/** Result of an update. */
export interface UpdateReport {
  readonly deployment: string;
  /**
   * `unchanged`: the options were the same. `rolled-back`: the new version failed, and the old version keeps serving.
   */
  readonly outcome: 'updated' | 'unchanged' | 'rolled-back';
  /** `in-place`: no replica was replaced. */
  readonly how: 'in-place' | 'rolling';
  /** Number of replicas of the new version that replaced old ones. */
  readonly replaced: number;
  /** Reason of a rollback; otherwise empty. */
  readonly reason: string;
  /** Last lines of a process of the new version before the rollback, oldest first. */
  readonly lastLines: readonly string[];
}

export interface ChangeOptions {
  readonly signal: AbortSignal;
  readonly progress: Report;
  /** Seconds that a new replica must serve before the next old replica is stopped. */
  readonly watchS: number;
  /** Returns the number of processors that each replica should keep busy. */
  cpusOf(bound: BoundDeployment, plan: DevicePlan): number;
}

/** Bounds of autoscaling. */
export interface ReplicaRange {
  readonly min_replicas: number;
  readonly max_replicas: number;
}

/** Changes running deployments. The caller makes one change of a deployment at a time. */
export class DeploymentChanges {
  readonly #starter: DeploymentStarter;
  readonly #log: Logger;

  constructor(starter: DeploymentStarter, log: Logger) {
    this.#starter = starter;
    this.#log = log;
  }

  /**
   * Updates the deployment: in place if running replicas can take the changes, otherwise by replacing replicas. Rejects
   * with `InsufficientResources` when the new version fits on no device, or with the signal's reason. The old version
   * then keeps serving.
   */
  async update(
    deployment: ManagedDeployment,
    bound: BoundDeployment,
    plan: DevicePlan,
    options: ChangeOptions,
  ): Promise<UpdateReport> {
    const before = deployment.bound;
    const kind = deployment.replicas?.hasFailed ? 'roll' : kindOfChange(before, bound);
    const report: UpdateReport = {
      deployment: deployment.name,
      outcome: 'updated',
      how: 'in-place',
      replaced: 0,
      reason: '',
      lastLines: [],
    };
    if (kind === 'none') return { ...report, outcome: 'unchanged' };
    try {
      const done = await this.#change(kind, deployment, bound, plan, options);
      if (!done) return report;
      const { outcome, replaced, reason, lastLines } = done;
      if (outcome === 'stopped')
        throw fail('DeploymentStopped', `deployment ${deployment.name} was stopped during its update`);
      return { ...report, outcome, how: 'rolling', replaced, reason, lastLines };
    } catch (error) {
      options.signal.throwIfAborted();
      if (!(error instanceof AanaError) || PASSED_ON.has(error.name)) throw error;
      return { ...report, outcome: 'rolled-back', reason: error.message };
    }
  }

  /**
   * Sets the number of replicas, or the bounds of autoscaling. Throws `InsufficientResources`, `FailedDeployment` or
   * `ValidationError`; then nothing has changed.
   */
  async scale(deployment: ManagedDeployment, replicas: number | ReplicaRange): Promise<void> {
    const { name, bound, replicas: set } = deployment;
    if (set?.hasFailed) throw failedDeployment(name, `${set.status().message}; update it, or deploy it again`);
    await this.#adoptInPlace(deployment, scaled(name, bound, replicas));
    this.#log.info('deployment scaled', { deployment: name, replicas });
  }

  /** Makes the change. Returns undefined when no replica was replaced. */
  async #change(
    kind: 'scale' | 'reconfigure' | 'roll',
    deployment: ManagedDeployment,
    bound: BoundDeployment,
    plan: DevicePlan,
    options: ChangeOptions,
  ): Promise<UpdateResult | undefined> {
    if (kind === 'scale') {
      await this.#adoptInPlace(deployment, bound);
      return undefined;
    }
    const { name } = deployment;
    // A reconfigured replica keeps its threads.
    const cpus = (kind === 'reconfigure' ? deployment.cpus : undefined) ?? options.cpusOf(bound, plan);
    const spec = await this.#starter.prepare(name, bound, async () => cpus, options.signal, options.progress);
    deployment.cpus = cpus;
    deployment.coming = spec;
    if (kind === 'reconfigure' && (await this.#reconfigure(deployment, bound, spec))) return undefined;
    return this.#roll(deployment, bound, spec, plan, options);
  }

  async #adoptInPlace(deployment: ManagedDeployment, bound: BoundDeployment): Promise<void> {
    const { replicas, places } = running(deployment);
    await replicas.scale(this.#starter.version(bound, replicas.version.spec as ReplicaSpec, places));
    deployment.bound = bound;
  }

  /** Returns false when running replicas cannot take the changes. */
  async #reconfigure(deployment: ManagedDeployment, bound: BoundDeployment, spec: ReplicaSpec): Promise<boolean> {
    const { replicas, places } = running(deployment);
    try {
      await replicas.reconfigure(this.#starter.version(bound, spec, places));
    } catch (error) {
      if (error instanceof AanaError && error.name === 'NotReconfigurable') return false;
      throw error;
    }
    deployment.bound = bound;
    this.#log.info('deployment reconfigured', { deployment: deployment.name });
    return true;
  }

  async #roll(
    deployment: ManagedDeployment,
    bound: BoundDeployment,
    spec: ReplicaSpec,
    plan: DevicePlan,
    { signal, progress, watchS }: ChangeOptions,
  ): Promise<UpdateResult> {
    const { name } = deployment;
    const { replicas, places: before } = running(deployment);
    const places = plan.placesFor({ name, options: bound.options });
    places.cpus = deployment.cpus ?? 1;
    await this.#starter.countMemory(bound, spec, places);
    signal.throwIfAborted();
    const version = this.#starter.version(bound, spec, places);
    places.requireRoom(Math.max(1, firstCount(version)), [...before.taken, ...draining(replicas)]);
    const onState = (state: UpdateState): void => progress(undefined, STATE_TEXTS[state]);
    const result = await replicas.update(version, { signal, onState, watchMs: watchS * 1000 });
    const { outcome, replaced, reason, lastLines } = result;
    if (outcome === 'updated') {
      [deployment.bound, deployment.places] = [bound, places];
      this.#log.info('deployment updated', { deployment: name, replaced });
    } else this.#log.error('deployment not updated', { deployment: name, outcome, reason, last_lines: lastLines });
    return result;
  }
}

/** Errors that reach the caller; other errors become the reason of a rollback. */
const PASSED_ON: ReadonlySet<string> = new Set(['InsufficientResources', 'ValidationError', 'DeploymentStopped']);

const STATE_TEXTS: Readonly<Record<UpdateState, string>> = {
  placing: 'looking for a free device',
  'making-room': 'stopping an old replica to make room',
  starting: 'starting a new replica',
  settling: 'waiting until the new replica is stable',
  watching: 'watching the new replica serve calls',
  retiring: 'waiting for old replicas to finish their calls',
  restoring: 'restoring the old version',
  done: 'updated',
  'rolled-back': 'rolled back',
  stopped: 'stopped',
};

function running({ name, replicas, places }: ManagedDeployment): {
  readonly replicas: ReplicaSet;
  readonly places: DeploymentPlaces;
} {
  if (replicas && places) return { replicas, places };
  throw fail('DeploymentNotStarted', `deployment ${name} is not started`, {
    data: { deployment: name },
  });
}

/** Returns the places of replicas that finish their last calls, including those of an earlier version. */
function draining(replicas: ReplicaSet): Placement[] {
  return replicas.ending.flatMap((member) => {
    const place = replicas.placeOf(member);
    return (place && placementOf(place)) ?? [];
  });
}

/** Returns a deployment with another number of replicas, or other bounds of autoscaling. Throws `ValidationError`. */
export function scaled(name: string, bound: BoundDeployment, replicas: number | ReplicaRange): BoundDeployment {
  const options = check(DeploymentOptions, withReplicas(name, bound.options, replicas), `deployment ${name}`);
  return { ...bound, options };
}

function withReplicas(name: string, options: DeploymentOptions, replicas: number | ReplicaRange): DeploymentOptions {
  const { autoscaling_config: scaling } = options;
  if (!scaling) {
    if (typeof replicas === 'number') return { ...options, num_replicas: replicas };
    throw fail('ValidationError', `deployment ${name} has a fixed number of replicas; give a number`);
  }
  if (typeof replicas !== 'number') return { ...options, autoscaling_config: { ...scaling, ...replicas } };
  if (replicas <= scaling.max_replicas)
    return { ...options, autoscaling_config: { ...scaling, min_replicas: replicas } };
  throw fail(
    'ValidationError',
    `deployment ${name} is autoscaled up to max_replicas ${scaling.max_replicas}; give a number up to that, or ` +
      `both bounds`,
  );
}
