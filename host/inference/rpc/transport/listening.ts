import type { Server } from 'node:net';

/** Resolves when the server listens after `listen`. Rejects with the error of the system. */
export function listening(server: Server, listen: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.once('listening', () => {
      server.off('error', reject);
      resolve();
    });
    listen();
  });
}
