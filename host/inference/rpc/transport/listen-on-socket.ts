import { mkdirSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { listening } from './listening.ts';

/** Listens on a Unix socket, which only this user can open. Rejects with the error of the system. */
export async function listenOnSocket(path: string, take: (connection: Socket) => void): Promise<Server> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const server = createServer(take);
  await listening(server, () => {
    // `listen` makes the socket before anything else can run.
    const before = process.umask(0o177);
    try {
      server.listen(path);
    } finally {
      process.umask(before);
    }
  });
  return server;
}
