import type { ServerResponse } from 'node:http';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Membership } from '../../../base/certificates/index.ts';
import { randomSuffix } from '../../../base/core/ids.ts';
import type { Logger } from '../../../base/core/log/logger.ts';
import { socketPathIn } from '../../../base/core/net/unix-socket.ts';
import { runningServers } from '../addresses.ts';
import type { ControlHandlers } from './handlers.ts';
import { HttpServer, type HttpServerLimits } from '../../http/index.ts';
import { type Address, FRAMES } from '../protocol.ts';
import type { TcpAddress } from '../../../inference/rpc/index.ts';
import { forMembers } from './for-members.ts';
import { ControlSession } from './session.ts';

export interface ControlServerOptions {
  /** Folder of the socket and the address file. Created for this user only if it is missing. */
  readonly dir: string;
  /** Address of the application's server. */
  readonly at: Pick<Address, 'url' | 'host' | 'port'>;
  readonly version: string;
  /** Answers requests of HTTP. */
  readonly callback: ConstructorParameters<typeof HttpServer>[0];
  readonly limits: HttpServerLimits;
  /** Answers calls that come as frames. */
  readonly handlers: ControlHandlers;
  readonly log: Logger;
  /** Where members of a cluster reach the server from other machines. Default: nowhere. */
  readonly remote?: RemoteControl | undefined;
}

export interface RemoteControl extends TcpAddress {
  readonly membership: Membership;
}

export interface ControlServer {
  readonly address: Address;
  /**
   * Refuses new connections, lets open connections read the data that was sent to them, and removes its files. May be
   * called twice.
   */
  close(): Promise<void>;
}

/** Time in which processes may read the last answers when the server ends. */
const LAST_ANSWERS_MS = 1000;

/**
 * Opens a Unix socket for this user's processes, and writes its path to an address file. Each server has its own
 * socket. It speaks HTTP, and frames on connections that ask for them with `upgrade: aana-frames`. Members of a cluster
 * reach the same with TLS at `remote`.
 */
export async function startControl({
  dir,
  at,
  version,
  callback,
  limits,
  handlers,
  log,
  remote,
}: ControlServerOptions): Promise<ControlServer> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await runningServers(dir); // removes files of killed servers
  const id = `${process.pid}-${randomSuffix()}`;
  const file = join(dir, `${id}.json`);
  const socket = socketPathIn(dir, `${id}.sock`);
  const sessions = new Set<ControlSession>();
  const takeFrames = (res: ServerResponse, isRemote: boolean): void => {
    const connection = res.socket;
    if (!connection) return;
    res.detachSocket(connection);
    connection.write(`HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: ${FRAMES}\r\n\r\n`);
    const session = new ControlSession(connection, {
      handlers,
      log,
      greeting: { version, url: at.url, pid: process.pid, beats: true },
      isRemote,
      onClose: () => sessions.delete(session),
    });
    sessions.add(session);
  };
  const server = new HttpServer(callback, limits, {
    ...{ log, protocol: FRAMES },
    upgrade: (_req, res) => takeFrames(res, false),
  });
  const servers = [server];
  const address: Address = { pid: process.pid, ...at, socket };
  try {
    await server.listenOnSocket(socket, 0o600);
    if (remote) {
      const { host, port, membership } = remote;
      const far = new HttpServer(forMembers(membership, log, callback), limits, {
        ...{ log, protocol: FRAMES, certificate: membership.certificate },
        upgrade: forMembers(membership, log, (_req, res) => takeFrames(res, true)),
      });
      const { url } = await far.listen(host, port, 'cluster.listen');
      servers.push(far);
      log.info('other machines of the cluster reach this application', { at: url.replace('https://', '') });
    }
    await writeFile(`${file}.new`, `${JSON.stringify(address)}\n`, { mode: 0o600 });
    await rename(`${file}.new`, file); // atomic, so that readers find the whole file
  } catch (error) {
    for (const one of servers) one.destroy(); // removes the socket
    await rm(`${file}.new`, { force: true });
    throw error;
  }
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await rm(file, { force: true });
    const closed = Promise.all(servers.map((one) => one.close(LAST_ANSWERS_MS))); // removes the socket at once
    await Promise.all([...sessions].map((session) => session.close()));
    await closed;
    await rm(socket, { force: true });
  };
  return { address, close: () => (closing ??= close()) };
}
