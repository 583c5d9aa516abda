import { AanaError } from '../../core/errors.ts';
import type { Logger } from '../../core/log/logger.ts';
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

/** What became of an update. */
export interface UpdateReport {
  readonly deployment: string;
  /** `unchanged`: there was nothing to do. `rolled-back`: the new version was no good, the old one serves on. */
  readonly outcome: 'updated' | 'unchanged' | 'rolled-back';
  /** `in-place`: no replica was replaced. */
  readonly how: 'in-place' | 'rolling';
  /** Replicas of the new version that took the place of old ones. */
  readonly replaced: number;
  /** Why it was rolled back; empty when it was not. */
  readonly reason: string;
  /** What a process of the new version wrote last before it was rolled back, oldest line first. */
  readonly lastLines: readonly string[];
}

export interface ChangeOptions {
  readonly signal: AbortSignal;
  readonly progress: Report;
  /** Seconds that a new replica must serve before the next old one goes. */
  readonly watchS: number;
  /** Processors that each replica of it should keep busy. */
  cpusOf(bound: BoundDeployment, plan: DevicePlan): number;
}

/** Bounds of autoscaling. */
export interface ReplicaRange {
  readonly min_replicas: number;
  readonly max_replicas: number;
}

/** Changes of deployments that run. One at a time for each deployment; the caller sees to that. */
export class DeploymentChanges {
  readonly #starter: DeploymentStarter;
  readonly #log: Logger;

  constructor(starter: DeploymentStarter, log: Logger) {
    this.#starter = starter;
    this.#log = log;
  }

  /**
   * Another version of the same kind: in place where running replicas can take what is new, else by replacing them.
   * Rejects with `InsufficientResources` when it would fit on no device, or with the signal's reason; then the old
   * version serves on too.
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
        throw new AanaError(
          'DeploymentStopped',
          'unavailable',
          `deployment ${deployment.name} was stopped during its update`,
        );
      return { ...report, outcome, how: 'rolling', replaced, reason, lastLines };
    } catch (error) {
      options.signal.throwIfAborted();
      if (!(error instanceof AanaError) || PASSED_ON.has(error.name)) throw error;
      return { ...report, outcome: 'rolled-back', reason: error.message };
    }
  }

  /**
   * So many replicas, or such bounds. Throws `InsufficientResources`, `FailedDeployment` or `ValidationError`; then
   * nothing has changed.
   */
  async scale(deployment: ManagedDeployment, replicas: number | ReplicaRange): Promise<void> {
    const { name, bound, replicas: set } = deployment;
    if (set?.hasFailed) throw failedDeployment(name, `${set.status().message}; update it, or deploy it again`);
    const options = check(DeploymentOptions, scaled(deployment, replicas), `deployment ${name}`);
    await this.#adoptInPlace(deployment, { ...bound, options });
    this.#log.info('deployment scaled', { deployment: name, replicas });
  }

  /** Undefined when no replica was replaced. */
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
    // Replicas that stay keep their threads.
    const cpus = (kind === 'reconfigure' ? deployment.cpus : undefined) ?? options.cpusOf(bound, plan);
    const spec = await this.#starter.prepare(name, bound, async () => cpus, options.signal, options.progress);
    deployment.cpus = cpus;
    if (kind === 'reconfigure' && (await this.#reconfigure(deployment, bound, spec))) return undefined;
    return this.#roll(deployment, bound, spec, plan, options);
  }

  async #adoptInPlace(deployment: ManagedDeployment, bound: BoundDeployment): Promise<void> {
    const { replicas, places } = running(deployment);
    await replicas.scale(this.#starter.version(bound, replicas.version.spec as ReplicaSpec, places));
    deployment.bound = bound;
  }

  /** False when the implementation does not take it while it runs. */
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

/** Mistakes and ends that say themselves what became of the old version. */
const PASSED_ON: ReadonlySet<string> = new Set(['InsufficientResources', 'ValidationError', 'DeploymentStopped']);

const STATE_TEXTS: Readonly<Record<UpdateState, string>> = {
  placing: 'looking for a place',
  'making-room': 'an old replica makes room',
  starting: 'a new replica starts',
  settling: 'a new replica shows that it stays up',
  watching: 'a new replica takes calls',
  retiring: 'old replicas finish their calls',
  restoring: 'the old version comes back',
  done: 'updated',
  'rolled-back': 'rolled back',
  stopped: 'stopped',
};

function running({ name, replicas, places }: ManagedDeployment): {
  readonly replicas: ReplicaSet;
  readonly places: DeploymentPlaces;
} {
  if (replicas && places) return { replicas, places };
  throw new AanaError('DeploymentNotStarted', 'unavailable', `deployment ${name} is not started`, {
    data: { deployment: name },
  });
}

/** Places of replicas that finish their last calls; of an earlier version, too. */
function draining(replicas: ReplicaSet): Placement[] {
  return replicas.ending.flatMap((member) => {
    const place = replicas.placeOf(member);
    return (place && placementOf(place)) ?? [];
  });
}

/** The options with another number of replicas. */
function scaled({ name, bound: { options } }: ManagedDeployment, replicas: number | ReplicaRange): DeploymentOptions {
  const { autoscaling_config: scaling } = options;
  if (!scaling) {
    if (typeof replicas === 'number') return { ...options, num_replicas: replicas };
    throw new AanaError(
      'ValidationError',
      'invalid-input',
      `deployment ${name} has a fixed number of replicas: give a number`,
    );
  }
  if (typeof replicas !== 'number') return { ...options, autoscaling_config: { ...scaling, ...replicas } };
  if (replicas <= scaling.max_replicas)
    return { ...options, autoscaling_config: { ...scaling, min_replicas: replicas } };
  throw new AanaError(
    'ValidationError',
    'invalid-input',
    `deployment ${name} scales by itself up to max_replicas ${scaling.max_replicas}: give a number up to that, or both bounds`,
  );
}
