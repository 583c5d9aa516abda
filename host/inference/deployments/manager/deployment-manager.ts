import { raceAbort } from '../../../base/core/abort.ts';
import { type Clock, systemClock } from '../../../base/core/clock.ts';
import { deferred } from '../../../base/core/deferred.ts';
import { fail } from '../../../base/core/errors.ts';
import type { Machine } from '../../devices/index.ts';
import type { RequestContext } from '../../../base/core/request-context.ts';
import { trackRequests } from '../../../base/core/async/request-scope.ts';
import { failedDeployment, type ReplicaSetStatus, type Reservation } from '../../replicas/index.ts';
import { type BoundDeployment, boundFrom, isBound } from '../class/bound-deployment.ts';
import { check } from '../class/check.ts';
import { cpusOfReplica, fewerThreads } from '../placement/cpu-plan.ts';
import { DeploymentCalls } from '../handle/deployment-calls.ts';
import { deploymentNotFound } from './deployment-not-found.ts';
import { DeploymentChanges, type ReplicaRange, scaled, type UpdateReport } from './deployment-changes.ts';
import type { DeploymentDefinition } from '../class/deployment-definition.ts';
import type { DeploymentOptionsInput } from '../class/deployment-options.ts';
import type { DeploymentPlaces, PlannedDeployment } from '../placement/deployment-places.ts';
import { DeploymentStarter, type DeploymentStarterOptions, type Report } from './deployment-starter.ts';
import { type DeploymentDescription, describeDeployment, describeMethods } from '../class/describe.ts';
import { DevicePlan, type DeviceReport } from '../placement/device-plan.ts';
import { HandleOptions, type HandleOptionsInput } from '../handle/handle-options.ts';
import { calleesFirst, calleesOf, callersOf, requireCallees, requireNoCycle, withCalleesOf } from './call-graph.ts';
import { CaptionDeployment } from '../builtin/caption-deployment.ts';
import { definitionOf } from '../class/custom-definition.ts';
import { LlamaEmbeddingDeployment } from '../builtin/llama-embedding-deployment.ts';
import { LlamaRerankDeployment } from '../builtin/llama-rerank-deployment.ts';
import { LlamaTextGenerationDeployment } from '../builtin/llama-text-generation-deployment.ts';
import { ManagedDeployment } from './managed-deployment.ts';
import { OcrDeployment } from '../builtin/onnx/ocr-deployment.ts';
import { OnnxDeployment } from '../builtin/onnx/onnx-deployment.ts';
import { TransformersDeployment } from '../builtin/onnx/transformers-deployment.ts';
import { OpenAITextGenerationDeployment } from '../builtin/openai-text-generation-deployment.ts';
import { type HostDeployments, type Readiness, readinessOf } from '../routing/host-deployments.ts';
import { type OnSilence, OtherHosts } from '../routing/other-hosts.ts';
import { PublishedTable, type TableEntry } from '../routing/published-table.ts';
import { tableEntry } from '../routing/table-entry.ts';
import type { TableChange } from '../routing/table.ts';
import { RoomMaker } from '../placement/room-maker.ts';
import { servedCalls } from '../handle/served-calls.ts';
import { type StartFailure, startFailure } from './start-failures.ts';
import { type DescribedHandle, withMethods } from '../handle/typed-handle.ts';
import { SpeakerDiarizationDeployment } from '../builtin/speech/speaker-diarization-deployment.ts';
import { VadDeployment } from '../builtin/speech/vad-deployment.ts';
import { WhisperDeployment } from '../builtin/speech/whisper-deployment.ts';

export interface DeploymentManagerOptions extends DeploymentStarterOptions {
  /** Awaited before a replica starts, for example for the build of the addon. Models are fetched at the same time. */
  readonly beforeReplicas?: (() => Promise<unknown>) | undefined;
  /** Returns the devices for replicas. Default: no GPU and unlimited memory. */
  readonly machine?: ((signal: AbortSignal) => Promise<Machine>) | undefined;
  /** Further types of deployments besides the built-in ones. */
  readonly definitions?: readonly DeploymentDefinition[] | undefined;
}

export interface DeploymentProgress {
  readonly deployment: string;
  /** 0 to 1; undefined when unknown. */
  readonly fraction: number | undefined;
  readonly text: string;
  /** Set in the last report, when the start or update has ended. */
  readonly isReady?: boolean | undefined;
}

export interface DeployOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: DeploymentProgress) => void) | undefined;
}

export interface StartOptions extends DeployOptions {
  /**
   * Whether each deployment starts after the one before is ready. Default: models are fetched one after the other, and
   * replicas load at the same time.
   */
  readonly sequential?: boolean | undefined;
}

export interface UpdateOptions extends DeployOptions {
  /** Seconds that a new replica must serve before the next old replica is stopped. Default: 5. */
  readonly watchS?: number | undefined;
}

/** Built-in types of deployments. */
export const builtinDefinitions: readonly DeploymentDefinition[] = [
  WhisperDeployment,
  LlamaTextGenerationDeployment,
  OpenAITextGenerationDeployment,
  LlamaEmbeddingDeployment,
  LlamaRerankDeployment,
  SpeakerDiarizationDeployment,
  VadDeployment,
  OcrDeployment,
  definitionOf(CaptionDeployment),
  OnnxDeployment,
  TransformersDeployment,
];

const DEFAULT_WATCH_S = 5;
const MAX_WATCH_S = 86_400;
/** Time for further failures after the first one, so that one error can report them all. */
const FAILURE_WINDOW_MS = 2000;

/** How a deployment starts. */
export interface PlannedStart {
  readonly replicas?: number | ReplicaRange | undefined;
  /** Whether it stays unloaded until it is loaded. Default: false. */
  readonly isUnloaded?: boolean | undefined;
}

/** The deployments in the controller: their configuration, their replicas, and handles to them. */
export class DeploymentManager implements HostDeployments {
  readonly #options: DeploymentManagerOptions;
  readonly #clock: Clock;
  readonly #definitions: ReadonlyMap<string, DeploymentDefinition>;
  readonly #deployments = new Map<string, ManagedDeployment>();
  readonly #listeners = new Set<() => void>();
  readonly #table = new PublishedTable(() => this.#entries());
  readonly #otherHosts = new OtherHosts((name) => this.#deployments.get(name)?.replicas);
  readonly #stopping = new AbortController();
  readonly #starter: DeploymentStarter;
  readonly #changes: DeploymentChanges;
  readonly #calls: DeploymentCalls;
  readonly #roomMaker: RoomMaker;
  #plan: DevicePlan | undefined;

  constructor(options: DeploymentManagerOptions) {
    const { log, simulated } = options;
    this.#options = options;
    this.#clock = simulated?.clock ?? systemClock;
    this.#definitions = new Map(
      [...builtinDefinitions, ...(options.definitions ?? [])].map((definition) => [definition.name, definition]),
    );
    this.#calls = new DeploymentCalls({
      log,
      clock: this.#clock,
      telemetry: options.telemetry,
      random: simulated?.random ?? Math.random,
      find: (name) => this.#require(name),
    });
    this.#starter = new DeploymentStarter(options, {
      methodsOf: (name) => this.#require(name).bound.definition.methods,
      servedTo: (names) =>
        servedCalls(
          (name) => names.includes(name),
          (name, policy) => this.#calls.handle(name, policy),
        ),
      onChange: () => this.#table.touch(),
    });
    this.#changes = new DeploymentChanges(this.#starter, log);
    this.#roomMaker = new RoomMaker(() => this.#deployments.values());
  }

  register(name: string, deployment: BoundDeployment | DeploymentOptionsInput): BoundDeployment {
    trackRequests();
    const what = `deployment ${name}`;
    if (this.#deployments.has(name)) throw fail('DeploymentExists', `${what} is already registered`);
    const bound = this.#bind(name, deployment);
    requireNoCycle(name, this.#withUpdates().set(name, bound));
    this.#deployments.set(name, new ManagedDeployment(name, bound, () => this.#table.touch()));
    this.#namesChanged();
    return bound;
  }

  has(name: string): boolean {
    return this.#deployments.has(name);
  }

  onNames(listener: () => void): void {
    this.#listeners.add(listener);
  }

  registered(): Map<string, BoundDeployment> {
    return new Map([...this.#deployments.values()].map(({ name, bound }) => [name, bound]));
  }

  unregister(name: string): void {
    const deployment = this.#deployments.get(name);
    if (!deployment) return;
    if (deployment.state !== 'registered')
      throw fail('DeploymentRunning', `deployment ${name} has been started; use remove() instead`, {
        data: { deployment: name },
      });
    this.#deployments.delete(name);
    this.#namesChanged();
  }

  /**
   * Sets how a deployment will start: with these replicas (default: those of its options), or not before it is loaded.
   * Returns false, and does nothing, if it was started. Throws `ValidationError`.
   */
  planStart(name: string, { replicas, isUnloaded = false }: PlannedStart): boolean {
    const deployment = this.#require(name);
    if (deployment.state !== 'registered') return false;
    if (replicas !== undefined) deployment.bound = scaled(name, deployment.bound, replicas);
    if (isUnloaded) deployment.enter('skip');
    return true;
  }

  /**
   * Fetches models and starts the replicas of all deployments. A deployment starts after those that it calls. When one
   * fails, all are stopped, and the error says which deployments failed and why. Throws `ValidationError` if one calls
   * a deployment that is not registered.
   */
  async start({ signal, onProgress, sequential = false }: StartOptions = {}): Promise<void> {
    const waiting = [...this.#deployments.values()].filter(({ state }) => state === 'registered');
    if (waiting.length === 0) return;
    const all = this.registered();
    for (const { name } of waiting) requireCallees(name, all);
    const deployments = calleesFirst(
      waiting.map(({ name }) => name),
      all,
    ).map((name) => this.#require(name));
    const giveUp = new AbortController();
    const ending = AbortSignal.any([giveUp.signal, this.#stopping.signal, ...(signal ? [signal] : [])]);
    // Devices are detected while the first model is fetched. A deployment that asks for too much ends the fetch.
    const plan = this.#makePlan(ending);
    const places = plan.then((made) => made.reserve(deployments.map(planned)));
    places.catch((error: unknown) => giveUp.abort(error));
    const failures: StartFailure[] = [];
    const onFailure = (deployment: string, error: unknown): void => {
      if (ending.aborted) return; // it was stopped and did not fail
      failures.push({ deployment, error });
      if (failures.length === 1)
        void this.#clock.delay(FAILURE_WINDOW_MS, ending).then(
          () => giveUp.abort(error),
          () => {},
        );
    };
    const starts: Promise<void>[] = [];
    // Models are fetched one after the other, while the addon is built and replicas load.
    for (const deployment of deployments) {
      if (ending.aborted || (sequential && failures.length > 0)) break;
      const { fetched, started } = this.#deploy(
        deployment,
        plan,
        places.then((each) => each.get(deployment.name)),
        ending,
        onProgress,
      );
      starts.push(started.catch((error: unknown) => onFailure(deployment.name, error)));
      await (sequential ? starts.at(-1) : fetched);
    }
    await Promise.all(starts);
    if (failures.length === 0 && !ending.aborted) return;
    giveUp.abort();
    await this.shutdown({ graceMs: 0 });
    signal?.throwIfAborted();
    throw failures.length > 0 ? startFailure(failures) : ending.reason;
  }

  /** Starts a deployment that is new or has failed. Rejects like {@link start}, without stopping other deployments. */
  async deployOne(name: string, { signal, onProgress }: DeployOptions = {}): Promise<void> {
    const deployment = this.#require(name);
    deployment.requireIdle();
    if (deployment.state === 'serving')
      throw fail('DeploymentRunning', `deployment ${name} is already running; update it to change it`, {
        data: { deployment: name },
      });
    requireCallees(name, this.registered());
    const all = AbortSignal.any([deployment.ending.signal, this.#stopping.signal, ...(signal ? [signal] : [])]);
    all.throwIfAborted();
    const makePlan = async (): Promise<DevicePlan> => {
      await deployment.replicas?.stop(0); // replicas of the failed start
      return this.#makePlan(all);
    };
    const plan = makePlan();
    await this.#deploy(
      deployment,
      plan,
      plan.then((made) => made.reserve([planned(deployment)]).get(name)),
      all,
      onProgress,
    ).started;
  }

  /**
   * Starts a deployment that was unloaded or has failed, with its current options. Does nothing if it serves. Rejects
   * like {@link deployOne}; a deployment that was unloaded then is unloaded again.
   */
  async load(name: string, options: DeployOptions = {}): Promise<void> {
    const deployment = this.#require(name);
    const wasUnloaded = deployment.isUnloaded;
    if (deployment.state === 'serving') return;
    try {
      await this.deployOne(name, options);
    } catch (error) {
      if (wasUnloaded && deployment.enter('unload')) await this.#unload(deployment, 0);
      throw error;
    }
  }

  /**
   * Ends the replicas of a deployment, which stays registered. New calls are refused with `DeploymentUnloaded`. Running
   * and waiting calls may finish for `graceMs` or the time in the options, whichever is less. Does nothing if it is
   * unloaded. Throws `DeploymentBusy` or `DeploymentNotStarted`.
   */
  async unload(
    name: string,
    { graceMs = Number.POSITIVE_INFINITY }: { readonly graceMs?: number | undefined } = {},
  ): Promise<void> {
    const deployment = this.#require(name);
    deployment.requireIdle();
    if (deployment.state === 'unloaded') return;
    if (!deployment.enter('unload'))
      throw fail('DeploymentNotStarted', `deployment ${name} is not started yet`, {
        data: { deployment: name },
      });
    await this.#unload(deployment, graceMs);
    this.#options.log.info('deployment unloaded', { deployment: name });
  }

  /**
   * Removes the deployment. New calls are refused. Running calls may finish for `graceMs` or the time in the options,
   * whichever is less. A start or change in progress is ended. Throws `DeploymentInUse` if another deployment that was
   * started calls it.
   */
  async remove(
    name: string,
    { graceMs = Number.POSITIVE_INFINITY }: { readonly graceMs?: number } = {},
  ): Promise<void> {
    const deployment = this.#require(name);
    const callers = callersOf(name, this.#withUpdates()).filter((one) => this.#require(one).state !== 'registered');
    if (callers.length > 0)
      throw fail('DeploymentInUse', `deployment ${name} cannot be removed, because ${callers.join(', ')} calls it`, {
        data: { deployment: name, callers },
      });
    if (!deployment.enter('remove')) deployment.requireIdle();
    deployment.ending.abort(
      fail('DeploymentStopped', `deployment ${name} is being removed`, {
        data: { deployment: name },
      }),
    );
    await stop(deployment, graceMs);
    deployment.enter('removed');
    this.#deployments.delete(name);
    this.#namesChanged();
  }

  /**
   * Changes a running deployment without losing a call: in place if running replicas can take the changes, otherwise
   * replica by replica, with a rollback when the new version fails. Rejects, with nothing changed, when the options are
   * invalid, when another change is in progress, when the new version fits on no device, or with the signal's reason.
   */
  async update(
    name: string,
    given: BoundDeployment | DeploymentOptionsInput,
    { signal, onProgress, watchS = DEFAULT_WATCH_S }: UpdateOptions = {},
  ): Promise<UpdateReport> {
    const deployment = this.#require(name);
    const bound = this.#bind(name, given);
    const all = this.#withUpdates().set(name, bound);
    requireNoCycle(name, all);
    requireCallees(name, all);
    if (!(watchS >= 0 && watchS <= MAX_WATCH_S))
      throw fail('ValidationError', `deployment ${name}: watchS must be 0 to ${MAX_WATCH_S} seconds`);
    const [before, after] = [deployment.bound.definition.name, bound.definition.name];
    if (before !== after)
      throw fail(
        'DeploymentTypeChanged',
        `deployment ${name} is a ${before} and cannot become a ${after}; remove it and register it again`,
        { data: { deployment: name } },
      );
    if (deployment.state === 'unloaded') {
      deployment.bound = bound; // the next load uses it
      return { deployment: name, outcome: 'updated', how: 'in-place', replaced: 0, reason: '', lastLines: [] };
    }
    return this.#change(deployment, signal, async (ending) => {
      deployment.next = bound;
      const plan = await this.#makePlan(ending);
      const progress: Report = (fraction, text) => onProgress?.({ deployment: name, fraction, text });
      const report = await this.#changes.update(deployment, bound, plan, {
        signal: ending,
        progress,
        watchS,
        cpusOf: (next) => this.#cpusOf(deployment, next, plan),
      });
      onProgress?.({ deployment: name, fraction: 1, text: report.outcome, isReady: true });
      return report;
    });
  }

  /**
   * Sets the number of replicas (the minimum, if the deployment is autoscaled), or the bounds of autoscaling. Resolves
   * when new replicas are ready. Throws `InsufficientResources`, which names demand and supply, or `FailedDeployment`;
   * then nothing has changed.
   */
  async scale(name: string, replicas: number | ReplicaRange): Promise<void> {
    const deployment = this.#require(name);
    await this.#change(deployment, undefined, async () => {
      await deployment.places?.look();
      await this.#changes.scale(deployment, replicas);
    });
  }

  readiness(name?: string): Readiness {
    const asked = name === undefined ? [...this.#deployments.values()] : [this.#require(name)];
    const states = new Map(asked.map((deployment) => [deployment.name, { serves: deployment.canServe }]));
    return readinessOf(states, name === undefined);
  }

  hearing(): ReadonlySet<string> {
    return new Set([...this.#deployments.values()].filter(({ takesAudio }) => takesAudio).map(({ name }) => name));
  }

  status(): Record<string, ReplicaSetStatus> {
    return Object.fromEntries(
      [...this.#deployments.values()].map((deployment) => [deployment.name, deployment.status()]),
    );
  }

  /** Returns the devices of the machine. Empty before the first deployment starts. */
  devices(): DeviceReport[] {
    return this.#plan?.devices() ?? [];
  }

  /** Returns the deployments whose replicas load the file, or are about to load it. */
  usersOf(file: string): string[] {
    return [...this.#deployments.values()].filter(({ texts }) => texts.has(file)).map(({ name }) => name);
  }

  /** Returns the configuration schema and the methods of each deployment. */
  describe(): Record<string, DeploymentDescription> {
    return Object.fromEntries(
      [...this.#deployments.values()].map(({ name, bound }) => [name, describeDeployment(bound.definition)]),
    );
  }

  reserve(name: string, context: RequestContext): Reservation {
    return this.#calls.reserve(name, context);
  }

  handle(name: string, retry: HandleOptionsInput = {}): DescribedHandle {
    const policy = check(HandleOptions, retry, `handle of deployment ${name}`);
    const { methods } = this.#require(name).bound.definition;
    return withMethods(this.#calls.handle(name, policy), methods, () => describeMethods(methods));
  }

  /**
   * Yields the table of deployments, and then its changes until the reader leaves or the signal aborts. Meanwhile the
   * reader is a host of its own, which calls replicas directly and reports what it sees; see `RoutedDeployments`. Its
   * waiting calls do not count while it is silent. Ends with `ValidationError` when a report is wrong.
   */
  async *watch(
    reports: AsyncIterable<unknown>,
    signal: AbortSignal,
    onSilence?: OnSilence,
  ): AsyncGenerator<TableChange, void, undefined> {
    const ending = new AbortController();
    const taken = this.#otherHosts.take(reports, onSilence);
    taken.catch((error: unknown) => ending.abort(error));
    yield* this.#table.watch(AbortSignal.any([signal, ending.signal]));
    ending.signal.throwIfAborted();
  }

  /** Lets attached processes begin no calls, or begin them again. Calls that run go on, with the calls they make. */
  drain(isDraining: boolean): void {
    this.#table.drain(isDraining);
  }

  /**
   * Ends all replicas. Running calls may finish for `graceMs` or the time in the deployment's options, whichever is
   * less. Deployments that others call take calls until these have ended. May be called twice.
   */
  async shutdown({ graceMs }: { readonly graceMs: number }): Promise<void> {
    this.#stopping.abort(fail('DeploymentStopped', 'the deployments are shutting down'));
    const all = this.registered();
    const endsAt = this.#clock.now() + graceMs;
    const stopped = new Map<string, Promise<void>>();
    for (const name of calleesFirst(all.keys(), all).toReversed()) {
      const callers = callersOf(name, all).map((caller) => stopped.get(caller));
      const stopOne = (): Promise<void> => stop(this.#require(name), Math.max(0, endsAt - this.#clock.now()));
      stopped.set(name, graceMs > 0 && callers.length > 0 ? Promise.all(callers).then(stopOne) : stopOne());
    }
    await Promise.all(stopped.values());
  }

  /** Returns {@link registered}, where a deployment that is being updated calls those of both versions. */
  #withUpdates(): Map<string, BoundDeployment> {
    const all = this.registered();
    for (const { name, bound, next } of this.#deployments.values()) if (next) all.set(name, withCalleesOf(bound, next));
    return all;
  }

  #entries(): Map<string, TableEntry> {
    return new Map([...this.#deployments.values()].map((deployment) => [deployment.name, tableEntry(deployment)]));
  }

  #namesChanged(): void {
    this.#table.touch();
    for (const listener of this.#listeners) listener();
  }

  /** Starts a deployment. `prepared` settles when the model has been fetched. */
  #deploy(
    deployment: ManagedDeployment,
    plan: Promise<DevicePlan>,
    places: Promise<DeploymentPlaces | undefined>,
    signal: AbortSignal,
    onProgress: DeployOptions['onProgress'],
  ): { readonly fetched: Promise<void>; readonly started: Promise<void> } {
    const { name } = deployment;
    const progress: Report = (fraction, text) => onProgress?.({ deployment: name, fraction, text });
    deployment.enter('start');
    const failed = new AbortController();
    const all = AbortSignal.any([signal, failed.signal]);
    const fetched = deferred();
    const cpus = async (): Promise<number> => {
      fetched.resolve(); // a definition asks for processors when it has its models
      progress(undefined, 'waiting for the devices');
      return (deployment.cpus = this.#cpusOf(deployment, deployment.bound, await plan));
    };
    const prepared = this.#starter.prepare(name, deployment.bound, cpus, all, progress);
    void prepared.catch(() => {}).then(() => fetched.resolve());
    const start = async (): Promise<void> => {
      try {
        const [spec, reserved] = await Promise.all([prepared, places]);
        deployment.coming = spec;
        if (!reserved) throw new Error(`no places were planned for ${name}`);
        reserved.cpus = deployment.cpus ??= this.#cpusOf(deployment, deployment.bound, await plan);
        await this.#calleesReady(deployment, all);
        await this.#starter.start(deployment, spec, reserved, {
          signal: all,
          progress,
          makeRoom: (take) => this.#roomMaker.makeRoom(deployment, take),
        });
        deployment.enter('started');
      } catch (error) {
        failed.abort(error); // ends the fetch of the model
        deployment.fail(signal.aborted ? `deployment ${name} was stopped before it was ready` : error);
        throw error;
      } finally {
        deployment.coming = undefined;
        await places.then(
          (reserved) => reserved?.releaseReserved(),
          () => {},
        );
      }
      onProgress?.({ deployment: name, fraction: 1, text: 'ready', isReady: true });
    };
    const started = start();
    deployment.work = started.catch(() => {});
    return { fetched: fetched.promise, started };
  }

  /** Waits until the deployments that a deployment calls serve. Throws `FailedDeployment` if one does not. */
  async #calleesReady({ name, bound }: ManagedDeployment, signal: AbortSignal): Promise<void> {
    for (const callee of calleesOf(bound).map((one) => this.#require(one))) {
      await raceAbort(callee.work, signal);
      try {
        callee.requireReplicas();
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        const { message } = failedDeployment(name, `it calls ${callee.name}, which does not serve: ${why}`);
        throw fail('FailedDeployment', message, { data: { deployment: name }, cause: error });
      }
    }
  }

  async #unload(deployment: ManagedDeployment, graceMs: number): Promise<void> {
    await stop(deployment, graceMs);
    deployment.replicas = undefined;
    deployment.places = undefined;
    deployment.enter('unloaded');
  }

  async #change<T>(
    deployment: ManagedDeployment,
    signal: AbortSignal | undefined,
    change: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    deployment.requireIdle();
    deployment.requireReplicas();
    const all = AbortSignal.any([deployment.ending.signal, this.#stopping.signal, ...(signal ? [signal] : [])]);
    all.throwIfAborted();
    deployment.enter('change');
    const changed = change(all).finally(() => {
      deployment.coming = undefined;
      deployment.next = undefined;
      deployment.enter('changed');
    });
    deployment.work = changed.catch(() => {});
    return changed;
  }

  #bind(name: string, given: BoundDeployment | DeploymentOptionsInput): BoundDeployment {
    return isBound(given) ? given : boundFrom(given, this.#definitions, `deployment ${name}`);
  }

  async #makePlan(signal: AbortSignal): Promise<DevicePlan> {
    await this.#options.beforeReplicas?.(); // the addon reports the devices
    signal.throwIfAborted();
    if (!this.#plan) {
      const machine = (await this.#options.machine?.(signal)) ?? { gpus: [], memoryBytes: 0 };
      this.#plan ??= new DevicePlan(machine, this.#options.log, this.#stopping.signal, this.#options.telemetry);
    }
    await this.#plan.look(signal);
    return this.#plan;
  }

  /**
   * Returns the processors that each replica of `next`, the current or coming options, should keep busy beside all
   * others.
   */
  #cpusOf(deployment: ManagedDeployment, next: BoundDeployment, { machine }: DevicePlan): number {
    const others = this.#othersThan(deployment);
    const fewer = fewerThreads(next, others, machine);
    if (fewer !== undefined)
      this.#options.log.warn('fewer threads than configured', { deployment: deployment.name, reason: fewer });
    return cpusOfReplica(next, others, machine);
  }

  #othersThan(deployment: ManagedDeployment): BoundDeployment[] {
    return [...this.#deployments.values()]
      .filter((other) => other !== deployment && !other.isUnloaded)
      .map(({ bound }) => bound);
  }

  #require(name: string): ManagedDeployment {
    const deployment = this.#deployments.get(name);
    if (deployment) return deployment;
    throw deploymentNotFound(name, this.#deployments.keys());
  }
}

function planned({ name, bound: { options } }: ManagedDeployment): PlannedDeployment {
  return { name, options };
}

/** Ends the replicas and the current start or change. */
async function stop(deployment: ManagedDeployment, graceMs: number): Promise<void> {
  await deployment.replicas?.stop(Math.min(graceMs, deployment.bound.options.graceful_shutdown_timeout_s * 1000));
  await deployment.work;
  await deployment.replicas?.stop(0); // replicas that a start made in the meantime
}
