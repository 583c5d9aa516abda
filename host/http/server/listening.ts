import { existsSync, lstatSync, rmSync } from 'node:fs';
import { connect, type Server } from 'node:net';
import { dirname } from 'node:path';
import { AanaError } from '../../core/errors.ts';
import { LONGEST_SOCKET_PATH } from '../../core/unix-socket.ts';

/** The path of a socket that is written as `unix:/run/aana/http.sock`; undefined for other addresses. */
export function socketPath(address: string): string | undefined {
  return address.startsWith('unix:') ? address.slice('unix:'.length) : undefined;
}

/** Listens on a port. Rejects with one sentence when the address cannot be had. */
export function listenOnPort(server: Server, host: string, port: number): Promise<void> {
  return listening(
    server,
    () => server.listen({ host, port }),
    (error) => portError(host, port, error),
  );
}

/**
 * Listens on a Unix socket of this mode. One that an ended server left is removed first: a socket on which nobody
 * answers. It goes with the server. Rejects with one sentence when the path cannot be had.
 */
export async function listenOnSocket(server: Server, path: string, mode: number): Promise<void> {
  if (Buffer.byteLength(path) > LONGEST_SOCKET_PATH)
    throw listenError(
      `the path of a Unix socket has at most ${LONGEST_SOCKET_PATH} bytes, ${path} has ${Buffer.byteLength(path)}`,
      'invalid-input',
    );
  if (!existsSync(dirname(path)))
    throw listenError(
      `the folder of ${path} is not there: make it, or choose another path with --listen`,
      'invalid-input',
    );
  await removeStale(path);
  // The socket is made by `listen` itself, before anything else can run: at no time can others connect than may.
  const listen = (): void => {
    const before = process.umask(0o777 & ~mode);
    try {
      server.listen(path);
    } finally {
      process.umask(before);
    }
  };
  return listening(server, listen, (error) => socketError(path, error));
}

function listening(
  server: Server,
  listen: () => void,
  explain: (error: NodeJS.ErrnoException) => AanaError,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException): void => {
      server.off('listening', onListening);
      reject(explain(error));
    };
    const onListening = (): void => {
      server.off('error', onError);
      resolve();
    };
    server.once('error', onError);
    server.once('listening', onListening);
    listen();
  });
}

async function removeStale(path: string): Promise<void> {
  const there = lstatSync(path, { throwIfNoEntry: false });
  if (!there) return;
  if (!there.isSocket())
    throw listenError(
      `${path} is there and is no socket: remove it, or choose another path with --listen`,
      'invalid-input',
    );
  const code = await answer(path);
  if (code === 'ECONNREFUSED') rmSync(path, { force: true });
  else if (code !== 'ENOENT')
    throw socketError(path, Object.assign(new Error(code ?? 'in use'), { code: code ?? 'EADDRINUSE' }));
}

/** Why nobody answers on a socket; undefined when somebody does. */
function answer(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(undefined);
    });
    socket.on('error', ({ code, message }: NodeJS.ErrnoException) => resolve(code ?? message));
  });
}

function portError(host: string, port: number, error: NodeJS.ErrnoException): AanaError {
  const reasons: Record<string, string> = {
    EADDRINUSE: `port ${port} on ${host} is already in use: stop the program that has it, or choose another with --port`,
    EACCES: `port ${port} on ${host} may not be used by this user: choose one above 1023 with --port`,
    EADDRNOTAVAIL: `${host} is not an address of this machine: choose another with --host`,
    ENOTFOUND: `the host name ${host} is not known: choose another with --host`,
  };
  const isWrong = error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND';
  return listenError(
    reasons[error.code ?? ''] ?? `cannot listen on ${host} port ${port}: ${error.message}`,
    isWrong ? 'invalid-input' : 'unavailable',
    error,
  );
}

function socketError(path: string, error: NodeJS.ErrnoException): AanaError {
  const reasons: Record<string, string> = {
    EADDRINUSE: `another program listens on ${path}: stop it, or choose another path with --listen`,
    EACCES: `${path} may not be used by this user: choose another path with --listen`,
  };
  return listenError(
    reasons[error.code ?? ''] ?? `cannot listen on ${path}: ${error.message}`,
    error.code === 'EADDRINUSE' ? 'unavailable' : 'invalid-input',
    error,
  );
}

function listenError(message: string, kind: 'invalid-input' | 'unavailable', cause?: Error): AanaError {
  return new AanaError('ListenError', kind, message, { cause });
}
