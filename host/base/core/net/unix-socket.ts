import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The longest path of a Unix socket in bytes that every operating system accepts. */
export const LONGEST_SOCKET_PATH = 103;

/** Ending of the names of the sockets on which replicas listen for hosts. */
export const REPLICA_SOCKET = '.replica';

/** Returns the path of a socket in `dir`, or in the folder for temporary files if that path is too long. */
export function socketPathIn(dir: string, name: string): string {
  const path = join(dir, name);
  return Buffer.byteLength(path) <= LONGEST_SOCKET_PATH ? path : join(tmpdir(), `aana-host-${name}`);
}
