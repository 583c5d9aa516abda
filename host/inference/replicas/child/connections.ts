import { type Clock, systemClock } from '../../../base/core/clock.ts';
import { cancelledError, fail, toErrorRecord } from '../../../base/core/errors.ts';
import { CallClient, type RpcCallOptions } from '../../rpc/call-client.ts';
import { CallServer, type CallServerOptions, type ServedCallFacts } from '../../rpc/call-server.ts';
import { type CallAnswer, type CallRequest, isCallAnswer, type LoadFrame, protocolError } from '../../rpc/frames.ts';
import type { ServedMethods } from '../../rpc/method.ts';
import type { StartContext } from '../process/implementation.ts';
import { SharedPlaces } from './shared-places.ts';

/** A frame about calls, in either direction. */
type Sent = CallRequest | CallAnswer | LoadFrame;

/** One connection, with the calls in both directions. */
export interface Connection {
  onFrame(frame: CallRequest | CallAnswer): void;
  /** Called when the other end is gone. Cancels its calls, and fails those that were made for them. */
  close(): void;
}

interface Open extends Connection {
  readonly client: CallClient;
  /** Whether the other end is still there. */
  isOpen: boolean;
  /** Returns its calls that have not ended. */
  running(): Iterable<ServedCallFacts>;
  cancelAll(): void;
}

/**
 * Numbers of calls of one connection. Each connection has its own, so that a call tells its connection. A thousand
 * calls in each second use them up in 35 years.
 */
const NUMBERS = 2 ** 40;

/** The connections of a replica. The first one is that of the process that started it. */
export class Connections {
  readonly #places: SharedPlaces;
  /** Those that are open, or have running calls. */
  readonly #open = new Map<number, Open>();
  #methods: ServedMethods | undefined;
  /** Called when a call has ended. */
  onEnded: (() => void) | undefined;
  /** What the implementation asks other deployments. A call for another call goes back over the connection of that. */
  readonly host: StartContext['host'] = {
    call: async (method, args, options = {}) => {
      const { client, call } = this.#clientFor(options);
      return client.call(method, args, { ...options, call });
    },
    stream: (method, args, options = {}) => {
      const { client, call } = this.#clientFor(options);
      return client.stream(method, args, { ...options, call });
    },
  };

  constructor(maxOngoing: number, clock: Clock = systemClock) {
    this.#places = new SharedPlaces(maxOngoing, clock);
  }

  setBounds(maxOngoing: number): void {
    this.#places.setBounds(maxOngoing);
  }

  /** Answers calls from now on. They are refused before. */
  serve(methods: ServedMethods): void {
    this.#methods = methods;
  }

  /**
   * `drained` returns what resolves when the other end has read most of what was sent; undefined if it has. Meanwhile
   * it is told of no calls of others. `readsFirst` is that of its calls, see {@link CallServerOptions}.
   */
  add(
    send: (frame: Sent) => void,
    { drained, ...server }: { drained?: () => Promise<void> | undefined } & Pick<CallServerOptions, 'readsFirst'> = {},
  ): Connection {
    let number = 0;
    while (this.#open.has(number)) number += 1;
    const client = new CallClient((frame) => send(frame as CallRequest)); // a replica reconfigures nobody
    const places = this.#places.connect((others) => send({ type: 'load', others }), drained);
    let answering: CallServer | undefined;
    const onEnded = (): void => this.onEnded?.();
    const onRequest = (frame: CallRequest): void => {
      const { id } = frame;
      if (!Number.isSafeInteger(id) || id < 0 || id >= NUMBERS) throw protocolError(`${id} is no number of a call`);
      if (this.#methods) {
        answering ??= new CallServer(this.#methods, send, {
          ...server,
          places,
          firstNumber: number * NUMBERS,
          onEnded,
        });
        answering.onRequest(frame);
      } else if (frame.type === 'call') {
        const error = fail('ReplicaNotReady', 'the replica is not ready');
        send({ type: 'error', id: frame.id, error: toErrorRecord(error) });
      }
    };
    const connection: Open = {
      client,
      isOpen: true,
      onFrame: (frame) => (isCallAnswer(frame) ? client.onAnswer(frame) : onRequest(frame)),
      running: () => answering?.running() ?? [],
      cancelAll: () => answering?.cancelAll(),
      close: () => {
        connection.isOpen = false;
        answering?.cancelAll();
        client.failAll(() => cancelledError('the caller is gone'));
        places.close(() => this.#open.delete(number));
      },
    };
    this.#open.set(number, connection);
    return connection;
  }

  /** Returns the calls of all connections that have not ended, also those that were cancelled. */
  *running(): Generator<ServedCallFacts, void> {
    for (const connection of this.#open.values()) yield* connection.running();
  }

  cancelAll(): void {
    for (const connection of this.#open.values()) connection.cancelAll();
  }

  /** Returns the connection of the call that the options name, with its number there. */
  #clientFor({ call }: RpcCallOptions): { readonly client: CallClient; readonly call: number | undefined } {
    const connection = this.#open.get(call === undefined ? 0 : Math.floor(call / NUMBERS));
    if (!connection?.isOpen) throw cancelledError('the caller is gone');
    return { client: connection.client, call: call === undefined ? undefined : call % NUMBERS };
  }
}
