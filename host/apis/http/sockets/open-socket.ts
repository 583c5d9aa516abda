import type { RawData, WebSocket } from 'ws';
import { raceAbort } from '../../../base/core/abort.ts';
import { contained } from '../../../base/core/net/contained.ts';
import { cancelledError } from '../../../base/core/errors.ts';
import type { RequestContext } from '../../../base/core/request-context.ts';
import { CLOSE_CODES, closeCodeOf, closeReasonOf } from './close-codes.ts';
import { IncomingMessages } from './incoming-messages.ts';
import type { SocketLimits } from './sockets-options.ts';
import type { SocketChannel } from './socket-route.ts';
import { SocketWatch } from './socket-watch.ts';

/** Time that a client has to answer a close frame. */
const CLOSE_MS = 2000;

/** The transport of one WebSocket: limits, pace in both directions, and its end. */
export class OpenSocket implements SocketChannel {
  readonly messages: IncomingMessages;
  readonly context: SocketChannel['context'];
  /** Resolves with the close code when the connection has ended; 1006 if there was no close frame. */
  readonly closed: Promise<number>;
  readonly #socket: WebSocket;
  readonly #ending = new AbortController();
  readonly #watch: SocketWatch;
  readonly #maxBufferedBytes: number;
  #isGoingAway = false;

  constructor(socket: WebSocket, context: RequestContext, limits: SocketLimits) {
    this.#socket = socket;
    this.#maxBufferedBytes = limits.max_buffered_bytes;
    this.context = { ...context, signal: this.#ending.signal };
    this.messages = new IncomingMessages(socket, limits.max_buffered_bytes);
    this.#watch = new SocketWatch(limits, {
      isAwaitingMessages: () => !this.messages.isOver,
      isPaused: () => this.messages.isPaused,
      ping: () => socket.ping(),
      onExceeded: (reason) => this.abort(reason),
    });
    const fail = (error: unknown): void => this.abort(error);
    const take = (data: RawData, isBinary: boolean): void => {
      this.#watch.message();
      this.messages.push(isBinary ? (data as Buffer) : String(data)); // `nodebuffer` is the type of binary messages
    };
    socket.on('message', contained(take, fail));
    socket.on(
      'pong',
      contained(() => this.#watch.pong(), fail),
    );
    const breakOff = (error: Error): void => {
      this.abort(cancelledError(`the client broke the protocol: ${error.message}`)); // `ws` has sent the close frame
      this.#terminateLater();
    };
    socket.on('error', contained(breakOff, fail));
    this.closed = new Promise((resolve) => {
      const end = (code: number): void => {
        this.#watch.stop();
        this.abort(cancelledError('the client closed the connection'));
        resolve(code);
      };
      socket.on(
        'close',
        contained(end, (error, code) => {
          fail(error);
          resolve(code);
        }),
      );
    });
  }

  readonly send = (value: unknown): Promise<void> => {
    const { signal } = this.#ending;
    const sent = new Promise<void>((resolve, reject) => {
      signal.throwIfAborted();
      this.#socket.send(JSON.stringify(value), (error) =>
        error ? reject(cancelledError(`the client closed the connection: ${error.message}`)) : resolve(),
      );
      if (this.#socket.bufferedAmount <= this.#maxBufferedBytes) resolve();
    });
    return raceAbort(sent, signal);
  };

  /** Ends the work for the socket. */
  abort(reason: unknown): void {
    if (this.#ending.signal.aborted) return;
    this.#ending.abort(reason);
    this.messages.fail(reason);
  }

  /** Ends the messages of the client, so that the protocol finishes what it has. */
  goAway(): void {
    this.#isGoingAway = true;
    this.messages.end();
  }

  /** Closes the socket after its protocol has ended. */
  finish(): void {
    this.#close(this.#isGoingAway ? CLOSE_CODES.goingAway : CLOSE_CODES.normal, '');
  }

  /** Closes the socket after its protocol has failed. `message` tells the client why. */
  fail(thrown: unknown, message: unknown): void {
    if (this.#socket.readyState === this.#socket.OPEN) this.#socket.send(JSON.stringify(message), () => {});
    this.#close(closeCodeOf(thrown), closeReasonOf(thrown));
  }

  /** Ends the connection at once. */
  terminate(): void {
    this.#socket.terminate();
  }

  #close(code: number, reason: string): void {
    this.#watch.stop();
    this.messages.end();
    this.#socket.close(code, reason);
    this.#terminateLater();
  }

  #terminateLater(): void {
    const timer = setTimeout(() => this.#socket.terminate(), CLOSE_MS);
    this.#socket.once('close', () => clearTimeout(timer));
  }
}
