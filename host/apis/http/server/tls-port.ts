import type { Server as HttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { endWith } from './pending-answers.ts';
import type { Contain } from './containing.ts';
import { REFUSALS } from './refusals.ts';

/** The first byte of every TLS connection: a handshake record. */
const HANDSHAKE = 0x16;

/**
 * Connections of an HTTPS server before they are encrypted. Clients that speak plain HTTP are answered, so that they
 * see a reason instead of a broken connection. A client that sends nothing in time is cut off. `close` ends all of
 * them, because Node's server knows only encrypted connections and would wait for the others.
 */
export class TlsPort {
  readonly #open = new Map<string, Socket>();

  constructor(server: HttpsServer, { timeoutMs, contain }: { readonly timeoutMs: number; readonly contain: Contain }) {
    const encrypt = server.listeners('connection') as ((socket: Socket) => void)[];
    server.removeAllListeners('connection');
    const itself = (socket: Socket): Socket => socket;
    const decide = (socket: Socket): void => {
      const first = socket.read(1) as Buffer | null;
      if (!first) return void socket.destroy(); // the connection has ended
      socket.unshift(first);
      if (first[0] === HANDSHAKE) for (const listener of encrypt) listener.call(server, socket);
      else endWith(socket, REFUSALS.plain);
    };
    const take = (socket: Socket): void => {
      const name = nameOf(socket);
      this.#open.set(name, socket);
      const giveUp = (): void => void socket.destroy();
      const timer = setTimeout(giveUp, timeoutMs);
      const onEnd = (): void => {
        clearTimeout(timer);
        if (this.#open.get(name) === socket) this.#open.delete(name);
      };
      const onBytes = (): void => {
        clearTimeout(timer);
        socket.off('error', giveUp);
        decide(socket);
      };
      socket.on('error', giveUp);
      socket.once(
        'close',
        contain(onEnd, () => socket),
      );
      socket.once(
        'readable',
        contain(onBytes, () => socket),
      );
    };
    server.on('connection', contain(take, itself));
    server.on('tlsClientError', (_, socket) => socket.destroy()); // without a key nothing can be answered
    const forget = (socket: TLSSocket): void => void this.#open.delete(nameOf(socket));
    server.on('secureConnection', contain(forget, itself));
  }

  /** Ends the connections that are not encrypted yet. */
  close(): void {
    for (const socket of this.#open.values()) socket.destroy();
  }
}

/**
 * Returns the address of the other end, because Node offers no other link between an encrypted connection and the one
 * below it.
 */
function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
