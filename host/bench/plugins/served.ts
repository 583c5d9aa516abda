import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { cpuSeconds } from '../../test/helpers/server.ts';
import type { FromServer, ToServer, Usage } from './protocol.ts';

export interface ServedOptions {
  readonly port: number;
  /** Returns the number of calls that are held until `release`. */
  readonly waiting?: () => number;
  readonly release?: () => void;
  /** Returns the numbers of the processes of its plugins. Default: none. */
  readonly sandboxes?: () => readonly number[];
  readonly close: () => Promise<unknown>;
}

/** Connects a server to the benchmark that started its process: reports its CPU time, and ends with the benchmark. */
export function served({
  port,
  waiting = () => 0,
  release = () => {},
  sandboxes = () => [],
  close,
}: ServedOptions): void {
  const tell = (message: FromServer): unknown => process.send?.(message);
  const usage = async (): Promise<Usage> => {
    const { user, system } = process.cpuUsage(); // of all threads
    const seconds = await Promise.all(sandboxes().map(cpuSeconds));
    const sandboxCpuMicroseconds = seconds.reduce((sum, one) => sum + one * 1e6, 0);
    const rssBytes = process.memoryUsage.rss();
    return { cpuMicroseconds: user + system, sandboxCpuMicroseconds, rssBytes, waiting: waiting() };
  };
  process.on('message', (message: ToServer) => {
    if (message === 'release') release();
    if (message === 'stop') void close().then(() => process.disconnect());
    if (message === 'usage') void usage().then((found) => tell({ type: 'usage', ...found }));
  });
  process.on('disconnect', () => process.exit());
  tell({ type: 'listening', port });
}

export function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}
