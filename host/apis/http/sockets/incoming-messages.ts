import { AsyncQueue } from '../../../base/core/async/async-queue.ts';
import type { SocketMessage } from './socket-route.ts';

/** Memory of a message besides its content, so that many empty messages count, too. */
const MESSAGE_BYTES = 64;

const sizeOf = (message: SocketMessage): number => Buffer.byteLength(message) + MESSAGE_BYTES;

/** The part of a WebSocket that stops and continues the reading from the client. */
export interface Pausable {
  pause(): void;
  resume(): void;
}

/** The messages between a client and the protocol. The client is paused while more than `maxBytes` wait. */
export class IncomingMessages implements AsyncIterableIterator<SocketMessage, undefined> {
  readonly #queue = new AsyncQueue<SocketMessage>(() => this.#resume());
  readonly #client: Pausable;
  readonly #maxBytes: number;
  #waitingBytes = 0;
  #isPaused = false;
  #isOver = false;

  constructor(client: Pausable, maxBytes: number) {
    this.#client = client;
    this.#maxBytes = maxBytes;
  }

  /** Whether the client is paused because the protocol does not read. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Whether the protocol takes no more messages. */
  get isOver(): boolean {
    return this.#isOver;
  }

  push(message: SocketMessage): void {
    if (this.#isOver) return;
    this.#waitingBytes += sizeOf(message);
    this.#queue.push(message);
    if (this.#isPaused || this.#waitingBytes <= this.#maxBytes) return;
    this.#isPaused = true;
    this.#client.pause();
  }

  /** Ends the messages after those that wait. Further ones are dropped. */
  end(): void {
    this.#isOver = true;
    this.#queue.end();
    this.#resume();
  }

  /** Fails the reading after the messages that wait. Further ones are dropped. */
  fail(reason: unknown): void {
    this.#isOver = true;
    this.#queue.fail(reason);
    this.#resume();
  }

  async next(): Promise<IteratorResult<SocketMessage, undefined>> {
    const step = await this.#queue.next();
    if (step.done === true) return { value: undefined, done: true };
    this.#waitingBytes -= sizeOf(step.value);
    if (this.#waitingBytes <= this.#maxBytes / 2) this.#resume();
    return { value: step.value, done: false };
  }

  async return(): Promise<IteratorResult<SocketMessage, undefined>> {
    this.#isOver = true;
    await this.#queue.return();
    return { value: undefined, done: true };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#client.resume();
  }
}
