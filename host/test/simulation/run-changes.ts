import { AanaError } from '../../base/core/errors.ts';
import type {
  DeploymentManager,
  DeploymentOptionsInput,
  DeploymentProgress,
} from '../../inference/deployments/index.ts';
import type { PlannedChange } from './make-schedule.ts';
import type { SimulatedWorld } from './simulated-replica.ts';

/**
 * Errors with which any change may be refused: another change is being made, or the deployment does not run or does not
 * fit.
 */
const REFUSALS: ReadonlySet<string> = new Set([
  'ControllerSuperseded',
  'DeploymentBusy',
  'DeploymentNotFound',
  'DeploymentNotStarted',
  'DeploymentStopped',
  'FailedDeployment',
  'InsufficientResources',
  'ValidationError',
]);

/** Makes the changes of a schedule, and records the expected options of each deployment. */
export class ChangeRun {
  /** The options that the manager accepted last. */
  readonly current: Map<string, DeploymentOptionsInput>;
  /** Deployments that were removed for a while. */
  readonly renewed = new Set<string>();
  /** Number of calls that failed because their version fails each call, by deployment and version. */
  readonly #failedCalls = new Map<string, number>();
  readonly #manager: DeploymentManager;
  readonly #world: SimulatedWorld;
  readonly #isCalm: boolean;

  constructor(
    manager: DeploymentManager,
    world: SimulatedWorld,
    deployments: ReadonlyMap<string, DeploymentOptionsInput>,
    isCalm: boolean,
  ) {
    this.#manager = manager;
    this.#world = world;
    this.#isCalm = isCalm;
    this.current = new Map(deployments);
  }

  onFailedCall(deployment: string, version: number): void {
    const key = versionKey(deployment, version);
    this.#failedCalls.set(key, (this.#failedCalls.get(key) ?? 0) + 1);
  }

  async run(change: PlannedChange): Promise<void> {
    try {
      if (change.kind === 'update') await this.#update(change);
      else if (change.kind === 'scale') await this.#scale(change);
      else await this.#renew(change.deployment);
    } catch (error) {
      const isExpected = error instanceof AanaError && REFUSALS.has(error.name);
      if (!isExpected) this.#world.violation(`${change.kind} of ${change.deployment} failed with ${String(error)}`);
    }
  }

  async #update({
    deployment,
    change,
    isBad,
    gpus,
    cancelAfter,
  }: PlannedChange & { readonly kind: 'update' }): Promise<void> {
    const { clock, statistics } = this.#world;
    const before = this.#optionsOf(deployment);
    const devices =
      gpus === undefined || before.ray_actor_options?.num_gpus === undefined
        ? before.ray_actor_options
        : { ...before.ray_actor_options, num_gpus: gpus };
    const options: DeploymentOptionsInput = {
      ...before,
      ray_actor_options: devices,
      user_config: { ...before.user_config, bad: undefined, ...change, devices },
    };
    const controller = new AbortController();
    const reason = new Error('the update was cancelled');
    const cancel = cancelAfter === undefined ? undefined : clock.after(cancelAfter, () => controller.abort(reason));
    try {
      let failedInWatch = 0;
      const onProgress = ({ text }: DeploymentProgress): void => {
        if (text === 'waiting for old replicas to finish their calls')
          failedInWatch = this.#failedCalls.get(versionKey(deployment, change['version'])) ?? 0;
      };
      const {
        outcome,
        replaced,
        reason: why,
      } = await this.#manager.update(deployment, options, { signal: controller.signal, watchS: 2, onProgress });
      if (outcome === 'rolled-back') {
        statistics.rollbacks += 1;
        if (
          !isBad &&
          this.#isCalm &&
          change['tone'] === undefined &&
          !why.includes('no room') &&
          !why.includes('calls of the new version')
        )
          this.#world.violation(`a good update of ${deployment} was rolled back: ${why}`);
        return;
      }
      statistics.updates += 1;
      const wasBad = before.user_config?.['bad'] === 'throws'; // it failed as often, so the next version is not worse
      // It had no calls, or it is not worse.
      const mayPass = change['bad'] === 'throws' && (failedInWatch === 0 || wasBad);
      if (isBad && replaced > 0 && !mayPass) this.#world.violation(`a bad update of ${deployment} was not rolled back`);
      this.current.set(deployment, options);
    } catch (error) {
      if (error !== reason) throw error;
    } finally {
      cancel?.();
    }
  }

  async #scale({ deployment, replicas }: PlannedChange & { readonly kind: 'scale' }): Promise<void> {
    await this.#manager.scale(deployment, replicas);
    this.#world.statistics.scalings += 1;
    const before = this.#optionsOf(deployment);
    const { autoscaling_config: scaling } = before;
    this.current.set(
      deployment,
      scaling
        ? { ...before, autoscaling_config: { ...scaling, min_replicas: replicas } }
        : { ...before, num_replicas: replicas },
    );
  }

  /** Removes the deployment and deploys the same again. */
  async #renew(deployment: string): Promise<void> {
    this.renewed.add(deployment);
    await this.#manager.remove(deployment);
    this.#manager.register(deployment, this.#optionsOf(deployment));
    await this.#manager.deployOne(deployment);
  }

  #optionsOf(deployment: string): DeploymentOptionsInput {
    const options = this.current.get(deployment);
    if (!options) throw new Error(`there is no ${deployment}`);
    return options;
  }
}

function versionKey(deployment: string, version: unknown): string {
  return `${deployment} ${String(version)}`;
}
