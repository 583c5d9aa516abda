import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Connection } from './pending-answers.ts';
import type { Contain } from './containing.ts';
import { holdBody } from './continue.ts';
import { type Refusal, REFUSALS } from './refusals.ts';
import { asksFor, requestClass, stopsParser, takeConnection, type UpgradeListener } from './upgrades.ts';

export type RequestListener = (req: IncomingMessage, res: ServerResponse) => unknown;

export interface ConnectionsOptions {
  readonly callback: RequestListener;
  readonly upgrade: UpgradeListener | undefined;
  /** The protocol that `upgrade` takes. */
  readonly protocol: string;
  readonly contain: Contain;
}

/** The connections of a server. Hands over their requests in order, and refuses those that no handler may see. */
export class Connections {
  /** The class of the server's requests. */
  readonly Request: typeof IncomingMessage;
  readonly #options: ConnectionsOptions;
  readonly #open = new Map<Socket, Connection>();
  #isClosing = false;

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.Request = requestClass((req) => this.#opensSocket(req));
  }

  /** Listens to a server that has this class of requests. `event` is the one with which it takes a connection. */
  listen(server: Server, event: 'connection' | 'secureConnection'): void {
    const { contain, callback, upgrade, protocol } = this.#options;
    const ofRequest = ({ socket }: IncomingMessage): Socket => socket;
    const take = (req: IncomingMessage, res: ServerResponse): unknown => {
      const isLate = upgrade && stopsParser(req) && asksFor(req, protocol); // otherwise it would have been handed over
      return this.#takes(req, res, isLate ? REFUSALS.socket : undefined) ? callback(req, res) : undefined;
    };
    server.on('request', contain(take, ofRequest));
    const takeHeld = (req: IncomingMessage, res: ServerResponse): unknown => {
      holdBody(req);
      return take(req, res);
    };
    server.on('checkContinue', contain(takeHeld, ofRequest));
    const refuseExpectation = (req: IncomingMessage, res: ServerResponse): void =>
      this.#of(req.socket).refuse(REFUSALS.expectation(req), res);
    server.on('checkExpectation', contain(refuseExpectation, ofRequest));
    const handOver = (req: IncomingMessage, socket: Socket, head: Buffer): unknown => {
      const res = takeConnection(req, socket, head);
      return this.#takes(req, res) ? upgrade?.(req, res) : undefined;
    };
    server.on('upgrade', contain(handOver, ofRequest));
    const refuseRest = (error: NodeJS.ErrnoException, socket: Socket): void => {
      if (error.code === 'ECONNRESET' || !this.#open.has(socket)) socket.destroy();
      else this.#of(socket).refuseRest(REFUSALS.broken(error));
    };
    server.on(
      'clientError',
      contain(refuseRest, (_, socket) => socket),
    );
    const add = (socket: Socket): void => {
      this.#open.set(socket, new Connection(socket));
      socket.once(
        'close',
        contain(
          () => this.#remove(socket),
          () => socket,
        ),
      );
    };
    server.on(
      event,
      contain(add, (socket) => socket),
    );
  }

  /** Makes each further answer the last one of its connection. */
  close(): void {
    this.#isClosing = true;
  }

  /** Ends the connections without a request. Browsers open such connections in advance. */
  destroyUnused(): void {
    for (const [socket, { isUnused }] of this.#open) if (isUnused) socket.destroy();
  }

  /** Whether a handler may see a request. Refuses it otherwise. */
  #takes(req: IncomingMessage, res: ServerResponse, otherwise?: Refusal): boolean {
    const connection = this.#of(req.socket);
    if (connection.isEnding) return false;
    const refusal = refusalOf(req) ?? otherwise;
    if (refusal) connection.refuse(refusal, res);
    else {
      connection.take(res);
      if (this.#isClosing || stopsParser(req)) connection.endAfter(res);
    }
    return refusal === undefined;
  }

  #opensSocket(req: IncomingMessage): boolean {
    const hasBody = req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;
    const { upgrade, protocol } = this.#options;
    return upgrade !== undefined && asksFor(req, protocol) && !hasBody && this.#of(req.socket).isIdle;
  }

  #of(socket: Socket): Connection {
    const known = this.#open.get(socket);
    if (known) return known;
    throw new Error('a request has come on a connection that is not open');
  }

  #remove(socket: Socket): void {
    this.#open.get(socket)?.closed();
    this.#open.delete(socket);
  }
}

/** Returns why no handler may see a request. */
function refusalOf({ method, headers, httpVersion }: IncomingMessage): Refusal | undefined {
  if (method === 'CONNECT') return REFUSALS.connect;
  return headers.host === undefined && httpVersion === '1.1' ? REFUSALS.host : undefined;
}
