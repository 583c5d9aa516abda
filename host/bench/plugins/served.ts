import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FromServer, ToServer } from './protocol.ts';

export interface ServedOptions {
  readonly port: number;
  /** Returns the number of calls that are held until `release`. */
  readonly waiting?: () => number;
  readonly release?: () => void;
  readonly close: () => Promise<unknown>;
}

/** Connects a server to the benchmark that started its process: reports its CPU time, and ends with the benchmark. */
export function served({ port, waiting = () => 0, release = () => {}, close }: ServedOptions): void {
  const tell = (message: FromServer): unknown => process.send?.(message);
  process.on('message', (message: ToServer) => {
    if (message === 'release') release();
    if (message === 'stop') void close().then(() => process.disconnect());
    if (message !== 'usage') return;
    const { user, system } = process.cpuUsage(); // of all threads
    tell({ type: 'usage', cpuMicroseconds: user + system, rssBytes: process.memoryUsage.rss(), waiting: waiting() });
  });
  process.on('disconnect', () => process.exit());
  tell({ type: 'listening', port });
}

export function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}
