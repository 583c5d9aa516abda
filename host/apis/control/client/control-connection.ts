import { type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { json } from 'node:stream/consumers';
import * as z from 'zod';
import { deferred } from '../../../base/core/deferred.ts';
import { flatMapped } from '../../../base/core/async/async-values.ts';
import { AanaError, fail } from '../../../base/core/errors.ts';
import { type RequestContext, requestContextOf } from '../../../base/core/request-context.ts';
import {
  FrameSocket,
  type HostFrame,
  type RpcCallOptions,
  CallClient,
  connectWithTls,
  isCallAnswer,
  type ReplicaFrame,
} from '../../../inference/rpc/index.ts';
import {
  type Address,
  type CallOperation,
  type ControlArgs,
  type ControlOperation,
  type ControlValue,
  FRAMES,
  Greeting,
  operations,
  type StreamOperation,
} from '../protocol.ts';
import { lostError, notAnswering } from './lost.ts';
import type { MemberAddress } from './member-address.ts';

export interface AskOptions extends RequestContext {
  readonly signal?: AbortSignal | undefined;
  /** Called with the part of the work that is done, from 0 to 1. */
  readonly onProgress?: ((fraction: number) => void) | undefined;
  /** Whether the process keeps running until the answer arrives. Default true. */
  readonly holdsProcess?: boolean | undefined;
  /** Values for the feed of the operation, if it has one. */
  readonly feed?: AsyncIterable<unknown> | undefined;
}

/** A server of this machine, or of another one of the cluster. */
export type ControlAddress = Address | MemberAddress;

/**
 * The longest wait for the greeting of a server. A stopped server (SIGSTOP) still accepts connections, but sends no
 * greeting.
 */
const GREETING_MS = 10_000;

/**
 * The client's end of a control socket. It carries any number of calls and streams. The process can exit while no call,
 * stream or wait is open.
 */
export class ControlConnection implements AsyncDisposable {
  readonly address: ControlAddress;
  /** Resolves when either side has ended the connection. */
  readonly closed: Promise<void>;
  readonly #connection: Socket;
  readonly #socket: FrameSocket<ReplicaFrame, HostFrame>;
  readonly #calls: CallClient;
  #version = '';
  #pid = 0;
  #holds = 0;
  #ending: AanaError | undefined;

  private constructor(address: ControlAddress, connection: Socket, onGreeting: (greeting: unknown) => void) {
    this.address = address;
    this.#connection = connection;
    const closed = deferred();
    this.closed = closed.promise;
    this.#calls = new CallClient((frame) => this.#socket.send(frame));
    this.#socket = new FrameSocket<ReplicaFrame, HostFrame>(connection, {
      onFrame: (frame) => {
        if (frame.type === 'ready') onGreeting(frame.info);
        else if (isCallAnswer(frame)) this.#calls.onAnswer(frame);
      },
      onClose: (error) => {
        this.#ending ??= error instanceof AanaError ? notUnderstood(address, error) : lostError(address, error);
        this.#calls.failAll(() => this.#ending ?? lostError(address));
        closed.resolve();
      },
    });
  }

  /** Connects to a server. Throws `NotRunning` if the server has ended or does not answer. */
  static async open(address: ControlAddress): Promise<ControlConnection> {
    const socket = await connected(address);
    const greeted = deferred<unknown>();
    const connection = new ControlConnection(address, socket, greeted.resolve);
    void connection.closed.then(() => greeted.reject(notAnswering(address, 'it closed the connection')));
    const timer = setTimeout(
      () => greeted.reject(notAnswering(address, `not within ${GREETING_MS / 1000} s`)),
      GREETING_MS,
    );
    try {
      const { data } = Greeting.safeParse(await greeted.promise);
      if (!data) throw notAnswering(address, 'it has another version');
      connection.#version = data.version;
      connection.#pid = data.pid ?? ('pid' in address ? address.pid : 0);
      if (data.beats) connection.#socket.beat({ endsSilent: 'membership' in address });
      socket.unref();
      return connection;
    } catch (error) {
      socket.destroy();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  async call<O extends CallOperation>(
    operation: O,
    args: ControlArgs<O>,
    options: AskOptions = {},
  ): Promise<ControlValue<O>> {
    if (this.#ending) throw this.#ending;
    const value = await this.#calls.call(operation, args as Record<string, unknown>, this.#ask(options));
    return this.#understood(operation, value);
  }

  /**
   * Calls a streaming operation. Each element has the values that arrived since the previous element. Returns what the
   * operation returned. Leaving the loop cancels the stream.
   */
  async *stream<O extends StreamOperation>(
    operation: O,
    args: ControlArgs<O>,
    options: AskOptions = {},
  ): AsyncGenerator<ControlValue<O>[], unknown, undefined> {
    if (this.#ending) throw this.#ending;
    const { feed: name } = operations[operation];
    const { feed: values = [] as never, ...others } = options;
    const asked = Object.assign(this.#ask(others), { feed: { name, values } });
    const batches = this.#calls.stream(operation, args as Record<string, unknown>, asked);
    return yield* flatMapped(batches, (batch) => [batch.map((value) => this.#understood(operation, value))]);
  }

  /** Version of the application. */
  get version(): string {
    return this.#version;
  }

  /** Id of the application's process on its machine. */
  get pid(): number {
    return this.#pid;
  }

  /** The error of all further calls, once the connection has ended. */
  get ending(): AanaError | undefined {
    return this.#ending;
  }

  /** Keeps the process running until the returned function is called. */
  hold(): () => void {
    this.#hold();
    return () => this.#letGo();
  }

  /** Resolves like {@link closed}, and keeps the process running until then. */
  async waitForEnd(): Promise<void> {
    this.#hold();
    await this.closed;
  }

  /** Ends the connection and cancels open calls and streams. May be called twice. */
  async close(): Promise<void> {
    this.#ending ??= fail('ConnectionClosed', `the connection to ${this.address.url} was closed by this process`);
    this.#socket.destroy();
    await this.closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #ask({ signal, onProgress, holdsProcess = true, ...context }: AskOptions): RpcCallOptions {
    const options = { ...requestContextOf(context), signal, onProgress };
    if (!holdsProcess) return options;
    return { ...options, onSettled: this.hold() };
  }

  #understood<O extends ControlOperation>(operation: O, value: unknown): ControlValue<O> {
    const { success, data } = operations[operation].value.safeParse(value);
    if (!success)
      throw fail(
        'OtherVersion',
        `the application at ${this.address.url} has another version: its answer to ${operation} has an unknown form`,
      );
    return data as ControlValue<O>;
  }

  #hold(): void {
    this.#holds += 1;
    if (!this.#connection.destroyed) this.#connection.ref(); // an ended socket would wait for another connection
  }

  #letGo(): void {
    this.#holds -= 1;
    if (this.#holds === 0 && !this.#connection.destroyed) this.#connection.unref();
  }
}

const Refusal = z.object({ error: z.literal('MembershipRefused'), message: z.string() });

/** Asks the server of the control socket for frames, and resolves to the connection. */
function connected(address: ControlAddress): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const over =
      'membership' in address
        ? { createConnection: () => connectWithTls(address.tcp, address.membership) }
        : { socketPath: address.socket, agent: false };
    const asked = request({
      ...{ ...over, path: '/', timeout: GREETING_MS },
      headers: { host: 'aana-host', connection: 'upgrade', upgrade: FRAMES },
    });
    asked.once('upgrade', (_answer, socket, head) => {
      socket.setTimeout(0);
      if (head.length > 0) socket.unshift(head);
      resolve(socket as Socket);
    });
    asked.once('response', (answer) => void refusalIn(address, answer).then(reject));
    asked.once('timeout', () => asked.destroy(notAnswering(address, `not within ${GREETING_MS / 1000} s`)));
    asked.on('error', (error) => reject(error instanceof AanaError ? error : notAnswering(address, error)));
    asked.end();
  });
}

/** Returns the error of a server that answers instead of changing the protocol. */
async function refusalIn(address: ControlAddress, answer: IncomingMessage): Promise<AanaError> {
  const { success, data } = Refusal.safeParse(await json(answer).catch(() => undefined));
  return success ? fail(data.error, data.message) : notAnswering(address, 'it has another version');
}

function notUnderstood({ url }: Pick<Address, 'url'>, cause: Error): AanaError {
  return fail('ConnectionLost', `the application at ${url} does not speak this version's protocol (${cause.message})`, {
    ...{ data: { url }, cause },
  });
}
