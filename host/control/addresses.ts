import { readdir, readFile, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Address } from './protocol.ts';

/** The servers whose address files lie in `dir` and that answer. What ended servers left is removed. */
export async function runningServers(dir: string): Promise<Address[]> {
  const names = (await readdir(dir).catch(() => [])).filter((name) => name.endsWith('.json'));
  const found = await Promise.all(
    names.map(async (name) => {
      const address = parsed(await readFile(join(dir, name), 'utf8').catch(() => ''));
      if (!address || (await isListening(address.socket))) return address;
      await Promise.all([rm(join(dir, name), { force: true }), rm(address.socket, { force: true })]);
      return undefined;
    }),
  );
  return found.filter((address) => address !== undefined);
}

function parsed(text: string): Address | undefined {
  try {
    return Address.parse(JSON.parse(text));
  } catch {
    return undefined; // being written, or another user's
  }
}

/** A process id can belong to somebody else by now; a socket that nobody listens on refuses. */
function isListening(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code !== 'ECONNREFUSED' && code !== 'ENOENT'));
  });
}
