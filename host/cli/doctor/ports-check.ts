import { existsSync } from 'node:fs';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname } from 'node:path';
import { runningServers } from '../../apis/control/addresses.ts';
import { exposureOf } from '../../base/config/index.ts';
import type { Address } from '../../apis/control/index.ts';
import { LONGEST_SOCKET_PATH } from '../../base/core/net/unix-socket.ts';
import { type Check, type CheckResult, fail, ok, reasonOf, warn } from './check.ts';

/** The addresses on which the server and the dashboard would listen. */
export const portsCheck: Check = {
  name: 'ports',
  needsConfig: true,
  run: async ({ config }) => {
    const running = await runningServers(config.runtime_dir);
    const results: CheckResult[] = [];
    const exposure = exposureOf(config, config.listen ?? config.host);
    if (exposure) results.push(warn('exposure', exposure.found, exposure.advice));
    if (config.listen === null) results.push(await portResult('port', config.host, config.port, running));
    else results.push(socketResult(config.listen.slice('unix:'.length)));
    if (config.dashboard.enabled) {
      const { host, port } = config.dashboard;
      const result = await portResult('dashboard.port', host, port, running);
      // The dashboard takes another port if its own is taken.
      results.push(result.status === 'fail' ? { ...result, status: 'warn' } : result);
    }
    return results;
  },
};

async function portResult(
  setting: string,
  host: string,
  port: number,
  running: readonly Address[],
): Promise<CheckResult> {
  const at = `${host}:${port}`;
  const code = await listenCode(host, port);
  if (code === undefined) return ok(setting, port === 0 ? 'any free port' : `${at} is free`);
  if (code !== 'EADDRINUSE')
    return fail(
      setting,
      `${at} cannot be used (${code})`,
      code === 'EACCES'
        ? 'use a port from 1024, or give Node the right to lower ones'
        : 'set host to an address of this machine',
    );
  const listeners = await listenersOf(port);
  const own = running.find(({ pid, port: its }) => its === port || listeners.some((one) => one.pid === pid));
  if (own) return ok(setting, `${at} is used by the running application at ${own.url}, process ${own.pid}`);
  const who = listeners.map(({ pid, command }) => `process ${pid} (${command})`).join(', ') || 'another program';
  return fail(setting, `${at} is used by ${who}`, `end it, or set ${setting} to another port`);
}

/** Tries to listen. Returns the code of the error, or undefined if it is possible. */
function listenCode(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? reasonOf(error)));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

function socketResult(path: string): CheckResult {
  const length = Buffer.byteLength(path);
  if (length > LONGEST_SOCKET_PATH)
    return fail('listen', `${path} has ${length} bytes`, `use a path of at most ${LONGEST_SOCKET_PATH} bytes`);
  return existsSync(dirname(path))
    ? ok('listen', path)
    : fail('listen', `the folder of ${path} does not exist`, 'create it, or choose another path');
}

interface Listener {
  readonly pid: number;
  readonly command: string;
}

const LISTENS = '0A';

/** Returns the processes that listen on a TCP port (Linux), as far as this user may see them. */
async function listenersOf(port: number): Promise<Listener[]> {
  const tables = await Promise.all(
    ['tcp', 'tcp6'].map((name) => readFile(`/proc/net/${name}`, 'utf8').catch(() => '')),
  );
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const sockets = new Set(
    tables.flatMap((table) =>
      table.split('\n').flatMap((line) => {
        const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/);
        return state === LISTENS && local.endsWith(`:${hex}`) ? [`socket:[${inode}]`] : [];
      }),
    ),
  );
  if (sockets.size === 0) return [];
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(pids.map((pid) => listenerOf(pid, sockets)));
  return found.filter((listener) => listener !== undefined);
}

async function listenerOf(pid: string, sockets: ReadonlySet<string>): Promise<Listener | undefined> {
  const names = await readdir(`/proc/${pid}/fd`).catch(() => []);
  for (const name of names) {
    const target = await readlink(`/proc/${pid}/fd/${name}`).catch(() => '');
    if (!sockets.has(target)) continue;
    return { pid: Number(pid), command: (await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')).trim() };
  }
  return undefined;
}
