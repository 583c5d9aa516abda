import { createHash, timingSafeEqual } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { within } from '../../../base/core/clock.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import { FrameSocket } from '../../rpc/frame-socket.ts';
import {
  type DataAnswer,
  type DataRequest,
  isCallAnswer,
  isCallRequest,
  protocolError,
  type ReplicaAddress,
} from '../../rpc/frames.ts';
import type { Connection, Connections } from './connections.ts';

/** What a host may send before it is known: the time for it, and the bytes of its one frame. */
const HELLO_MS = 5000;
const HELLO_BYTES = 512;
const MAX_CONNECTIONS = 4096;
const LAST_WORDS_MS = 500;

/** Listens for hosts that call this replica directly. */
export class HostListener {
  readonly #token: Buffer;
  readonly #connections: Connections;
  readonly #log: Logger;
  readonly #sockets = new Set<FrameSocket<DataRequest, DataAnswer>>();
  readonly #server = createServer((socket) => this.#take(socket));

  private constructor(token: string, connections: Connections, log: Logger) {
    this.#token = digest(token);
    this.#connections = connections;
    this.#log = log;
    this.#server.maxConnections = MAX_CONNECTIONS;
  }

  /** Listens on the socket, which only this user can open. Rejects with the error of the system. */
  static async open({ socket, token }: ReplicaAddress, connections: Connections, log: Logger): Promise<HostListener> {
    const listener = new HostListener(token, connections, log);
    mkdirSync(dirname(socket), { recursive: true, mode: 0o700 });
    const server = listener.#server;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      // `listen` makes the socket before anything else can run.
      const before = process.umask(0o177);
      try {
        server.listen(socket, resolve);
      } finally {
        process.umask(before);
      }
    });
    server.on('error', (error) => log.warn('a host could not connect', { error }));
    return listener;
  }

  /**
   * Tells all hosts that this replica ends as it was told. Resolves when that has left this process, or when a host
   * does not read.
   */
  async leave(): Promise<void> {
    this.#server.close();
    for (const socket of this.#sockets) socket.send({ type: 'shutdown' });
    await within(Promise.all([...this.#sockets].map((socket) => socket.flushed())), LAST_WORDS_MS);
  }

  #take(connection: Socket): void {
    let host: Connection | undefined;
    const socket = new FrameSocket<DataRequest, DataAnswer>(
      connection,
      {
        onFrame: (frame) => {
          if (host && (isCallRequest(frame) || isCallAnswer(frame))) host.onFrame(frame);
          else if (host || frame.type !== 'hello') throw protocolError(`a host must not send ${frame.type} now`);
          else if (!timingSafeEqual(digest(frame.token), this.#token)) throw protocolError('the token is wrong');
          else {
            clearTimeout(timer);
            socket.receiveAll();
            this.#sockets.add(socket);
            host = this.#connections.add(
              (answer) => socket.send(answer),
              () => socket.drained,
            );
          }
        },
        onClose: (error) => {
          clearTimeout(timer);
          this.#sockets.delete(socket);
          host?.close();
          if (error) this.#log.warn('a connection of a host was closed', { reason: error.message });
        },
      },
      HELLO_BYTES,
    );
    const timer = setTimeout(() => socket.destroy(), HELLO_MS);
  }
}

/** Digests have the same length, which the comparison needs. */
const digest = (token: string): Buffer => createHash('sha256').update(token).digest();
