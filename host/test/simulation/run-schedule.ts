import { AanaError, fail } from '../../base/core/errors.ts';
import { type LogFields, type Logger, silentLogger } from '../../base/core/log/logger.ts';
import { DeploymentManager, type DeploymentOptionsInput } from '../../inference/deployments/index.ts';
import type { ReplicaSetStatus } from '../../inference/replicas/index.ts';
import { makeSchedule, type PlannedCall, type Schedule } from './make-schedule.ts';
import { Random } from './random.ts';
import { ChangeRun } from './run-changes.ts';
import { SimulatedClock } from './simulated-clock.ts';
import { SimulatedDeployment } from './simulated-deployment.ts';
import { type SimulatedWorld, SimulatedReplica } from './simulated-replica.ts';

export interface ScheduleResult {
  /** Violated invariants; empty if there are none. */
  readonly violations: readonly string[];
  readonly statistics: SimulatedWorld['statistics'] & { readonly refused: number; readonly simulatedMs: number };
}

const HOUR_MS = 3_600_000;
const POISON_REMEMBERED_MS = 600_000;
/** Simulated time between checks of all deployments' statuses. */
const CHECK_PERIOD_MS = 500;

/**
 * Runs one schedule of load and faults with a real deployment manager, in simulated time. With `isSuperseded`, another
 * host becomes the controller at some time. The same seed gives the same run.
 */
export async function runSchedule(seed: number, { isSuperseded = false } = {}): Promise<ScheduleResult> {
  const random = new Random(seed);
  const schedule = makeSchedule(random);
  const until = Math.max(...schedule.calls.map(({ at }) => at));
  const run = new ScheduleRun(schedule, random, isSuperseded ? random.between(0, until) : undefined);
  await run.all();
  return {
    violations: run.violations,
    statistics: { ...run.world.statistics, refused: run.isRefused ? 1 : 0, simulatedMs: run.world.clock.now() },
  };
}

class ScheduleRun {
  readonly violations: string[] = [];
  readonly world: SimulatedWorld;
  /** Whether the schedule asked for too much, or a first start failed. */
  isRefused = false;
  readonly #schedule: Schedule;
  /** The time after the start at which another host becomes the controller. */
  readonly #supersededAt: number | undefined;
  #successor: AanaError | undefined;
  readonly #manager: DeploymentManager;
  readonly #changes: ChangeRun;
  /** Open calls, with the number of their repetitions. */
  readonly #open = new Map<number, number>();
  /**
   * Whether replicas of this schedule end only on purpose. Then no call may be lost, and no stream that takes less than
   * the grace period.
   */
  readonly #isGentle: boolean;
  /** Whether nothing fails by itself. */
  readonly #isCalm: boolean;
  #lastCheckedAt = -1;
  /** Times at which replicas were lost to each poison, by deployment and poison. */
  readonly #poisoned = new Map<string, number[]>();
  /** Deployments and configurations of which a replica was ready once. Such deployments are never given up. */
  readonly #wereReady = new Set<string>();

  constructor(schedule: Schedule, random: Random, supersededAt?: number) {
    this.#schedule = schedule;
    this.#supersededAt = supersededAt;
    const isCalm = schedule.faults.crashMs === Number.POSITIVE_INFINITY && supersededAt === undefined;
    this.#isCalm = isCalm;
    const isUnpoisoned = schedule.calls.every(({ poison }) => poison === undefined);
    this.#isGentle =
      isCalm &&
      isUnpoisoned &&
      schedule.changes.every((change) => (change.kind === 'update' ? !change.isBad : change.kind !== 'renew'));
    const clock = new SimulatedClock();
    this.world = {
      clock,
      random,
      faults: schedule.faults,
      alive: new Set(),
      violation: (what) => this.violations.push(`at ${Math.round(clock.now())} ms: ${what}`),
      onSpawn: () => {
        if (this.#successor) this.world.violation('a replica starts although another host is the controller');
        this.#checkDevices();
      },
      onReady: ({ options, spec }) => this.#wereReady.add(configurationKey(options.deployment, spec)),
      onThrown: ({ options, spec }) => this.#changes.onFailedCall(options.deployment, spec.version),
      onPoisonTaken: (replica, poison) => this.#onPoisonTaken(replica, poison),
      onPoisoned: (replica, poison) => this.#onPoisoned(replica, poison),
      statistics: {
        spawns: 0,
        refusals: 0,
        unavailable: 0,
        poisoned: 0,
        crashes: 0,
        hangs: 0,
        calls: 0,
        repeats: 0,
        updates: 0,
        rollbacks: 0,
        scalings: 0,
        evictions: 0,
      },
    };
    this.#manager = new DeploymentManager({
      log: this.#listener(),
      env: {},
      models: { pull: () => Promise.reject(new Error('there are no models')) },
      machine: async () => schedule.machine,
      definitions: [SimulatedDeployment],
      fence: () => this.#successor,
      simulated: { clock, random: random.next, spawn: (options) => new SimulatedReplica(options, this.world) },
    });
    for (const [name, options] of schedule.deployments) this.#manager.register(name, options);
    this.#changes = new ChangeRun(this.#manager, this.world, schedule.deployments, isCalm && isUnpoisoned);
  }

  async all(): Promise<void> {
    if (await this.#start()) {
      await this.#load();
      if (!this.#successor) {
        await this.#calmDown();
        await this.#probe();
      }
      await this.#wait(this.#manager.shutdown({ graceMs: 5000 }), 'the shutdown');
    }
    if (this.world.alive.size > 0) this.world.violation(`${this.world.alive.size} processes were left`);
    const { clock } = this.world;
    if (
      !(await clock.run(
        () => clock.pending === 0,
        HOUR_MS,
        () => {},
      ))
    )
      this.world.violation('a timer is left after the end');
  }

  async #start(): Promise<boolean> {
    const started = this.#manager.start();
    const error = await this.#wait(
      started.then(
        () => undefined,
        (failure: unknown) => failure,
      ),
      'the start',
    );
    if (error === undefined) return true;
    this.isRefused = true;
    const { startCrash, startHang, startReject } = this.#schedule.faults;
    const mayFail = startCrash + startHang + startReject > 0;
    const isExpected =
      error instanceof AanaError &&
      (error.name === 'InsufficientResources' || (error.name === 'FailedDeployment' && mayFail));
    if (!isExpected) this.world.violation(`the start failed: ${String(error)}`);
    return false;
  }

  /** Runs all calls and changes of the schedule until each has its answer. */
  async #load(): Promise<void> {
    const { clock } = this.world;
    const { calls, changes, faults, outage } = this.#schedule;
    if (outage)
      Object.assign(faults, { refuseFrom: clock.now() + outage.at, refuseUntil: clock.now() + outage.at + outage.ms });
    if (this.#supersededAt !== undefined)
      clock.after(this.#supersededAt, () => {
        this.#successor = fail('ControllerSuperseded', 'another host has become the controller');
      });
    let settled = 0;
    for (const call of calls) clock.after(call.at, () => void this.#call(call).finally(() => (settled += 1)));
    for (const change of changes)
      clock.after(change.at, () => void this.#changes.run(change).finally(() => (settled += 1)));
    const allSettled = await clock.run(
      () => settled === calls.length + changes.length,
      HOUR_MS,
      () => this.#checkQueues(),
    );
    if (!allSettled)
      this.world.violation(
        `calls ${[...this.#open.keys()].join(', ')} were never answered, or a change never ended; ${this.#describe()}`,
      );
  }

  /** Checks that without new faults and load each deployment reaches its wanted replicas. */
  async #calmDown(): Promise<void> {
    Object.assign(this.#schedule.faults, {
      startCrash: 0,
      startHang: 0,
      startReject: 0,
      refuseUntil: 0,
      crashMs: Number.POSITIVE_INFINITY,
      hangMs: Number.POSITIVE_INFINITY,
    });
    const { clock } = this.world;
    let nextCheck = 0;
    const isCalm = (): boolean => {
      if (clock.now() < nextCheck) return false;
      nextCheck = clock.now() + CHECK_PERIOD_MS;
      const status = this.#manager.status();
      return [...this.#changes.current].every(([name, options]) => isAsItShould(status[name], options));
    };
    if (!(await clock.run(isCalm, HOUR_MS, () => {}))) this.world.violation(`stuck: ${this.#describe()}`);
    this.#checkVersions();
    for (const [name, { status, message }] of Object.entries(this.#manager.status())) {
      if (status === 'DEPLOY_FAILED' && !this.#mayBeGivenUp(name))
        this.world.violation(`${name} was given up although it had served: ${message}`);
    }
  }

  #mayBeGivenUp(deployment: string): boolean {
    const config = this.#changes.current.get(deployment)?.user_config ?? {};
    return this.#changes.renewed.has(deployment) || !this.#wereReady.has(configurationKey(deployment, config));
  }

  /** Checks that after all changes each process runs the version that was accepted last. */
  #checkVersions(): void {
    for (const { name, options, spec } of this.world.alive) {
      const wanted = this.#changes.current.get(options.deployment)?.user_config ?? {};
      for (const key of ['version', 'tone'] as const) {
        if (spec[key] !== (wanted[key] ?? 0))
          this.world.violation(`${name} has ${key} ${spec[key]} instead of ${String(wanted[key] ?? 0)}`);
      }
    }
  }

  /** Makes one more call to each deployment. */
  async #probe(): Promise<void> {
    let settled = 0;
    for (const [index, deployment] of [...this.#schedule.deployments.keys()].entries()) {
      const probe: PlannedCall = {
        id: this.#schedule.calls.length + index,
        deployment,
        at: 0,
        ms: 10,
        fails: false,
        poison: undefined,
        values: 2,
        cancelAfter: undefined,
        key: '',
      };
      void this.#call(probe).finally(() => (settled += 1));
    }
    const allSettled = await this.world.clock.run(
      () => settled === this.#schedule.deployments.size,
      HOUR_MS,
      () => {},
    );
    if (!allSettled) this.world.violation(`a call after the faults was never answered; ${this.#describe()}`);
  }

  async #call(call: PlannedCall): Promise<void> {
    const { clock, statistics } = this.world;
    statistics.calls += 1;
    this.#open.set(call.id, 0);
    const controller = new AbortController();
    const reason = new Error('the caller left');
    const cancel =
      call.cancelAfter === undefined ? undefined : clock.after(call.cancelAfter, () => controller.abort(reason));
    const { id, ms, fails, key, poison } = call;
    const isStream = poison === undefined ? call.values !== undefined : poison % 2 === 0;
    const args =
      poison === undefined
        ? { id, ms, fails, key, values: call.values ?? 0 }
        : { id: 0, ms: poison * 300, fails: false, key: 'poison', values: 1, poison };
    const options = { signal: controller.signal, requestId: String(id) };
    const values: unknown[] = [];
    try {
      const handle = this.#manager.handle(call.deployment);
      if (!isStream) values.push(await handle.call('call', args, options));
      else for await (const batch of handle.stream('stream', args, options)) values.push(...batch);
      const expected = call.values === undefined ? [id] : Array.from({ length: call.values }, (_, n) => n);
      if (fails || poison !== undefined || JSON.stringify(values) !== JSON.stringify(expected))
        this.world.violation(`call ${id} was answered with ${JSON.stringify(values)}`);
    } catch (error) {
      if (!(error === reason && controller.signal.aborted)) this.#checkError(call, error, values.length);
    } finally {
      cancel?.();
      this.#open.delete(id);
    }
  }

  /** Checks that no replica gets a call with which two replicas were lost. The losses are remembered for some time. */
  #onPoisonTaken({ name, options: { deployment } }: SimulatedReplica, poison: number): void {
    const now = this.world.clock.now();
    const [last, before] = (this.#poisoned.get(`${deployment} ${poison}`) ?? []).filter((at) => at < now).toReversed();
    const isRemembered =
      last !== undefined &&
      before !== undefined &&
      now - last < POISON_REMEMBERED_MS &&
      last - before < POISON_REMEMBERED_MS;
    const isOther = this.#schedule.changes.some(
      (change) => change.deployment === deployment && change.kind !== 'scale',
    ); // another version may survive the poison
    if (isRemembered && !isOther)
      this.world.violation(`${name} got poison ${poison}, although two replicas had died of it`);
  }

  #onPoisoned({ options: { deployment } }: SimulatedReplica, poison: number): void {
    const key = `${deployment} ${poison}`;
    this.#poisoned.set(key, [...(this.#poisoned.get(key) ?? []), this.world.clock.now()]);
    this.world.statistics.poisoned += 1;
  }

  /** Checks that a call fails only with an error that matches the real events. */
  #checkError({ id, deployment, fails, poison, ms, values = 0 }: PlannedCall, error: unknown, delivered: number): void {
    const name = error instanceof AanaError ? error.name : '';
    const repeats = this.#open.get(id) ?? 0;
    const status = this.#manager.status()[deployment];
    const mayHaveSlept = [this.#schedule.deployments, this.#changes.current].some(
      (options) => options.get(deployment)?.autoscaling_config?.min_replicas === 0,
    );
    const graceMs = (this.#schedule.deployments.get(deployment)?.graceful_shutdown_timeout_s ?? 0) * 1000;
    const takesMs = (ms * (values + 1)) / Math.max(1, values); // a stream ends one step after its last value
    const mayBeCut = delivered > 0 && (!this.#isGentle || takesMs > graceMs);
    const mayThrow = this.#schedule.changes.some(
      (change) => change.kind === 'update' && change.deployment === deployment && change.change['bad'] === 'throws',
    );
    const wasAway = this.#changes.renewed.has(deployment);
    const isExpected =
      (name === 'InferenceException' && (fails || mayThrow)) ||
      // Losses further apart than suspicion lasts.
      (name === 'ReplicaLostError' && (mayBeCut || (!this.#isGentle && repeats > 0))) ||
      (name === 'PoisonousCallError' && !this.#isGentle && (poison !== undefined || repeats > 0 || delivered > 0)) ||
      (name === 'DeploymentFull' && repeats === 0) ||
      (name === 'FailedDeployment' && status?.status === 'DEPLOY_FAILED' && this.#mayBeGivenUp(deployment)) ||
      (name === 'DeploymentUnavailable' &&
        !this.#isCalm &&
        (status?.replicas.every(({ state }) => state !== 'ready') ?? false)) ||
      (name === 'InsufficientResources' && mayHaveSlept) ||
      (wasAway && WHILE_AWAY.has(name)) ||
      (this.#successor !== undefined && WHILE_SUPERSEDED.has(name));
    if (name === 'DeploymentUnavailable') this.world.statistics.unavailable += 1;
    if (!isExpected)
      this.world.violation(
        `call ${id}, repeated ${repeats} times, ${delivered} values delivered, failed with ${String(error)}; ` +
          `${this.#describe()}`,
      );
  }

  /** Adds up the shares of each GPU over the running processes, independently of the ledger. */
  #checkDevices(): void {
    for (const { id, memoryBytes } of this.#schedule.machine.gpus) {
      let [share, reserved] = [0, 0];
      for (const { options, spec } of this.world.alive) {
        const { devices } = spec;
        const ids = options.env['CUDA_VISIBLE_DEVICES']?.split(',') ?? [];
        if (!ids.includes(String(id)) || devices.num_gpus === undefined) continue;
        share += Math.min(1, devices.num_gpus);
        reserved += (devices.memory_bytes ?? 0) / ids.length;
      }
      if (share > 1 + 1e-9) this.world.violation(`${id} has ${share} times its capacity assigned`);
      if (reserved > memoryBytes) this.world.violation(`${id} has ${reserved} of ${memoryBytes} bytes reserved`);
    }
  }

  #checkQueues(): void {
    if (this.world.clock.now() - this.#lastCheckedAt < CHECK_PERIOD_MS) return;
    this.#lastCheckedAt = this.world.clock.now();
    // A repeated call returns to the queue even if the queue is full. So does a call that left the queue because the
    // same call ended a replica.
    const repeated = [...this.#open].filter(
      ([id, repeats]) => repeats > 0 || this.#schedule.calls[id]?.poison !== undefined,
    ).length;
    const status = this.#manager.status();
    for (const [name, { max_queued_requests: maxQueued = 100, max_ongoing_requests: maxOngoing = 4 }] of this.#schedule
      .deployments) {
      const { queued, replicas } = status[name] ?? { queued: 0, replicas: [] };
      if (queued > maxQueued + repeated)
        this.world.violation(`${queued} calls wait for ${name}; the limit is ${maxQueued}`);
      for (const replica of replicas)
        if (replica.ongoing > maxOngoing)
          this.world.violation(`${replica.name} has ${replica.ongoing} calls; the limit is ${maxOngoing}`);
    }
  }

  /** Runs the clock until `promise` has settled. */
  async #wait<T>(promise: Promise<T>, what: string): Promise<T | undefined> {
    let result: { readonly value: T } | undefined;
    void promise.then((value) => (result = { value }));
    if (
      !(await this.world.clock.run(
        () => result !== undefined,
        HOUR_MS,
        () => {},
      ))
    )
      this.world.violation(`${what} never ended; ${this.#describe()}`);
    return result?.value;
  }

  #describe(): string {
    return JSON.stringify(this.#manager.status());
  }

  /** Returns a logger that learns from log lines which calls are repeated. */
  #listener(): Logger {
    const warn = (message: string, { requestId }: LogFields = {}): void => {
      if (message !== 'call repeated') return;
      const id = Number(requestId);
      this.#open.set(id, (this.#open.get(id) ?? 0) + 1);
      this.world.statistics.repeats += 1;
    };
    const info = (message: string, { replica }: LogFields = {}): void => {
      if (message !== 'making room for another deployment') return;
      this.world.statistics.evictions += 1;
      for (const { name, ongoing } of this.world.alive)
        if (name === replica && ongoing > 0) this.world.violation(`${name} makes room while it has ${ongoing} calls`);
    };
    const logger: Logger = { ...silentLogger, warn, info, child: () => logger };
    return logger;
  }
}

/** Errors that calls may get from a deployment that is removed and deployed again. */
const WHILE_AWAY: ReadonlySet<string> = new Set([
  'DeploymentNotFound',
  'DeploymentStopped',
  'DeploymentNotStarted',
  'FailedDeployment',
]);

/** Errors that calls may also get from a host that starts no replicas any more. */
const WHILE_SUPERSEDED: ReadonlySet<string> = new Set([
  'ControllerSuperseded',
  'DeploymentUnavailable',
  'FailedDeployment',
  'ReplicaLostError',
]);

/**
 * Returns whether a deployment without load has its wanted replicas, all idle. A failed deployment counts, because it
 * stays as it is.
 */
function isAsItShould(
  status: ReplicaSetStatus | undefined,
  { autoscaling_config: scaling, num_replicas: count = 1 }: DeploymentOptionsInput,
): boolean {
  if (!status || status.queued > 0) return false;
  if (status.status === 'DEPLOY_FAILED') return true;
  const wanted = scaling ? (scaling.min_replicas ?? 1) : count;
  return (
    status.replicas.length === wanted &&
    status.replicas.every(({ state, failure, ongoing }) => (state === 'ready' && ongoing === 0) || failure !== '')
  );
}

/** Returns a key of the configuration that a replica starts with. Each version has another key. */
function configurationKey(
  deployment: string,
  { version = 0, tone = 0 }: { readonly version?: unknown; readonly tone?: unknown },
): string {
  return `${deployment} ${String(version)} ${String(tone)}`;
}
