import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The longest path of a Unix socket in bytes that every operating system accepts. */
export const LONGEST_SOCKET_PATH = 103;

/** Ending of the names of the sockets on which replicas listen for hosts. */
export const REPLICA_SOCKET = '.replica';

/** Beginning of the names of sockets in the folder for temporary files. */
const TEMPORARY = 'aana-host-';

/** Returns the path of a socket in `dir`, or in the folder for temporary files if that path is too long. */
export function socketPathIn(dir: string, name: string): string {
  const path = join(dir, name);
  return Buffer.byteLength(path) <= LONGEST_SOCKET_PATH ? path : join(tmpdir(), TEMPORARY + name);
}

/** Returns the folders in which {@link socketPathIn} puts sockets for `dir`, with the beginnings of their names. */
export function socketFolders(dir: string): { readonly folder: string; readonly beginning: string }[] {
  return [
    { folder: dir, beginning: '' },
    { folder: tmpdir(), beginning: TEMPORARY },
  ];
}
