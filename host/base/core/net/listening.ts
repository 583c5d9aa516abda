import type { Server } from 'node:net';

/** Resolves when the server listens after `listen`. Rejects with the error of the system. */
export function listening(server: Server, listen: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const onListening = (): void => {
      server.off('error', onError);
      resolve();
    };
    const onError = (error: Error): void => {
      server.off('listening', onListening);
      reject(error);
    };
    server.once('error', onError);
    server.once('listening', onListening);
    listen();
  });
}

/** Listens on a Unix socket that never has another mode than this one. Rejects with the error of the system. */
export function listenWithMode(server: Server, path: string, mode: number): Promise<void> {
  return listening(server, () => {
    // `listen` makes the socket before anything else can run.
    const before = process.umask(0o777 & ~mode);
    try {
      server.listen(path);
    } finally {
      process.umask(before);
    }
  });
}
