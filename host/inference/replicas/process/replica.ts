import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { systemClock, within } from '../../../base/core/clock.ts';
import { deferred } from '../../../base/core/deferred.ts';
import { fail, fromErrorRecord } from '../../../base/core/errors.ts';
import { randomSuffix } from '../../../base/core/ids.ts';
import { REPLICA_SOCKET, socketPathIn } from '../../../base/core/net/unix-socket.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import { spawnContained } from '../../../base/processes/index.ts';
import { FrameSocket } from '../../rpc/frame-socket.ts';
import type { HostFrame, ReplicaAddress, ReplicaFrame } from '../../rpc/frames.ts';
import type { ReplicaMemory } from '../../rpc/replica-memory.ts';
import type { HeldModels } from '../pool/held-models.ts';
import { HealthChecks } from './health-checks.ts';
import { RecentLines } from './recent-lines.ts';
import type { RpcCallOptions } from '../../rpc/call-client.ts';
import type { ReplicaState } from './replica-state.ts';
import { ReplicaWork } from './replica-work.ts';
import type { ReplicaExit, ReplicaOptions, RunningReplica, StartOutcome } from './running-replica.ts';

const MAIN = fileURLToPath(new URL('../child/main.js', import.meta.url));
/** Time for closing the model. */
const CLOSE_TIMEOUT_MS = 3000;
const EXIT_AFTER_CLOSE_MS = 500;
const SOCKET_TIMEOUT_MS = 2000;
/** Lines of output that {@link ReplicaExit} keeps. */
const KEPT_LINES = 10;

/** Asks the kernel for large pages for models and their context. A later setting of the same name overrides it. */
const LARGE_PAGES = 'glibc.malloc.hugetlb=1';

/** A replica: one child process that runs a deployment, with its calls. */
export class Replica implements RunningReplica {
  readonly name: string;
  /** Resolves when the model is loaded, or the start has failed. */
  readonly started: Promise<StartOutcome>;
  /** Resolves when the process is gone and its calls have failed. */
  readonly exited: Promise<ReplicaExit>;
  readonly #options: ReplicaOptions;
  readonly #log: Logger;
  readonly #child: ChildProcess;
  readonly #socket: FrameSocket<ReplicaFrame, HostFrame>;
  readonly #work: ReplicaWork;
  readonly #lines = new RecentLines();
  readonly #health: HealthChecks;
  readonly #started = deferred<StartOutcome>();
  readonly #exited = deferred<ReplicaExit>();
  readonly #socketClosed = deferred();
  readonly #startedAt = performance.now();
  readonly #listen: ReplicaAddress | undefined;
  #address: ReplicaAddress | undefined;
  /** Reason for which the host ended the process. */
  #endReason: string | undefined;
  #lastWords: string | undefined;
  #info: unknown;
  #memory: ReplicaMemory | undefined;
  #code: string | undefined;
  #steps = 0;
  #startTimer: NodeJS.Timeout | undefined;
  /** The shutdown of the process. Set once. */
  #ending: Promise<void> | undefined;

  constructor(options: ReplicaOptions) {
    this.#options = options;
    this.#listen = options.socketsDir === undefined ? undefined : newAddress(options.socketsDir, options.remote?.host);
    this.name = options.name;
    this.started = this.#started.promise;
    this.exited = this.#exited.promise;
    this.#child = spawnContained(process.execPath, ['--enable-source-maps', MAIN], {
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      nice: options.nice,
      processors: options.processors,
      addressBytes: options.addressBytes,
      env: {
        ...options.env,
        OMP_WAIT_POLICY: 'passive',
        GGML_NO_BACKTRACE: '1',
        GLIBC_TUNABLES: [LARGE_PAGES, options.env['GLIBC_TUNABLES']].filter(Boolean).join(':'),
      },
    });
    this.#log = options.log.child({ replica: options.name, pid: this.#child.pid });
    this.#followOutput();
    this.#child.on('error', (error) => void this.#onGone(null, null, error.message));
    this.#child.on('exit', (code, signal) => void this.#onGone(code, signal));
    this.#socket = new FrameSocket<ReplicaFrame, HostFrame>(socketOf(this.#child), {
      onFrame: (frame) => this.#onFrame(frame),
      onClose: (error) => void this.#onSocketClosed(error),
    });
    this.#work = new ReplicaWork({
      deployment: options.deployment,
      name: options.name,
      clock: systemClock,
      served: options.served,
      artifactRoots: options.artifacts?.roots,
      send: (frame) => this.#socket.send(frame),
      onLoad: options.onLoad,
      onState: options.onState,
    });
    this.#health = new HealthChecks({
      periodMs: options.healthPeriodMs,
      timeoutMs: options.healthTimeoutMs,
      ping: () => this.#socket.send({ type: 'ping' }),
      onUnhealthy: (reason) => this.kill(reason),
    });
    this.#socket.send({
      type: 'start',
      implementation: options.implementation.href,
      spec: options.spec,
      artifacts: options.artifacts,
      maxOngoing: options.maxOngoing,
      listen: this.#listen,
      member: options.remote?.member,
    });
    this.#restartStartTimer();
  }

  get state(): ReplicaState {
    return this.#work.state;
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  get ongoing(): number {
    return this.#work.ongoing;
  }

  get others(): number {
    return this.#work.others;
  }

  get address(): ReplicaAddress | undefined {
    return this.#address;
  }

  /** Its models, if it has many. */
  get models(): HeldModels {
    return this.#work.models;
  }

  /** Facts about the model from the implementation. */
  get info(): unknown {
    return this.#info;
  }

  /** Memory at the last health check; undefined while loading. */
  get memory(): ReplicaMemory | undefined {
    return this.#memory;
  }

  /** Stamp of the code that it runs; undefined before it is ready, and when unknown. */
  get code(): string | undefined {
    return this.#code;
  }

  /** Steps of the engine at the last health check. */
  get steps(): number {
    return this.#steps;
  }

  get uptimeMs(): number {
    return performance.now() - this.#startedAt;
  }

  call(method: string, args: Record<string, unknown>, options: RpcCallOptions): Promise<unknown> {
    return this.#work.call(method, args, options);
  }

  stream(
    method: string,
    args: Record<string, unknown>,
    options: RpcCallOptions,
  ): AsyncIterableIterator<unknown[], unknown> {
    return this.#work.stream(method, args, options);
  }

  setBounds(maxOngoing: number): void {
    this.#socket.send({ type: 'bounds', maxOngoing });
  }

  async reconfigure(spec: unknown): Promise<void> {
    await this.#work.reconfigure(spec);
  }

  /**
   * Stops the replica and resolves when the process is gone. Running calls may finish for `graceMs`; the rest fail with
   * a `ReplicaLostError`. The process gets a shutdown message, then SIGKILL. When called again, the shorter grace
   * applies and the first `reason` is kept.
   */
  async stop(graceMs: number, reason = 'it was told to stop'): Promise<void> {
    await this.#work.drain(graceMs, this.exited, reason);
    this.#endReason ??= reason;
    await (this.#ending ??= this.#end());
  }

  /** Kills the process. The first `reason` is kept. */
  kill(reason: string): void {
    if (this.#work.state === 'exited' || this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#endReason ??= reason;
    this.#child.kill('SIGKILL');
  }

  async #end(): Promise<void> {
    this.#socket.send({ type: 'shutdown' });
    if (await within(this.exited, CLOSE_TIMEOUT_MS)) return;
    this.kill('it did not stop when told to');
    await this.exited;
  }

  #onFrame(frame: ReplicaFrame): void {
    switch (frame.type) {
      case 'ready':
        this.#info = frame.info;
        this.#onMemory(frame.memory);
        this.#code = frame.code;
        this.#address = frame.listens;
        this.#onReady();
        return;
      case 'failed': {
        const { message } = fromErrorRecord(frame.error);
        this.#lastWords = message;
        this.#started.resolve({ ok: false, final: true, reason: message });
        return;
      }
      case 'progress':
        this.#restartStartTimer();
        this.#options.onProgress?.(frame.fraction, frame.text);
        return;
      case 'log':
        if (frame.level === 'error')
          this.#lastWords = typeof frame.fields['error'] === 'string' ? frame.fields['error'] : frame.message;
        this.#log[frame.level]?.(frame.message, frame.fields);
        return;
      case 'pong':
        this.#steps = frame.steps;
        this.#onMemory(frame.memory);
        this.#health.onAnswer(frame);
        return;
      case 'models':
        this.#work.models.told(frame.ids);
        this.#options.onModels?.();
        return;
      case 'load':
        this.#work.told(frame.others);
        return;
      case 'metrics':
        this.#options.onMetrics?.(frame.metrics);
        return;
      default:
        this.#work.onFrame(frame);
    }
  }

  /** Called when the process is ending or can no longer be reached. */
  async #onSocketClosed(error: Error | undefined): Promise<void> {
    this.#socketClosed.resolve();
    this.#work.enter('drain');
    if (error) this.kill(error.message);
    else if (!(await within(this.exited, EXIT_AFTER_CLOSE_MS))) this.kill('it closed its socket');
  }

  #onReady(): void {
    clearTimeout(this.#startTimer);
    if (!this.#work.enter('loaded')) return;
    this.#log.info('replica ready', { deployment: this.#options.deployment, load_ms: Math.round(this.uptimeMs) });
    this.#health.start();
    this.#started.resolve({ ok: true });
  }

  #onMemory(memory: ReplicaMemory | undefined): void {
    if (!memory) return;
    this.#memory = memory;
    this.#options.onMemory?.(memory);
  }

  #restartStartTimer(): void {
    clearTimeout(this.#startTimer);
    if (this.#work.state !== 'starting') return;
    const { startTimeoutMs } = this.#options;
    this.#startTimer = setTimeout(
      () => this.kill(`it was not ready after ${startTimeoutMs / 1000} s without progress`),
      startTimeoutMs,
    );
  }

  async #onGone(code: number | null, signal: NodeJS.Signals | null, spawnError?: string): Promise<void> {
    clearTimeout(this.#startTimer);
    this.#health.stop();
    if (!this.#work.enter('exit')) return; // leaves the pool first
    // Frames that it sent before its end must still be read.
    await within(this.#socketClosed.promise, SOCKET_TIMEOUT_MS);
    this.#socket.destroy();
    if (this.#listen) await rm(this.#listen.socket, { force: true }).catch(() => {});
    const how = spawnError ?? (signal ? `it was ended by ${signal}` : `it exited with code ${code}`);
    const exit: ReplicaExit = {
      reason: this.#endReason ?? withDetail(how, this.#lastWords ?? this.#lines.last),
      lastLines: this.#lines.all.slice(-KEPT_LINES),
    };
    this.#work.lose(signal, this.#endReason ?? (signal ? `it was ended by ${signal}` : 'it exited'));
    this.#started.resolve({ ok: false, final: false, reason: exit.reason });
    this.#log.debug('replica process gone', { code, signal, uptime_ms: Math.round(this.uptimeMs) });
    this.#exited.resolve(exit);
  }

  #followOutput(): void {
    const onLine = (line: string): void => this.#log.debug('replica wrote', { line });
    if (this.#child.stdout) this.#lines.follow(this.#child.stdout, onLine);
    if (this.#child.stderr) this.#lines.follow(this.#child.stderr, onLine);
  }
}

/** Returns an address that no other process has. The system chooses the port at `host`. */
function newAddress(dir: string, host: string | undefined): ReplicaAddress {
  return {
    socket: socketPathIn(dir, randomSuffix() + REPLICA_SOCKET),
    token: randomBytes(32).toString('hex'),
    ...(host !== undefined && { tcp: { host, port: 0 } }),
  };
}

function socketOf(child: ChildProcess): Duplex {
  const socket = child.stdio[3];
  if (!(socket instanceof Duplex)) throw fail('ReplicaStartError', 'the replica process has no socket');
  return socket;
}

function withDetail(how: string, detail: string | undefined): string {
  return detail === undefined ? how : `${how}: ${detail}`;
}
