import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fail } from '../../base/core/errors.ts';
import { REPLICA_SOCKET, socketFolders } from '../../base/core/net/unix-socket.ts';
import { Address } from './protocol.ts';

/** Selects a server if several run. */
export interface Choice {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
}

/**
 * Returns the running servers of this user with address files in `dir`. Removes files of servers and replicas that have
 * ended.
 */
export async function runningServers(dir: string): Promise<Address[]> {
  await Promise.all(socketFolders(dir).map(removeEndedReplicas));
  const names = (await readdir(dir).catch(() => [])).filter((name) => name.endsWith('.json'));
  const found = await Promise.all(
    names.map(async (name) => {
      const file = join(dir, name);
      if (!(await isOwn(file))) return undefined; // another user's file could lead to a server that reads our requests
      const address = parsed(await readFile(file, 'utf8').catch(() => ''));
      if (!address || (await isListening(address.socket))) return address;
      await Promise.all([rm(file, { force: true }), rm(address.socket, { force: true })]);
      return undefined;
    }),
  );
  return found.filter((address) => address !== undefined).sort((a, b) => a.port - b.port);
}

async function removeEndedReplicas({ folder, beginning }: ReturnType<typeof socketFolders>[number]): Promise<void> {
  const names = (await readdir(folder).catch(() => [])).filter(
    (name) => name.startsWith(beginning) && name.endsWith(REPLICA_SOCKET),
  );
  const removeEnded = async (socket: string): Promise<void> => {
    if ((await isOwn(socket)) && !(await isListening(socket))) await rm(socket, { force: true });
  };
  await Promise.all(names.map((name) => removeEnded(join(folder, name))));
}

/** Returns the running servers of this user that match `choice`. */
export async function matchingServers(dir: string, choice: Choice): Promise<Address[]> {
  return (await runningServers(dir)).filter((one) => fits(one, choice));
}

/**
 * Returns the server that matches `choice`. Throws `NotRunning` when there is none, or `SeveralRunning` with their
 * addresses.
 */
export async function chooseServer(dir: string, choice: Choice = {}): Promise<Address> {
  const found = await matchingServers(dir, choice);
  const [address, ...others] = found;
  if (!address) throw fail('NotRunning', notRunning(choice));
  if (others.length === 0) return address;
  const urls = found.map(({ url }) => url);
  throw fail(
    'SeveralRunning',
    `several applications are running (${urls.join(', ')}); name one by its port or its socket`,
    { data: { urls } },
  );
}

function notRunning({ host, port }: Choice): string {
  const where = [
    ...(host === undefined ? [] : [`on ${host}`]),
    ...(port === undefined ? [] : [`on port ${port}`]),
  ].join(' ');
  return where === ''
    ? 'no aana-host application of this user is running; start one with "aana-host serve"'
    : `no aana-host application of this user is running ${where}`;
}

/** Names of this machine itself, and of all its addresses. */
const LOCAL = new Set(['localhost', '127.0.0.1', '::1', '0.0.0.0', '::']);

function fits(address: Address, { host, port }: Choice): boolean {
  if (port !== undefined && address.port !== port) return false;
  return host === undefined || host === address.host || (LOCAL.has(host) && LOCAL.has(address.host));
}

async function isOwn(file: string): Promise<boolean> {
  const uid = process.getuid?.();
  return uid === undefined || (await stat(file).catch(() => undefined))?.uid === uid;
}

function parsed(text: string): Address | undefined {
  try {
    return Address.parse(JSON.parse(text));
  } catch {
    return undefined; // the file is being written
  }
}

/** Returns whether a server listens. A process id would not tell, because another process may have it now. */
function isListening(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code !== 'ECONNREFUSED' && code !== 'ENOENT'));
  });
}
