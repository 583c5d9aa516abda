import { createHash, timingSafeEqual } from 'node:crypto';
import type { Server, Socket } from 'node:net';
import type { MemberFiles } from '../../../base/certificates/index.ts';
import { within } from '../../../base/core/clock.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import { sparing } from '../../../base/core/log/sparing.ts';
import { FrameSocket } from '../../rpc/frame-socket.ts';
import {
  type DataAnswer,
  type DataRequest,
  isCallAnswer,
  isCallRequest,
  protocolError,
  type ReplicaAddress,
  type TcpAddress,
} from '../../rpc/frames.ts';
import { listenOnSocket } from '../../rpc/transport/listen-on-socket.ts';
import type { Connection, Connections } from './connections.ts';

/** What a host may send before it is known: the time for it, and the bytes of its one frame. */
const HELLO_MS = 5000;
const HELLO_BYTES = 512;
const MAX_CONNECTIONS = 4096;
/** Connections to each of its addresses that have not begun with the token yet. */
const MAX_UNKNOWN = 256;
const LAST_WORDS_MS = 500;

/** Listens for hosts that call this replica directly. */
export class HostListener {
  readonly #token: Buffer;
  readonly #connections: Connections;
  readonly #log: Logger;
  readonly #sockets = new Set<FrameSocket<DataRequest, DataAnswer>>();
  readonly #servers: Server[] = [];

  private constructor(token: string, connections: Connections, log: Logger) {
    this.#token = digest(token);
    this.#connections = connections;
    this.#log = log;
  }

  /** Listens on the socket, which only this user can open. Rejects with the error of the system. */
  static async open({ socket, token }: ReplicaAddress, connections: Connections, log: Logger): Promise<HostListener> {
    const listener = new HostListener(token, connections, log);
    listener.#add(await listenOnSocket(socket, (connection) => listener.#take(connection, false)));
    return listener;
  }

  /**
   * Listens on a port for members of a cluster as well, and returns it. Rejects with `TlsError`, or the error of the
   * system.
   */
  async openPort(host: string, member: MemberFiles): Promise<TcpAddress> {
    const [{ Membership }, { listenWithTls }] = await Promise.all([
      import('../../../base/certificates/index.ts'),
      import('../../rpc/transport/tls.ts'),
    ]);
    const warn = sparing(this.#log, 'a connection to a replica was refused');
    const { server, at } = await listenWithTls({
      host,
      membership: await Membership.open(member, this.#log),
      take: (connection) => this.#take(connection, true),
      onRefused: (from, reason) => warn({ from, reason }),
    });
    this.#add(server);
    return at;
  }

  /**
   * Tells all hosts that this replica ends as it was told. Resolves when that has left this process, or when a host
   * does not read.
   */
  async leave(): Promise<void> {
    for (const server of this.#servers) server.close();
    for (const socket of this.#sockets) socket.send({ type: 'shutdown' });
    await within(Promise.all([...this.#sockets].map((socket) => socket.flushed())), LAST_WORDS_MS);
  }

  #add(server: Server): void {
    server.on('error', (error) => this.#log.warn('a host could not connect', { error }));
    this.#servers.push(server);
    this.#limit();
  }

  /** Bounds the connections that have no token yet, besides all. */
  #limit(): void {
    const most = Math.min(MAX_CONNECTIONS, this.#sockets.size + MAX_UNKNOWN);
    for (const server of this.#servers) server.maxConnections = most;
  }

  #take(connection: Socket, isRemote: boolean): void {
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
            this.#limit();
            if (isRemote) socket.beat({ endsSilent: true });
            host = this.#connections.add((answer) => socket.send(answer), {
              drained: () => socket.drained,
              readsFirst: isRemote, // its host takes back what a silent replica has not begun
            });
          }
        },
        onClose: (error) => {
          clearTimeout(timer);
          this.#sockets.delete(socket);
          this.#limit();
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
