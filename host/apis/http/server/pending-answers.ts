import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Refusal, statusLineOf } from './refusals.ts';

/** Time that a client has to read the last answer. */
const LINGER_MS = 2000;

/**
 * The answers of one connection in the order of its requests. Node keeps the order of the answers to requests that it
 * hands to a handler. This class keeps refusals in the same order.
 */
export class Connection {
  readonly #socket: Socket;
  /** The answers that are not out yet. */
  readonly #pending = new Set<ServerResponse>();
  #last: ServerResponse | undefined;
  #isEnding = false;
  /** Continues a refusal that waits for pending answers. */
  #onAnswered: (() => void) | undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    // Node calls it after the last answer, and a client that still sends would see a reset.
    socket.destroySoon = () => hangUp(socket);
  }

  /** Whether nothing on this connection was requested yet. */
  get isUnused(): boolean {
    return this.#last === undefined;
  }

  /** Whether no request waits for its answer, and the connection takes further ones. */
  get isIdle(): boolean {
    return this.#pending.size === 0 && !this.#isEnding;
  }

  /** Whether the connection takes no more requests. */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** Records the answer to the request that has just arrived. */
  take(res: ServerResponse): void {
    this.#last = res;
    this.#pending.add(res);
    res.once('close', () => this.#answered(res));
  }

  /** Makes the answer to the request that has just arrived the last one: requests behind it get none. */
  endAfter(res: ServerResponse): void {
    this.#isEnding = true;
    res.setHeader('connection', 'close');
  }

  /**
   * Answers the request that has just arrived after all earlier ones, and ends the connection. `own` is the answer that
   * Node has made for this request. It is not used, unless a handler has begun it.
   */
  refuse(refusal: Refusal, own?: ServerResponse): void {
    if (this.#onAnswered) return;
    this.#isEnding = true;
    const isWaiting = (): boolean => [...this.#pending].some((res) => res !== own);
    if (isWaiting()) this.#endWithClient();
    this.#onAnswered = () => {
      if (isWaiting() || !this.#socket.writable) return;
      if (!own?.headersSent) endWith(this.#socket, refusal);
      else if (own.writableFinished) hangUp(this.#socket);
      else this.#socket.destroy();
    };
    this.#onAnswered();
  }

  /** Refuses what the client sends: the rest of the last request, or what comes behind it. */
  refuseRest(refusal: Refusal): void {
    this.refuse(refusal, this.#last?.req.complete === false ? this.#last : undefined);
  }

  /** Tells the answers that wait behind others that the connection has closed. Node tells it only the first one. */
  closed(): void {
    for (const res of this.#pending) if (!res.socket) res.emit('close');
  }

  /**
   * Ends the connection when the client does. Node does not look for that on a connection with a parser that failed.
   */
  #endWithClient(): void {
    if (this.#socket.readableEnded) this.#socket.end();
    else this.#socket.once('end', () => this.#socket.end());
  }

  #answered(res: ServerResponse): void {
    this.#pending.delete(res);
    this.#onAnswered?.();
  }
}

/** Writes a refusal to a connection, and ends it. */
export function endWith(socket: Socket, refusal: Refusal): void {
  const { error, message } = refusal;
  const body = JSON.stringify({ error, message, data: {}, stacktrace: null });
  const lines = [
    `HTTP/1.1 ${statusLineOf(refusal)}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  hangUp(socket, `${lines.join('\r\n')}\r\n\r\n${body}`);
}

/**
 * Ends a connection such that the client can read the last answer: drops what the client still sends, for a while.
 */
export function hangUp(socket: Socket, last = ''): void {
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
  socket.on('error', () => {}); // the client has left
  socket.end(last);
  socket.resume();
}
