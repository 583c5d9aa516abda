import * as z from 'zod';
import { AanaError, fail } from '../../base/core/errors.ts';
import { silentLogger } from '../../base/core/log/logger.ts';
import { RoutedDeployments } from '../../inference/deployments/index.ts';
import type { DeploymentRoutes } from '../../inference/deployments/routing/table.ts';
import type { FrameListener } from '../../inference/rpc/frame-socket.ts';
import { type DataAnswer, type DataRequest, isCallAnswer, isCallRequest } from '../../inference/rpc/frames.ts';
import type { ReplicaAddress, ServedMethods } from '../../inference/rpc/index.ts';
import { type Connection, Connections } from '../../inference/replicas/child/connections.ts';
import type { ConnectReplica, ReplicaConnection } from '../../inference/replicas/remote/remote-replica.ts';
import { Random } from './random.ts';
import { SimulatedClock } from './simulated-clock.ts';

export interface HostsResult {
  /** Violated invariants; empty if there are none. */
  readonly violations: readonly string[];
  readonly statistics: Readonly<Record<'calls' | 'answers' | 'full' | 'kills' | 'shared' | 'left', number>>;
}

const HOUR_MS = 3_600_000;
const NAME = 'simulated';

/**
 * Runs one schedule of calls of several hosts to the same replicas, in simulated time. The hosts and the counting of
 * calls in replicas are the real ones. Frames and changes of the table are late by random times. Replicas are killed or
 * told to end, and replaced; a host leaves. The same seed gives the same run.
 */
export async function runHosts(seed: number): Promise<HostsResult> {
  const run = new HostsRun(new Random(seed));
  await run.all();
  return { violations: run.violations, statistics: run.statistics };
}

class HostsRun {
  readonly violations: string[] = [];
  readonly statistics = { calls: 0, answers: 0, full: 0, kills: 0, shared: 0, left: 0 };
  readonly clock = new SimulatedClock();
  readonly random: Random;
  readonly #maxOngoing: number;
  /** Longest delay of a frame. */
  readonly #lateMs: number;
  readonly #replicas = new Map<string, SimulatedProcess>();
  readonly #hosts: RoutedDeployments[];
  readonly #gone = new Set<RoutedDeployments>();
  readonly #killedAt: number[] = [];
  #made = 0;
  #revision = 0;
  #open = 0;

  constructor(random: Random) {
    this.random = random;
    this.#maxOngoing = random.int(1, 3);
    this.#lateMs = random.pick([0, 1, 20, 150]);
    this.#hosts = Array.from({ length: random.int(2, 3) }, () => this.#host());
    for (let count = random.int(1, 3); count > 0; count -= 1) this.#start();
  }

  async all(): Promise<void> {
    const { random, clock } = this;
    const span = random.pick([500, 3000]);
    for (const host of this.#hosts)
      for (let count = random.int(1, 20); count > 0; count -= 1)
        clock.after(random.between(0, span), () => void this.#call(host, random.chance(0.5)));
    for (let count = random.pick([0, 0, 1, 3]); count > 0; count -= 1)
      clock.after(random.between(0, span * 2), () => this.#replace(random.chance(0.5)));
    if (random.chance(0.3)) clock.after(random.between(0, span), () => this.#leave());
    await this.#settle(span * 2, 'the schedule');
    for (const host of this.#hosts) if (!this.#gone.has(host)) void this.#call(host, false);
    await this.#settle(0, 'the calls after it');
    for (const { name, running, kept } of this.#replicas.values())
      if (running > 0 || kept()) this.violations.push(`${name} has places that nobody uses`);
  }

  async #settle(afterMs: number, what: string): Promise<void> {
    const from = this.clock.now() + afterMs;
    const done = (): boolean => this.clock.now() >= from && this.#open === 0;
    let last = false;
    this.clock.after(afterMs, () => (last = true));
    await this.clock.run(
      () => last && done(),
      HOUR_MS,
      () => {},
    );
    if (this.#open > 0) this.violations.push(`${this.#open} calls of ${what} were never answered`);
    let isQuiet = false;
    this.clock.after(2000, () => (isQuiet = true));
    await this.clock.run(
      () => isQuiet,
      HOUR_MS,
      () => {},
    );
  }

  #host(): RoutedDeployments {
    const connect: ConnectReplica = (address, listener) => this.#connect(address, listener);
    return new RoutedDeployments({
      log: silentLogger,
      definitionOf: () => ({ name: 'Simulated', methods: METHODS }),
      simulated: { clock: this.clock, random: this.random.next, connect },
    });
  }

  #start(): void {
    this.#made += 1;
    const process = new SimulatedProcess(`${NAME}#${this.#made}`, this.#maxOngoing, this);
    this.#replicas.set(process.name, process);
    this.#publish();
  }

  /** Ends a replica, and starts another one. */
  #replace(isKilled: boolean): void {
    const [process] = [...this.#replicas.values()].sort(() => this.random.next() - 0.5);
    if (!process) return;
    this.#replicas.delete(process.name);
    if (isKilled) {
      this.statistics.kills += 1;
      this.#killedAt.push(this.clock.now());
      process.end();
      this.clock.after(this.random.between(0, 100), () => this.#publish());
    } else {
      this.#publish();
      this.clock.after(this.random.between(0, 100), () => process.leave());
    }
    this.clock.after(this.random.between(0, 500), () => this.#start());
  }

  /** Tells the table to each host, late and in order. */
  #publish(): void {
    this.#revision += 1;
    const revision = this.#revision;
    const replicas = [...this.#replicas.values()].map(({ name, address }) => ({ name, address, models: [] }));
    for (const host of this.#hosts)
      this.#later(host, () => {
        if (this.#gone.has(host)) return;
        const routes: DeploymentRoutes = {
          bounds: { maxOngoing: this.#maxOngoing, maxQueued: 1000, pausesForOthers: false },
          state: { status: 'RUNNING', message: '', serves: true, hears: false },
          refused: { count: 0 },
          replicas,
        };
        const facts = { version: 1, type: 'Simulated', methods: DESCRIBED, isMultiplexed: false, callees: [] };
        host.take({ revision, removed: [], changed: [{ name: NAME, facts, routes }] });
      });
  }

  readonly #lastAt = new Map<object, number>();

  /** Runs something late, after all that was sent over the same channel before. */
  #later(channel: object, run: () => void): void {
    const { clock, random } = this;
    const at = Math.max(this.#lastAt.get(channel) ?? 0, clock.now() + random.between(0, this.#lateMs));
    this.#lastAt.set(channel, at);
    clock.after(at - clock.now(), run);
  }

  #connect({ socket }: ReplicaAddress, listener: FrameListener<DataAnswer>): ReplicaConnection {
    const [there, back] = [{}, {}];
    let isOpen = true;
    let connection: Connection | undefined;
    const process = this.#replicas.get(socket);
    const closed = (): void => {
      if (!isOpen) return;
      isOpen = false;
      connection?.close();
      this.#later(back, () => listener.onClose(undefined));
    };
    const send = (frame: DataAnswer): void => {
      if (isOpen) this.#later(back, () => listener.onFrame(frame));
    };
    if (!process) this.#later(back, closed);
    return {
      send: (frame: DataRequest) =>
        this.#later(there, () => {
          if (!isOpen || !process?.isAlive) return;
          if (frame.type === 'hello') connection = process.accept(send, closed);
          else if (isCallAnswer(frame) || isCallRequest(frame)) {
            if (frame.type === 'call') this.statistics.shared += process.isShared ? 1 : 0;
            connection?.onFrame(frame);
          }
        }),
      close: () => this.#later(there, closed),
    };
  }

  async #call(host: RoutedDeployments, isStream: boolean): Promise<void> {
    if (this.#gone.has(host)) return;
    const { random, clock } = this;
    const id = (this.statistics.calls += 1);
    this.#open += 1;
    const startedAt = clock.now();
    const controller = new AbortController();
    const reason = new Error('the caller left');
    if (random.chance(0.1)) clock.after(random.between(0, 300), () => controller.abort(reason));
    const args = { id, ms: random.exponential(40), values: random.int(0, 5) };
    const values: unknown[] = [];
    try {
      const handle = host.handle(NAME, {});
      const options = { signal: controller.signal };
      if (isStream) for await (const batch of handle.stream('stream', args, options)) values.push(...batch);
      else values.push(await handle.call('call', args, options));
      this.statistics.answers += 1;
      const expected = isStream ? Array.from({ length: args.values }, (_, value) => value) : [id];
      if (JSON.stringify(values) !== JSON.stringify(expected))
        this.violations.push(`call ${id} was answered with ${JSON.stringify(values)}`);
    } catch (error) {
      // A host may give a call to a replica of whose end it has not heard yet.
      const kills = this.#killedAt.filter((at) => at >= startedAt - this.#lateMs).length;
      const name = error instanceof AanaError ? error.name : '';
      const isExpected =
        (error === reason && controller.signal.aborted) ||
        (name === 'ConnectionLost' && this.#gone.has(host)) ||
        (name === 'ReplicaLostError' && (values.length > 0 || kills > 1)) ||
        (name === 'PoisonousCallError' && kills > 1) ||
        (name === 'DeploymentNotFound' && clock.now() <= this.#lateMs);
      if (!isExpected) this.violations.push(`call ${id}, ${values.length} values, ${kills} kills: ${String(error)}`);
    } finally {
      this.#open -= 1;
    }
  }

  #leave(): void {
    const [host] = this.#hosts;
    if (!host) return;
    this.statistics.left += 1;
    this.#gone.add(host);
    host.close(fail('ConnectionLost', 'the host has left', { data: { url: '' } }));
  }
}

/** A replica without a process. Its connections and the counting of its calls are real. */
class SimulatedProcess {
  readonly name: string;
  readonly address: ReplicaAddress;
  running = 0;
  isAlive = true;
  readonly #run: HostsRun;
  readonly #connections: Connections;
  readonly #closers = new Map<Connection, { send(frame: DataAnswer): void; closed(): void }>();

  constructor(name: string, maxOngoing: number, run: HostsRun) {
    this.name = name;
    this.address = { socket: name, token: name };
    this.#run = run;
    this.#connections = new Connections(maxOngoing, run.clock);
    const begin = (): void => {
      this.running += 1;
      if (this.running > maxOngoing) run.violations.push(`${name} runs ${this.running} of ${maxOngoing} calls`);
    };
    const end = (): void => {
      this.running -= 1;
    };
    const methods: ServedMethods = {
      call: async ({ id, ms }, { signal }) => {
        begin();
        try {
          await run.clock.delay(Number(ms), signal);
          return id;
        } finally {
          end();
        }
      },
      stream: async function* ({ ms, values }, { signal }) {
        begin();
        try {
          for (let value = 0; value < Number(values); value += 1) {
            await run.clock.delay(Number(ms) / 5, signal);
            yield value;
          }
        } finally {
          end();
        }
      },
    };
    this.#connections.serve(methods);
  }

  get isShared(): boolean {
    return this.#closers.size > 1;
  }

  /** Returns whether a place is kept for a host that no longer needs it. */
  readonly kept = (): boolean => {
    let others = 0;
    const probe = this.#connections.add((frame) => {
      if (frame.type === 'load') others = frame.others;
    });
    probe.close();
    return others > 0;
  };

  accept(send: (frame: DataAnswer) => void, closed: () => void): Connection {
    const connection = this.#connections.add((frame) => {
      if (frame.type === 'full') this.#run.statistics.full += 1;
      if (this.isAlive) send(frame);
    });
    this.#closers.set(connection, { send, closed });
    return connection;
  }

  /** Ends as it was told. */
  leave(): void {
    for (const { send } of this.#closers.values()) send({ type: 'shutdown' });
    this.end();
  }

  /** Ends at once. */
  end(): void {
    this.isAlive = false;
    for (const { closed } of this.#closers.values()) closed();
  }
}

const input = z.object({ id: z.number(), ms: z.number(), values: z.number() });
const METHODS = {
  call: { description: 'Waits.', input, output: z.unknown(), streaming: false },
  stream: { description: 'Counts.', input, output: z.unknown(), streaming: true },
} as const;
const DESCRIBED = {
  call: { description: 'Waits.', streaming: false, inputSchema: {}, outputSchema: {} },
  stream: { description: 'Counts.', streaming: true, inputSchema: {}, outputSchema: {} },
};
