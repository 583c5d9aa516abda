import { readArtifact } from '../../../io/artifacts/index.ts';
import { type Clock, within } from '../../../base/core/clock.ts';
import { fromWireContext } from '../../../base/core/request-context.ts';
import { type CallAnswer, type CallRequest, type HostFrame, isCallRequest, READ_ARTIFACT } from '../../rpc/frames.ts';
import { CALL_NOT_BEGUN, CallClient, type RpcCallOptions } from '../../rpc/call-client.ts';
import { CallServer } from '../../rpc/call-server.ts';
import type { CallContext, ServedMethods } from '../../rpc/method.ts';
import { HeldModels } from '../pool/held-models.ts';
import { replicaLost } from './replica-lost.ts';
import { nextState, type ReplicaEvent, type ReplicaState } from './replica-state.ts';
import { deferred } from '../../../base/core/deferred.ts';

export interface ReplicaWorkOptions {
  readonly deployment: string;
  readonly name: string;
  readonly clock: Clock;
  /** What the replica may call. Default: nothing. */
  readonly served?: ServedMethods | undefined;
  /** Folders of the artifacts of this host. Default: there are none. */
  readonly artifactRoots?: readonly string[] | undefined;
  send(frame: HostFrame): void;
  /** Called when the number of calls of other hosts has changed. */
  readonly onLoad?: (() => void) | undefined;
  /** Called after each change of state and before its consequences. */
  onState?: ((state: ReplicaState) => void) | undefined;
}

/** The state of a replica and its calls, without the process, so that simulated replicas run the same code. */
export class ReplicaWork {
  readonly #options: ReplicaWorkOptions;
  readonly #connection: CallClient;
  /** Runs the calls of the replica. */
  readonly #server: CallServer;
  readonly #idle = deferred();
  readonly #ownEnded = deferred();
  /** Its models, if it has many. */
  readonly models = new HeldModels();
  #state: ReplicaState = 'starting';
  /** Calls of this host. */
  #own = 0;
  #others = 0;

  constructor(options: ReplicaWorkOptions) {
    this.#options = options;
    this.#connection = new CallClient(
      (frame) => options.send(frame),
      (id) => this.#server.cancelStreamsOf(id), // nobody reads them any more
    );
    this.#server = new CallServer(
      { ...options.served, [READ_ARTIFACT]: (asked, context) => this.#readArtifact(asked, context) },
      (frame) => options.send(frame),
      {
        contextOf: ({ context, parent }) => {
          const meter = parent === undefined ? undefined : this.#connection.meterOf(parent);
          return Object.assign(fromWireContext(context), meter && { meter });
        },
      },
    );
  }

  get state(): ReplicaState {
    return this.#state;
  }

  /** Number of calls on the replica, of all hosts, including cancelled calls that it has not ended yet. */
  get ongoing(): number {
    return this.#own + this.#others;
  }

  /** Those of other hosts, and places that the replica keeps for them. */
  get others(): number {
    return this.#others;
  }

  /** Called with what the replica tells of other hosts. */
  told(others: number): void {
    this.#others = others;
    this.#onFewer();
    this.#options.onLoad?.();
  }

  call(method: string, args: Record<string, unknown>, options: RpcCallOptions): Promise<unknown> {
    return this.#connection.call(method, args, this.#counted(options));
  }

  stream(
    method: string,
    args: Record<string, unknown>,
    options: RpcCallOptions,
  ): AsyncIterableIterator<unknown[], unknown> {
    return this.#connection.stream(method, args, this.#counted(options));
  }

  async reconfigure(spec: unknown): Promise<void> {
    await this.#connection.reconfigure(spec);
  }

  onFrame(frame: CallAnswer | CallRequest): void {
    if (isCallRequest(frame)) this.#server.onRequest(frame);
    else this.#connection.onAnswer(frame);
  }

  /** Applies the event. Returns false when it is invalid in this state. */
  enter(event: ReplicaEvent): boolean {
    const next = nextState(this.#state, event);
    if (!next) return false;
    this.#state = next;
    this.#options.onState?.(next);
    return true;
  }

  /**
   * Takes no more calls. Running calls may finish for `graceMs` or until `exited`. The rest then fail with a
   * `ReplicaLostError`, so that they are repeated on another replica; the replica itself would answer them as
   * cancelled. When called again, the shorter grace applies.
   */
  async drain(graceMs: number, exited: Promise<unknown>, reason: string): Promise<void> {
    this.enter('drain');
    if (this.#state !== 'draining') return;
    if (this.ongoing > 0) await within(Promise.race([this.#idle.promise, exited]), graceMs, this.#options.clock);
    if (this.enter('drained')) this.#fail(null, reason, true);
  }

  /** Takes no more calls. Resolves when those of this host have ended. */
  async finish(): Promise<void> {
    this.enter('drain');
    if (this.#own > 0 && this.#state === 'draining') await this.#ownEnded.promise;
  }

  /** Takes back the calls that the replica has not begun. They fail with `CALL_NOT_BEGUN`. */
  withdraw(): void {
    this.#connection.withdraw();
  }

  /** Fails all open calls with `error`, or with `notBegun` if the replica has not begun the call. */
  failAll(error: () => Error, notBegun?: () => Error): void {
    this.#server.cancelAll(); // their results have no use any more
    this.#connection.failAll(error, notBegun);
  }

  /**
   * Called when the replica tells that it ends for a reason that has nothing to do with its calls. Those that it has
   * begun fail with a `ReplicaLostError`.
   */
  leave(reason: string): void {
    this.enter('drain');
    if (this.enter('drained')) this.#fail(null, reason, true);
  }

  /** Fails all open calls as {@link leave} does. Called when the process is gone. */
  lose(signal: NodeJS.Signals | null, how: string): void {
    this.#fail(signal, how, false);
  }

  /** Answers for the call that asks, so that a replica gets only what its calls name. */
  #readArtifact(asked: Record<string, unknown>, { parent, signal }: CallContext): Promise<Uint8Array> {
    const args = parent === undefined ? undefined : this.#connection.argsOf(parent);
    return readArtifact(args, asked, this.#options.artifactRoots ?? [], signal);
  }

  #fail(signal: NodeJS.Signals | null, how: string, planned: boolean): void {
    const { deployment, name } = this.#options;
    const lost = (): Error => replicaLost({ deployment, replica: name, signal, how, planned });
    this.failAll(lost, () => CALL_NOT_BEGUN);
  }

  #counted(options: RpcCallOptions): RpcCallOptions {
    const { multiplexedModelId: model } = options;
    this.#own += 1;
    if (model !== undefined) this.models.begin(model);
    return {
      ...options,
      onSettled: (loss) => {
        this.#own -= 1;
        if (model !== undefined) this.models.end(model);
        this.#onFewer();
        options.onSettled?.(loss);
      },
    };
  }

  #onFewer(): void {
    if (this.#state !== 'draining') return;
    if (this.#own === 0) this.#ownEnded.resolve();
    if (this.ongoing === 0) this.#idle.resolve();
  }
}
