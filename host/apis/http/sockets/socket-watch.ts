import { type AanaError, fail } from '../../../base/core/errors.ts';
import type { SocketLimits } from './sockets-options.ts';

export interface Watched {
  /** Whether the client is expected to send messages now. */
  isAwaitingMessages(): boolean;
  /** Whether the server reads nothing from the client, so that no answer to a ping can arrive. */
  isPaused(): boolean;
  ping(): void;
  /** Called once with the reason why the socket must end. */
  onExceeded(reason: AanaError): void;
}

/** Watches a socket for a client that has vanished, that sends nothing, or that stays too long. */
export class SocketWatch {
  readonly #pinging: NodeJS.Timeout;
  readonly #idle: NodeJS.Timeout;
  readonly #duration: NodeJS.Timeout;
  #isAlive = true;

  constructor(
    { ping_interval_s: pingS, idle_timeout_s: idleS, max_duration_s: longestS }: SocketLimits,
    { isAwaitingMessages, isPaused, ping, onExceeded }: Watched,
  ) {
    const end = (name: 'SocketLost' | 'SocketIdle' | 'SocketExpired', message: string): void => {
      this.stop();
      onExceeded(fail(name, message));
    };
    this.#pinging = setInterval(() => {
      if (!this.#isAlive && !isPaused())
        return end('SocketLost', `the client has not answered a ping for ${pingS} seconds`);
      this.#isAlive = isPaused(); // answers may wait unread, so the client gets a whole interval after a pause
      ping();
    }, pingS * 1000);
    this.#idle = setTimeout(() => {
      if (isAwaitingMessages() && !isPaused()) end('SocketIdle', `the client has sent nothing for ${idleS} seconds`);
      else this.#idle.refresh();
    }, idleS * 1000);
    this.#duration = setTimeout(
      () => end('SocketExpired', `a WebSocket may stay open for ${longestS} seconds: open another one`),
      longestS * 1000,
    );
  }

  /** Records that a message has arrived. */
  message(): void {
    this.#isAlive = true;
    this.#idle.refresh();
  }

  /** Records that the answer to a ping has arrived. */
  pong(): void {
    this.#isAlive = true;
  }

  stop(): void {
    clearInterval(this.#pinging);
    clearTimeout(this.#idle);
    clearTimeout(this.#duration);
  }
}
