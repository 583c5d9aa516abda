import { fail } from '../../../base/core/errors.ts';
import type { ReplicaSet, ReplicaSetStatus } from '../../replicas/index.ts';
import { type BoundDeployment, imageReaderOf } from '../class/bound-deployment.ts';
import type { ReplicaSpec } from '../class/deployment-definition.ts';
import type { DeploymentPlaces } from '../placement/deployment-places.ts';
import { type DeploymentEvent, type DeploymentState, nextDeploymentState } from './deployment-state.ts';

/** A registered deployment with its state and its replicas. */
export class ManagedDeployment {
  readonly name: string;
  bound: BoundDeployment;
  /** What an update makes of `bound`; undefined while none runs. */
  next: BoundDeployment | undefined;
  places: DeploymentPlaces | undefined;
  replicas: ReplicaSet | undefined;
  /** Start parameters of the replicas that a start or change brings; undefined between changes. */
  coming: ReplicaSpec | undefined;
  /** Processors that each replica may keep busy. */
  cpus: number | undefined;
  /** Aborted on removal, which ends a start or change. */
  readonly ending = new AbortController();
  /** Settles when the current start or change has ended. */
  work: Promise<unknown> = Promise.resolve();
  #state: DeploymentState = 'registered';
  /** Reason of a failed start; otherwise empty. */
  #failure = '';
  readonly #onChange: () => void;

  /** `onChange` is called after a change of its state. */
  constructor(name: string, bound: BoundDeployment, onChange: () => void = () => {}) {
    this.name = name;
    this.bound = bound;
    this.#onChange = onChange;
  }

  get imageReader(): string | undefined {
    return imageReaderOf(this.bound);
  }

  get state(): DeploymentState {
    return this.#state === 'serving' && this.replicas?.hasFailed ? 'failed' : this.#state;
  }

  /** Applies the event. Returns false when it is invalid in this state. */
  enter(event: DeploymentEvent): boolean {
    const next = nextDeploymentState(this.state, event);
    if (!next) return false;
    this.#state = next;
    if (event === 'start') this.#failure = '';
    this.#onChange();
    return true;
  }

  /** Whether it is unloaded, or about to be. */
  get isUnloaded(): boolean {
    return this.#state === 'unloading' || this.#state === 'unloaded';
  }

  /** Records that the start failed. */
  fail(error: unknown): void {
    this.#failure = error instanceof Error ? error.message : String(error);
    this.enter('fail');
  }

  /** Throws `DeploymentBusy` while the deployment is being started, changed or removed. */
  requireIdle(): void {
    const { state } = this;
    if (isIdle(state)) return;
    throw fail('DeploymentBusy', `deployment ${this.name} ${BUSY_WITH[state]}; try again later`, {
      data: { deployment: this.name, state },
    });
  }

  /**
   * Returns the replicas. Throws `DeploymentNotStarted`, `DeploymentUnloaded`, or `FailedDeployment` with the reason.
   */
  requireReplicas(): ReplicaSet {
    if (this.isUnloaded)
      throw fail(
        'DeploymentUnloaded',
        `deployment ${this.name} is unloaded; "aana-host deployments load ${this.name}" on the server starts it again`,
        { data: { deployment: this.name } },
      );
    if (this.#failure !== '') throw fail('FailedDeployment', this.#failure, { data: { deployment: this.name } });
    if (this.replicas) return this.replicas;
    throw fail('DeploymentNotStarted', `deployment ${this.name} is not started yet`, {
      data: { deployment: this.name },
    });
  }

  /**
   * Whether the deployment serves calls. Undefined when it is not expected to: before the start has ended and after
   * removal began.
   */
  get canServe(): boolean | undefined {
    if (this.state !== 'serving' && this.state !== 'changing' && this.state !== 'failed') return undefined;
    return this.#failure === '' && this.replicas?.canServe === true;
  }

  /** The texts in the start parameters of its replicas, which include the paths of all files that they load. */
  get texts(): ReadonlySet<string> {
    const texts = new Set<string>();
    const collect = (value: unknown): void => {
      if (typeof value === 'string') texts.add(value);
      else if (typeof value === 'object' && value !== null) Object.values(value).forEach(collect);
    };
    collect([this.replicas?.version.spec, this.coming]);
    return texts;
  }

  /** Whether the model of its replicas hears the audio of dialogs. */
  get takesAudio(): boolean {
    const spec = this.replicas?.version.spec ?? this.coming;
    return spec !== undefined && this.bound.definition.takesAudio?.(spec as ReplicaSpec) === true;
  }

  status(): ReplicaSetStatus {
    const status = this.replicas?.status();
    if (this.#state === 'unloaded')
      return { status: 'UNLOADED', message: '', replicas: [], queued: 0, updating: undefined, lastLines: [] };
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

const IDLE = ['serving', 'failed', 'registered', 'unloaded'] as const;
type Idle = (typeof IDLE)[number];

function isIdle(state: DeploymentState): state is Idle {
  return (IDLE as readonly DeploymentState[]).includes(state);
}

const BUSY_WITH: Readonly<Record<Exclude<DeploymentState, Idle>, string>> = {
  starting: 'is being started',
  changing: 'is already being changed',
  unloading: 'is being unloaded',
  removing: 'is being removed',
  gone: 'was removed',
};
