import { mkdirSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { listenWithMode } from '../../../base/core/net/listening.ts';

/** Listens on a Unix socket, which only this user can open. Rejects with the error of the system. */
export async function listenOnSocket(path: string, take: (connection: Socket) => void): Promise<Server> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const server = createServer(take);
  await listenWithMode(server, path, 0o600);
  return server;
}
