import { deferred } from '../../base/core/deferred.ts';
import type { ErrorRecord } from '../../base/core/errors.ts';
import type { HostFrame, ReplicaFrame } from '../../inference/rpc/frames.ts';
import type {
  ReplicaExit,
  ReplicaOptions,
  RunningReplica,
  StartOutcome,
} from '../../inference/replicas/process/running-replica.ts';
import type { RpcCallOptions } from '../../inference/rpc/call-client.ts';
import type { ReplicaState } from '../../inference/replicas/process/replica-state.ts';
import { ReplicaWork } from '../../inference/replicas/process/replica-work.ts';
import type { Random } from './random.ts';
import type { SimulatedSpec } from './simulated-deployment.ts';
import type { SimulatedClock } from './simulated-clock.ts';

/** The faults and their frequencies. */
export interface Faults {
  /** Probabilities of a start that crashes, never ends, or reports that the model is damaged. */
  startCrash: number;
  startHang: number;
  startReject: number;
  /** Simulated times between which every start is refused, for example by a GPU without memory or a missing disk. */
  refuseFrom: number;
  refuseUntil: number;
  /** Milliseconds of a successful start. */
  readonly startMs: readonly [number, number];
  /** Mean milliseconds until a crash or a hang. Infinity: never. */
  crashMs: number;
  hangMs: number;
}

export interface SimulatedWorld {
  readonly clock: SimulatedClock;
  readonly random: Random;
  readonly faults: Faults;
  /** The running processes. */
  readonly alive: Set<SimulatedReplica>;
  /** Reports a violated invariant. */
  violation(what: string): void;
  /** Called when a process was started. It is in `alive`. */
  onSpawn(replica: SimulatedReplica): void;
  onReady(replica: SimulatedReplica): void;
  /** Called when a call failed because the version fails each call. */
  onThrown(replica: SimulatedReplica): void;
  /** Called when a poisonous call was given to a replica, and when a replica ended because of it. */
  onPoisonTaken(replica: SimulatedReplica, poison: number): void;
  onPoisoned(replica: SimulatedReplica, poison: number): void;
  readonly statistics: {
    spawns: number;
    refusals: number;
    unavailable: number;
    poisoned: number;
    crashes: number;
    hangs: number;
    calls: number;
    repeats: number;
    updates: number;
    rollbacks: number;
    scalings: number;
    evictions: number;
  };
}

/**
 * A replica without a process. Its states, calls and drains are real. The other side of the connection is replaced by a
 * few lines that answer after some time, crash or hang.
 */
export class SimulatedReplica implements RunningReplica {
  readonly name: string;
  readonly pid = undefined;
  readonly steps = 0;
  readonly code = undefined;
  readonly started: Promise<StartOutcome>;
  readonly exited: Promise<ReplicaExit>;
  readonly options: ReplicaOptions;
  /** The current spec: from its start, or changed since. */
  spec: SimulatedSpec;
  readonly #world: SimulatedWorld;
  readonly #work: ReplicaWork;
  readonly #started = deferred<StartOutcome>();
  readonly #exited = deferred<ReplicaExit>();
  /** Timers that end with the process. */
  readonly #timers = new Map<number, () => void>();
  /** Ids of the calls that it works on. */
  readonly #calls = new Set<number>();
  readonly #poisons = new Set<number>();
  #nextTimer = -1;
  #isHung = false;
  #endReason: string | undefined;

  constructor(options: ReplicaOptions, world: SimulatedWorld) {
    this.name = options.name;
    this.options = options;
    this.spec = options.spec as SimulatedSpec;
    this.#world = world;
    this.started = this.#started.promise;
    this.exited = this.#exited.promise;
    this.#work = new ReplicaWork({
      deployment: options.deployment,
      name: options.name,
      clock: world.clock,
      send: (frame) => this.#onFrame(frame),
      onState: options.onState,
    });
    world.alive.add(this);
    world.statistics.spawns += 1;
    world.onSpawn(this);
    this.#load();
  }

  get state(): ReplicaState {
    return this.#work.state;
  }

  get ongoing(): number {
    return this.#work.ongoing;
  }

  call(method: string, args: Record<string, unknown>, options: RpcCallOptions): Promise<unknown> {
    this.#checkReady();
    return this.#work.call(method, args, options);
  }

  stream(method: string, args: Record<string, unknown>, options: RpcCallOptions): AsyncIterableIterator<unknown[]> {
    this.#checkReady();
    return this.#work.stream(method, args, options);
  }

  setBounds(): void {}

  async reconfigure(spec: unknown): Promise<void> {
    await this.#work.reconfigure(spec);
    this.spec = spec as SimulatedSpec;
  }

  async stop(graceMs: number, reason = 'it was told to stop'): Promise<void> {
    await this.#work.drain(graceMs, this.exited, reason);
    this.#endReason ??= reason;
    for (const id of this.#calls) this.#answerCancelled(id); // like a real process
    this.#timer(this.#isHung ? 3000 : this.#world.random.between(1, 200), () => this.#exit('it was told to stop'));
    await this.exited;
  }

  #load(): void {
    const { faults, random } = this.#world;
    const [low, high] = faults.startMs;
    const loadMs = random.between(low, high);
    const fate = random.next();
    const { bad } = this.spec;
    if (bad === 'crash') this.#timer(loadMs, () => this.#crash());
    else if (bad === 'reject' || this.#isRefused) this.#reject(loadMs);
    else if (fate < faults.startCrash) this.#timer(loadMs, () => this.#crash());
    else if (fate < faults.startCrash + faults.startHang)
      this.#timer(this.options.startTimeoutMs, () => this.#exit('it was not ready in time'));
    else if (fate < faults.startCrash + faults.startHang + faults.startReject) this.#reject(loadMs);
    else this.#timer(loadMs, () => this.#onLoaded());
  }

  get #isRefused(): boolean {
    const { clock, faults } = this.#world;
    return clock.now() >= faults.refuseFrom && clock.now() < faults.refuseUntil;
  }

  #reject(afterMs: number): void {
    this.#timer(afterMs, () => {
      this.#world.statistics.refusals += 1;
      this.#started.resolve({ ok: false, final: true, reason: 'the model is damaged' });
      this.#timer(this.#world.random.between(0, 50), () => this.#exit('the model is damaged'));
    });
  }

  #onLoaded(): void {
    const { faults, random } = this.#world;
    if (!this.#work.enter('loaded')) return;
    this.#world.onReady(this);
    this.#started.resolve({ ok: true });
    if (this.spec.bad === 'mayfly') this.#timer(random.between(1, 300), () => this.#crash());
    if (faults.crashMs < Number.POSITIVE_INFINITY) this.#timer(random.exponential(faults.crashMs), () => this.#crash());
    if (faults.hangMs < Number.POSITIVE_INFINITY) this.#timer(random.exponential(faults.hangMs), () => this.#hang());
  }

  #crash(): void {
    this.#world.statistics.crashes += 1;
    this.#exit('it was ended by SIGSEGV');
  }

  /** Stops answering, until a health check notices it. */
  #hang(): void {
    this.#world.statistics.hangs += 1;
    this.#isHung = true;
    this.#timer(this.options.healthTimeoutMs + this.#world.random.between(0, this.options.healthPeriodMs), () =>
      this.#exit('it did not answer health checks'),
    );
  }

  #exit(how: string): void {
    if (!this.#work.enter('exit')) return; // leaves the pool first
    for (const cancel of this.#timers.values()) cancel();
    this.#timers.clear();
    this.#world.alive.delete(this);
    const reason = this.#endReason ?? how;
    this.#work.lose('SIGKILL', reason);
    this.#started.resolve({ ok: false, final: false, reason });
    this.#exited.resolve({ reason, lastLines: ['last words'] });
  }

  #checkReady(): void {
    if (this.state !== 'ready') this.#world.violation(`a call was given to ${this.name} while it was ${this.state}`);
  }

  /** Plays the other side of the connection. */
  #onFrame(frame: HostFrame): void {
    const { random } = this.#world;
    if (frame.type === 'call') {
      this.#calls.add(frame.id);
      this.#work.onFrame({ type: 'begun', id: frame.id });
      const { ms, fails, poison } = frame.args as {
        readonly ms: number;
        readonly fails: boolean;
        readonly poison?: number;
      };
      if (poison !== undefined) this.#poison(frame.id, poison, ms);
      else if (fails || this.spec.bad === 'throws') this.#fail(frame.id, ms);
      else if (frame.stream) this.#stream(frame.id, Number(frame.args['values']), ms);
      else this.#timer(ms, () => this.#answer({ type: 'result', id: frame.id, value: frame.args['id'] }), frame.id);
    } else if (frame.type === 'reconfigure') {
      if (random.chance(0.03)) return; // it never answers
      const refusal = random.chance(0.1);
      const answer = refusal
        ? ({ type: 'error', id: frame.id, error: FAILURE } as const)
        : ({ type: 'result', id: frame.id, value: null } as const);
      this.#timer(random.between(0, 50), () => this.#answer(answer), frame.id);
    } else if (frame.type === 'cancel' && !this.#poisons.has(frame.id)) {
      this.#timers.get(frame.id)?.();
      this.#timer(random.between(0, 300), () => this.#answerCancelled(frame.id), frame.id);
    }
  }

  #fail(id: number, afterMs: number): void {
    const isThrown = this.spec.bad === 'throws';
    this.#timer(
      afterMs,
      () => {
        if (isThrown && !this.#isHung) this.#world.onThrown(this);
        this.#answer({ type: 'error', id, error: FAILURE });
      },
      id,
    );
  }

  /**
   * Ends this replica later, whether the caller is still there or not. If the host has ended the replica before, it is
   * not lost to the poison, because the host took its calls away and ended it for another reason.
   */
  #poison(id: number, poison: number, ms: number): void {
    const world = this.#world;
    this.#poisons.add(id);
    world.onPoisonTaken(this, poison);
    this.#timer(ms, () => {
      if (this.state !== 'stopped') world.onPoisoned(this, poison);
      this.#crash();
    });
  }

  #stream(id: number, values: number, ms: number, next = 0): void {
    this.#timer(
      ms / Math.max(1, values),
      () => {
        if (next >= values) {
          this.#answer({ type: 'end', id });
          return;
        }
        this.#answer({ type: 'chunks', batches: [{ id, values: [next] }] });
        this.#stream(id, values, ms, next + 1);
      },
      id,
    );
  }

  #answer(frame: Extract<ReplicaFrame, { type: 'result' | 'chunks' | 'end' | 'error' }>): void {
    if (this.#isHung || this.state === 'exited') return;
    if (frame.type !== 'chunks') this.#calls.delete(frame.id);
    this.#work.onFrame(frame);
  }

  #answerCancelled(id: number): void {
    this.#answer({ type: 'error', id, error: { ...FAILURE, name: 'CancelledError', kind: 'cancelled' } });
  }

  /** Starts a timer. `id` is the call that it belongs to. */
  #timer(ms: number, run: () => void, id: number = this.#nextTimer--): void {
    if (this.state === 'exited') return;
    const cancel = this.#world.clock.after(ms, () => {
      if (this.#timers.get(id) === cancel) this.#timers.delete(id);
      run();
    });
    this.#timers.set(id, cancel);
  }
}

const FAILURE: ErrorRecord = { name: 'InferenceException', kind: 'internal', message: 'the engine failed', data: {} };
