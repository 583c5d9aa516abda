import { existsSync, lstatSync, rmSync } from 'node:fs';
import { connect, type Server } from 'node:net';
import { dirname } from 'node:path';
import { type AanaError, fail } from '../../../base/core/errors.ts';
import { listening, listenWithMode } from '../../../base/core/net/listening.ts';
import { LONGEST_SOCKET_PATH } from '../../../base/core/net/unix-socket.ts';

/** Returns the path of a socket that is written as `unix:/run/aana/http.sock`; undefined for other addresses. */
export function socketPath(address: string): string | undefined {
  return address.startsWith('unix:') ? address.slice('unix:'.length) : undefined;
}

/**
 * Listens on a port. Rejects with `ListenError` if another program uses the port, and with `InvalidAddress`. Messages
 * name the setting with the address. Default: the options of `serve`.
 */
export function listenOnPort(server: Server, host: string, port: number, setting?: string): Promise<void> {
  return listening(server, () => server.listen({ host, port })).catch((error: NodeJS.ErrnoException) => {
    throw portError({ host, port, setting }, error);
  });
}

/**
 * Listens on a Unix socket of this mode. Removes a stale socket first: one that no server answers. The socket is
 * removed with the server. Rejects with `ListenError` if another program uses the path, and with `InvalidAddress`.
 */
export async function listenOnSocket(server: Server, path: string, mode: number): Promise<void> {
  if (Buffer.byteLength(path) > LONGEST_SOCKET_PATH)
    throw fail(
      'InvalidAddress',
      `the path of a Unix socket has at most ${LONGEST_SOCKET_PATH} bytes, ${path} has ${Buffer.byteLength(path)}`,
    );
  if (!existsSync(dirname(path)))
    throw fail(
      'InvalidAddress',
      `the folder of ${path} does not exist: create it, or choose another path with --listen`,
    );
  await removeStale(path);
  return listenWithMode(server, path, mode).catch((error: NodeJS.ErrnoException) => {
    throw socketError(path, error);
  });
}

/** Listens where `other` listens, the server of another process. */
export function listenOnHandle(server: Server, other: Server): Promise<void> {
  return listening(server, () => server.listen(other)).catch((error: Error) => {
    throw fail('ListenError', `cannot listen with the other processes: ${error.message}`, { cause: error });
  });
}

async function removeStale(path: string): Promise<void> {
  const there = lstatSync(path, { throwIfNoEntry: false });
  if (!there) return;
  if (!there.isSocket())
    throw fail('InvalidAddress', `${path} exists and is not a socket: remove it, or choose another path with --listen`);
  const code = await answer(path);
  if (code === 'ECONNREFUSED') rmSync(path, { force: true });
  else if (code !== 'ENOENT')
    throw socketError(path, Object.assign(new Error(code ?? 'in use'), { code: code ?? 'EADDRINUSE' }));
}

/** Returns the reason why no server answers on a socket; undefined if one does. */
function answer(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(undefined);
    });
    socket.on('error', ({ code, message }: NodeJS.ErrnoException) => resolve(code ?? message));
  });
}

function portError(
  { host, port, setting }: { readonly host: string; readonly port: number; readonly setting: string | undefined },
  error: NodeJS.ErrnoException,
): AanaError {
  const [withPort, withHost] =
    setting === undefined ? ['with --port', 'with --host'] : [`in ${setting}`, `in ${setting}`];
  const reasons: Record<string, string> = {
    EADDRINUSE:
      `port ${port} on ${host} is already in use: stop the program that uses it, or choose another port ` + withPort,
    EACCES: `port ${port} on ${host} is not allowed for this user: choose a port above 1023 ${withPort}`,
    EADDRNOTAVAIL: `${host} is not an address of this machine: choose another address ${withHost}`,
    ENOTFOUND: `the host name ${host} is not known: choose another name ${withHost}`,
  };
  const isWrong = error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND';
  return fail(
    isWrong ? 'InvalidAddress' : 'ListenError',
    reasons[error.code ?? ''] ?? `cannot listen on ${host} port ${port}: ${error.message}`,
    { cause: error },
  );
}

function socketError(path: string, error: NodeJS.ErrnoException): AanaError {
  const reasons: Record<string, string> = {
    EADDRINUSE: `another program listens on ${path}: stop it, or choose another path with --listen`,
    EACCES: `${path} is not allowed for this user: choose another path with --listen`,
  };
  return fail(
    error.code === 'EADDRINUSE' ? 'ListenError' : 'InvalidAddress',
    reasons[error.code ?? ''] ?? `cannot listen on ${path}: ${error.message}`,
    { cause: error },
  );
}
