import { AanaError } from '../../core/errors.ts';
import type { ReplicaSet, ReplicaSetStatus } from '../../replicas/index.ts';
import type { BoundDeployment } from '../class/bound-deployment.ts';
import type { DeploymentPlaces } from '../placement/deployment-places.ts';
import { type DeploymentEvent, type DeploymentState, nextDeploymentState } from './deployment-state.ts';

/** A registered deployment and what runs of it. */
export class ManagedDeployment {
  readonly name: string;
  bound: BoundDeployment;
  places: DeploymentPlaces | undefined;
  replicas: ReplicaSet | undefined;
  /** Processors that each of its replicas was given to keep busy. */
  cpus: number | undefined;
  /** Ends what is being done to it when it is removed. */
  readonly ending = new AbortController();
  /** Settles when what is being done to it has ended. */
  work: Promise<unknown> = Promise.resolve();
  #state: DeploymentState = 'registered';
  /** Why it could not be started. */
  #failure = '';

  constructor(name: string, bound: BoundDeployment) {
    this.name = name;
    this.bound = bound;
  }

  get state(): DeploymentState {
    return this.#state === 'serving' && this.replicas?.hasFailed ? 'failed' : this.#state;
  }

  /** Applies the transition table; false when the event means nothing now. */
  enter(event: DeploymentEvent): boolean {
    const next = nextDeploymentState(this.state, event);
    if (!next) return false;
    this.#state = next;
    if (event === 'start') this.#failure = '';
    return true;
  }

  /** It could not be started, or not all of it. */
  fail(error: unknown): void {
    this.#failure = error instanceof Error ? error.message : String(error);
    this.enter('fail');
  }

  /** Refuses what cannot be done while something else is done to it. */
  requireIdle(): void {
    const { state } = this;
    if (state === 'serving' || state === 'failed' || state === 'registered') return;
    throw new AanaError(
      'DeploymentBusy',
      'conflict',
      `deployment ${this.name} is ${BUSY_WITH[state]}; try again when that has ended`,
      { data: { deployment: this.name, state } },
    );
  }

  /** The replicas of one that runs. Throws `DeploymentNotStarted`, or `FailedDeployment` with the reason. */
  requireReplicas(): ReplicaSet {
    if (this.#failure !== '')
      throw new AanaError('FailedDeployment', 'unavailable', this.#failure, { data: { deployment: this.name } });
    if (this.replicas) return this.replicas;
    throw new AanaError('DeploymentNotStarted', 'unavailable', `deployment ${this.name} is not started yet`, {
      data: { deployment: this.name },
    });
  }

  /**
   * Whether it serves calls; undefined while nobody counts on it, because it has not been started yet or is being
   * removed.
   */
  get canServe(): boolean | undefined {
    if (this.state === 'registered' || this.state === 'starting' || this.state === 'removing' || this.state === 'gone')
      return undefined;
    return this.#failure === '' && this.replicas?.canServe === true;
  }

  status(): ReplicaSetStatus {
    const status = this.replicas?.status();
    if (status && this.#failure === '') return status;
    if (status) return { ...status, status: 'DEPLOY_FAILED', message: status.message || this.#failure };
    return {
      status: this.#failure === '' ? 'DEPLOYING' : 'DEPLOY_FAILED',
      message: this.#failure,
      replicas: [],
      queued: 0,
      updating: undefined,
      lastLines: [],
    };
  }
}

const BUSY_WITH: Readonly<Record<Exclude<DeploymentState, 'serving' | 'failed' | 'registered'>, string>> = {
  starting: 'being started',
  changing: 'being changed already',
  removing: 'being removed',
  gone: 'removed',
};
