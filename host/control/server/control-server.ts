import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { contained } from '../../core/net/contained.ts';
import { errorLogFields } from '../../core/errors.ts';
import { randomSuffix } from '../../core/ids.ts';
import type { Logger } from '../../core/log/logger.ts';
import { LONGEST_SOCKET_PATH } from '../../core/net/unix-socket.ts';
import { runningServers } from '../addresses.ts';
import type { ControlHandlers } from './handlers.ts';
import type { Address } from '../protocol.ts';
import { ControlSession } from './session.ts';

export interface ControlServerOptions {
  /** Folder of the socket and the address file. Created for this user only if it is missing. */
  readonly dir: string;
  /** Address of the application's server. */
  readonly at: Pick<Address, 'url' | 'host' | 'port'>;
  readonly version: string;
  readonly handlers: ControlHandlers;
  readonly log: Logger;
}

export interface ControlServer {
  /**
   * Refuses new connections, lets open connections read the data that was sent to them, and removes its files. May be
   * called twice.
   */
  close(): Promise<void>;
}

/**
 * Opens a Unix socket for this user's processes, and writes its path to an address file. Each server has its own
 * socket.
 */
export async function startControl({ dir, at, version, handlers, log }: ControlServerOptions): Promise<ControlServer> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await runningServers(dir); // removes files of killed servers
  const id = `${process.pid}-${randomSuffix()}`;
  const file = join(dir, `${id}.json`);
  const besideFile = join(dir, `${id}.sock`);
  const socket =
    Buffer.byteLength(besideFile) <= LONGEST_SOCKET_PATH ? besideFile : join(tmpdir(), `aana-host-${id}.sock`);
  const sessions = new Set<ControlSession>();
  const open = (connection: Socket): void => {
    const session = new ControlSession(connection, {
      handlers,
      log,
      greeting: { version, url: at.url },
      onClose: () => sessions.delete(session),
    });
    sessions.add(session);
  };
  const server = createServer();
  server.on(
    'connection',
    contained(open, (error, connection) => {
      connection.destroy();
      log.error('a control connection was ended because it could not be opened', errorLogFields(error));
    }),
  );
  await listenPrivately(server, socket);
  server.on(
    'error',
    contained(
      (error: Error) => log.warn('control socket failed', { error }),
      () => {}, // only the log can fail
    ),
  );
  await writeFile(`${file}.new`, `${JSON.stringify({ pid: process.pid, ...at, socket } satisfies Address)}\n`, {
    mode: 0o600,
  });
  await rename(`${file}.new`, file); // atomic, so that readers find the whole file
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await rm(file, { force: true });
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    await Promise.all([...sessions].map((session) => session.close()));
    await closed;
    await rm(socket, { force: true });
  };
  return { close: () => (closing ??= close()) };
}

/** Listens with a restrictive umask. `listen` creates the socket synchronously, so no other user can ever connect. */
function listenPrivately(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    const before = process.umask(0o177);
    try {
      server.listen(path, resolve);
    } finally {
      process.umask(before);
    }
  });
}
