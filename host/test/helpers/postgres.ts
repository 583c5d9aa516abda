import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from './server.ts';

const exec = promisify(execFile);

/** A PostgreSQL server of the test's own, reached through a socket in its folder. */
export interface PostgresCluster {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  stop(): Promise<void>;
}

export interface PostgresOptions {
  /** Whether what is committed survives the end of the machine; tests need not wait for the disk. Default: false. */
  readonly isDurable?: boolean;
}

/** Starts PostgreSQL, or says why there is none: PostgreSQL refuses to run as root, so root runs it as the user `postgres`. */
export async function startPostgres({ isDurable = false }: PostgresOptions = {}): Promise<PostgresCluster | string> {
  const bin = await findBinaries();
  if (bin === undefined) return 'PostgreSQL is not installed (Debian/Ubuntu: apt-get install postgresql)';
  const owner = await unprivileged();
  if (typeof owner === 'string') return owner;
  const folder = await mkdtemp('/tmp/aana-pg-'); // short: the path of a socket has 107 bytes at most
  try {
    if (owner.uid !== undefined) await chown(folder, owner.uid, owner.gid ?? owner.uid);
    const options = { cwd: folder, ...owner };
    await exec(join(bin, 'initdb'), ['--pgdata', join(folder, 'data'), '--username', 'aana', '--auth', 'trust', '--encoding', 'UTF8', '--no-sync'], options);
    const port = await freePort();
    const settings = ['listen_addresses=127.0.0.1', `unix_socket_directories=${folder}`, `fsync=${isDurable ? 'on' : 'off'}`, 'deadlock_timeout=50ms'].flatMap((setting) => ['-c', setting]);
    const server = spawn(join(bin, 'postgres'), ['-D', join(folder, 'data'), '-p', String(port), ...settings], { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    await ready(server);
    return { host: '127.0.0.1', port, user: 'aana', database: 'postgres', stop: () => stop(server, folder) };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Debian keeps them out of the PATH. */
async function findBinaries(): Promise<string | undefined> {
  const root = '/usr/lib/postgresql';
  const versions = (await readdir(root).catch(() => [])).sort((a, b) => Number(b) - Number(a));
  const candidates = [...versions.map((version) => join(root, version, 'bin')), ...(process.env['PATH'] ?? '').split(':')];
  for (const folder of candidates) {
    const names = new Set(await readdir(folder).catch(() => []));
    if (names.has('initdb') && names.has('postgres')) return folder;
  }
  return undefined;
}

async function unprivileged(): Promise<{ readonly uid?: number; readonly gid?: number } | string> {
  if (process.getuid?.() !== 0) return {};
  const { stdout } = await exec('getent', ['passwd', 'postgres']).catch(() => ({ stdout: '' }));
  const [, , uid, gid] = stdout.split(':');
  return uid ? { uid: Number(uid), gid: Number(gid) } : 'PostgreSQL does not run as root, and there is no user postgres';
}

function ready(server: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = '';
    server.stderr?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (output.includes('database system is ready to accept connections')) resolve();
    });
    server.stdout?.resume();
    server.on('error', reject);
    server.on('exit', (code) => reject(new Error(`PostgreSQL ended with ${code}: ${output}`)));
  });
}

async function stop(server: ChildProcess, folder: string): Promise<void> {
  if (server.exitCode === null && server.signalCode === null) {
    server.kill('SIGINT'); // the fast shutdown: clients are cut off
    await once(server, 'exit');
  }
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}
