import type { Socket } from 'node:net';
import { raceAbort } from '../../../base/core/abort.ts';
import { fail, toErrorRecord } from '../../../base/core/errors.ts';
import { newId } from '../../../base/core/ids.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import { check } from '../../../inference/deployments/index.ts';
import {
  type BeatFrame,
  CallServer,
  FrameSocket,
  type HostFrame,
  type ServedMethod,
  type ReplicaFrame,
} from '../../../inference/rpc/index.ts';
import type { ControlHandlers, SessionContext } from './handlers.ts';
import { type ControlOperation, type Greeting, operations } from '../protocol.ts';

type CallFrame = Extract<HostFrame, { type: 'call' }>;

export interface SessionOptions {
  readonly handlers: ControlHandlers;
  readonly log: Logger;
  readonly greeting: Greeting;
  /** Whether the process is on another machine. */
  readonly isRemote: boolean;
  readonly onClose: () => void;
}

/** Time in which a process may read its last answers when the server ends. */
const LAST_WORDS_MS = 1000;

/**
 * The server's end of the connection to one attached process. It uses the same frames as host and replicas: many calls
 * at once, and streams at the speed of their readers. When the process ends, its calls are cancelled and its resources
 * are disposed.
 */
export class ControlSession {
  readonly #log: Logger;
  readonly #socket: FrameSocket<HostFrame | BeatFrame, ReplicaFrame>;
  readonly #isRemote: boolean;
  readonly #onSilence = new Set<(isSilent: boolean) => void>();
  readonly #calls: CallServer;
  readonly #open = new Set<number>();
  /** Open calls that end by themselves. */
  readonly #ending = new Set<number>();
  readonly #kept = new Map<string, AsyncDisposable>();
  readonly #closed: Promise<void>;
  #isClosed = false;
  #onIdle: (() => void) | undefined;

  constructor(connection: Socket, { handlers, log, greeting, isRemote, onClose }: SessionOptions) {
    this.#log = log;
    this.#isRemote = isRemote;
    this.#closed = new Promise((resolve) => connection.once('close', () => resolve()));
    this.#socket = new FrameSocket(connection, {
      onFrame: (frame) => this.#onFrame(frame),
      onSilence: (isSilent) => {
        for (const tell of this.#onSilence) tell(isSilent);
      },
      onClose: (error) => {
        if (error) log.warn('a control connection was ended', { reason: error.message });
        this.#release();
        onClose();
      },
    });
    this.#calls = new CallServer(methodsOf(handlers, this.#context()), (frame) => this.#socket.send(frame));
    this.#socket.send({ type: 'ready', info: greeting });
    if (isRemote) this.#socket.beat({ endsSilent: true });
  }

  async close(): Promise<void> {
    const last = async (): Promise<void> => {
      if (this.#ending.size > 0) await new Promise<void>((resolve) => (this.#onIdle = resolve));
      await this.#socket.flushed();
    };
    await raceAbort(Promise.race([last(), this.#closed]), AbortSignal.timeout(LAST_WORDS_MS)).catch(() => {});
    this.#socket.destroy();
    await this.#closed;
  }

  #onFrame(frame: HostFrame | BeatFrame): void {
    switch (frame.type) {
      case 'beat': // the first one
        this.#socket.beat({ endsSilent: this.#isRemote });
        return;
      case 'call':
        void this.#run(frame);
        return;
      case 'cancel':
      case 'ack':
      case 'feed':
      case 'fed':
        this.#calls.onRequest(frame);
        return;
      default:
        throw fail(
          'ControlProtocolError',
          `received a frame of type ${frame.type}, which attached processes must not send`,
        );
    }
  }

  async #run(frame: CallFrame): Promise<void> {
    const mistake = mistakeOf(frame, this.#open);
    if (mistake !== undefined) {
      const error = fail('ControlProtocolError', mistake);
      this.#socket.send({ type: 'error', id: frame.id, error: toErrorRecord(error) });
      return;
    }
    this.#open.add(frame.id);
    if (frame.feed === undefined) this.#ending.add(frame.id);
    await this.#calls.run(frame);
    this.#open.delete(frame.id);
    this.#ending.delete(frame.id);
    if (this.#ending.size === 0) this.#onIdle?.();
  }

  #context(): SessionContext {
    return {
      isRemote: this.#isRemote,
      onSilence: (listener) => {
        this.#onSilence.add(listener);
        return () => this.#onSilence.delete(listener);
      },
      keep: (resource) => {
        const id = newId();
        if (this.#isClosed) void this.#dispose(resource);
        else this.#kept.set(id, resource);
        return id;
      },
      drop: async (id) => {
        const resource = this.#kept.get(id);
        this.#kept.delete(id);
        await resource?.[Symbol.asyncDispose]();
      },
    };
  }

  #release(): void {
    this.#isClosed = true;
    this.#calls.cancelAll();
    for (const resource of this.#kept.values()) void this.#dispose(resource);
    this.#kept.clear();
  }

  async #dispose(resource: AsyncDisposable): Promise<void> {
    try {
      await resource[Symbol.asyncDispose]();
    } catch (error) {
      this.#log.warn('a resource of an attached process was not removed', { error });
    }
  }
}

/** Returns why a call cannot be run, or undefined if it can. */
function mistakeOf({ id, method, stream, feed }: CallFrame, open: ReadonlySet<number>): string | undefined {
  if (open.has(id)) return `call number ${id} is already in use`;
  if (!Object.hasOwn(operations, method)) return `there is no operation ${method}; the application has another version`;
  const operation = operations[method as ControlOperation];
  if (operation.streams !== stream) return `the operation ${method} ${stream ? 'has a single answer' : 'is a stream'}`;
  return operation.feed === feed
    ? undefined
    : `the operation ${method} ${operation.feed === undefined ? 'takes no feed' : `needs the feed ${operation.feed}`}`;
}

/** Returns the operations as methods of a call server, which check their arguments. */
function methodsOf(handlers: ControlHandlers, session: SessionContext): Readonly<Record<string, ServedMethod>> {
  const names = Object.keys(operations) as ControlOperation[];
  return Object.fromEntries(
    names.map((operation): [string, ServedMethod] => {
      const handler = handlers[operation] as (
        args: unknown,
        context: unknown,
      ) => Promise<unknown> | AsyncIterable<unknown>;
      return [
        operation,
        ({ [operations[operation].feed ?? '']: fed = [], ...args }, context) =>
          handler(check(operations[operation].args, args, operation), {
            ...session,
            ...context,
            fed,
            requestId: context.requestId ?? newId(),
          }),
      ];
    }),
  );
}
