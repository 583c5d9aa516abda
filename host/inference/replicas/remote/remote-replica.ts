import type { Clock } from '../../../base/core/clock.ts';
import type { RpcCallOptions } from '../../rpc/call-client.ts';
import type { FrameListener } from '../../rpc/frame-socket.ts';
import { type DataAnswer, type DataRequest, protocolError, type ReplicaAddress } from '../../rpc/frames.ts';
import type { ServedMethods } from '../../rpc/method.ts';
import type { HeldModels } from '../pool/held-models.ts';
import type { ReplicaState } from '../process/replica-state.ts';
import { ReplicaWork } from '../process/replica-work.ts';
import type { CalledReplica } from '../process/running-replica.ts';

/** The connection to a replica. */
export interface ReplicaConnection {
  send(frame: DataRequest): void;
  close(): void;
}

/** Connects to a replica. The listener learns of a failure, too. */
export type ConnectReplica = (address: ReplicaAddress, listener: FrameListener<DataAnswer>) => ReplicaConnection;

export interface RemoteReplicaOptions {
  readonly deployment: string;
  readonly name: string;
  readonly address: ReplicaAddress;
  readonly clock: Clock;
  /** What the replica may call in this host. */
  readonly served: ServedMethods;
  /** Folders of the artifacts of this host. Default: there are none. */
  readonly artifactRoots?: readonly string[] | undefined;
  readonly connect: ConnectReplica;
  /** Called when it takes calls, and when it takes none any more. */
  onState(state: ReplicaState): void;
  /** Called when the number of calls of other hosts has changed. */
  onLoad(): void;
  /** Called when it takes no calls because it is silent, and when it takes calls again. */
  onSilence(isSilent: boolean): void;
  /**
   * Resolves when it is clear why the connection has ended: when the process that started the replica ends, the calls
   * fail with that.
   */
  untilClear(): Promise<void>;
  /** Called once when the connection has ended, and its calls have failed. */
  onClosed(): void;
}

/** A replica that another process has started, over a connection of this host's own. */
export class RemoteReplica implements CalledReplica {
  readonly name: string;
  readonly #options: RemoteReplicaOptions;
  readonly #work: ReplicaWork;
  readonly #connection: ReplicaConnection;
  #isSilent = false;

  constructor(options: RemoteReplicaOptions) {
    const { deployment, name, clock, served, artifactRoots, onState, onLoad, connect: open, address } = options;
    this.#options = options;
    this.name = name;
    this.#work = new ReplicaWork({
      ...{ deployment, name, clock, served, artifactRoots, onState, onLoad },
      send: (frame) => this.#connection.send(frame as DataRequest), // it starts and reconfigures nothing
    });
    this.#connection = open(address, {
      onFrame: (frame) => this.#onFrame(frame),
      onClose: (error) => void this.#onClose(error),
      onSilence: (isSilent) => this.#onSilence(isSilent),
    });
    this.#connection.send({ type: 'hello', token: address.token });
  }

  get ongoing(): number {
    return this.#work.ongoing;
  }

  get others(): number {
    return this.#work.others;
  }

  get models(): HeldModels {
    return this.#work.models;
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

  /** Takes no more calls, and ends the connection when the last one has ended. */
  async retire(): Promise<void> {
    await this.#work.finish();
    this.#connection.close();
  }

  /** Ends the connection. Calls that have not ended fail with `error`. */
  close(error: () => Error): void {
    this.#work.enter('drain');
    this.#work.failAll(error);
    this.#connection.close();
  }

  #onFrame(frame: DataAnswer): void {
    if (frame.type === 'shutdown') this.#work.leave('it was told to stop');
    else if (frame.type !== 'load') this.#work.onFrame(frame);
    else if (Number.isSafeInteger(frame.others) && frame.others >= 0) {
      this.#work.enter('loaded');
      this.#work.told(frame.others);
    } else throw protocolError('received a load that is no count');
  }

  /** Gives calls that a silent replica has not begun to others. Those that it has begun may go on. */
  #onSilence(isSilent: boolean): void {
    if (this.#work.state !== 'ready' || isSilent === this.#isSilent) return;
    this.#isSilent = isSilent;
    this.#options.onSilence(isSilent);
    if (isSilent) this.#work.withdraw();
  }

  async #onClose(error: Error | undefined): Promise<void> {
    this.#work.enter('exit'); // leaves the pool first
    await this.#options.untilClear();
    this.#work.lose(null, error?.message ?? 'its connection ended');
    this.#options.onClosed();
  }
}
