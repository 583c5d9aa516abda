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
export class IncomingMessages extends AsyncQueue<SocketMessage> {
  readonly #client: Pausable;
  readonly #maxBytes: number;
  #waitingBytes = 0;
  #isPaused = false;
  #isOver = false;

  constructor(client: Pausable, maxBytes: number) {
    super();
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

  override push(message: SocketMessage): void {
    if (this.#isOver) return;
    this.#waitingBytes += sizeOf(message);
    super.push(message);
    if (this.#isPaused || this.#waitingBytes <= this.#maxBytes) return;
    this.#isPaused = true;
    this.#client.pause();
  }

  /** Ends the messages after those that wait. Further ones are dropped. */
  override end(): void {
    this.#isOver = true;
    super.end();
    this.#resume();
  }

  /** Fails the reading after the messages that wait. Further ones are dropped. */
  override fail(reason: unknown): void {
    this.#isOver = true;
    super.fail(reason);
    this.#resume();
  }

  override async next(): Promise<IteratorResult<SocketMessage, undefined>> {
    const step = await super.next();
    if (step.done === true) return step;
    this.#waitingBytes -= sizeOf(step.value);
    if (this.#waitingBytes <= this.#maxBytes / 2) this.#resume();
    return step;
  }

  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#client.resume();
  }
}
