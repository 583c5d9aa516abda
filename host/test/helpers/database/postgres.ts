import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdtemp, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../server.ts';
import { unpackPostgres } from './vector-postgres.ts';

const exec = promisify(execFile);

/** A PostgreSQL server of one test, reached through a socket in its folder. */
export interface PostgresCluster {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  /** The folder of its data and sockets. */
  readonly folder: string;
  readonly programs: PostgresPrograms;
  stop(): Promise<void>;
}

export interface PostgresOptions {
  /**
   * Whether committed data survive a crash of the machine. Default: false, because tests need not wait for the disk.
   */
  readonly isDurable?: boolean;
  /** Whether it has the extension pgvector. Then it comes out of a package. Default: false. */
  readonly hasVectors?: boolean;
  /** Settings as in `postgresql.conf`, such as `ssl=on`. */
  readonly settings?: readonly string[];
  /** Called before the server starts, with the folder of its data and with the owner that files there need. */
  readonly prepare?: (data: string, owner: Owner) => Promise<void>;
}

/** The user that runs the server, if it is not this user. */
export interface Owner {
  readonly uid?: number;
  readonly gid?: number;
}

/** The folder of PostgreSQL's programs, with the user that may run them. */
export interface PostgresPrograms {
  readonly bin: string;
  readonly owner: Owner;
}

/**
 * Starts PostgreSQL, or returns the reason why it cannot. PostgreSQL refuses to run as root, so root runs it as the
 * user `postgres`.
 */
export async function startPostgres({
  isDurable = false,
  hasVectors = false,
  settings = [],
  prepare,
}: PostgresOptions = {}): Promise<PostgresCluster | string> {
  const found = hasVectors ? await unprivileged() : await findPostgres();
  if (typeof found === 'string') return found;
  const owner = 'bin' in found ? found.owner : found;
  const folder = await makeServerFolder({ owner });
  try {
    const bin = 'bin' in found ? found.bin : await unpackPostgres(folder);
    const programs = { bin, owner };
    const data = join(folder, 'data');
    await initData(programs, data);
    await prepare?.(data, owner);
    const port = await freePort();
    const server = await startServer(programs, {
      folder,
      data,
      port,
      settings: [`fsync=${isDurable ? 'on' : 'off'}`, ...settings],
    });
    const address = { host: '127.0.0.1', port, user: 'aana', database: 'postgres' };
    return { ...address, folder, programs, stop: () => stop(server, folder) };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Returns the programs of PostgreSQL, or the reason why there are none. */
export async function findPostgres(): Promise<PostgresPrograms | string> {
  const bin = await findBinaries();
  if (bin === undefined) return 'PostgreSQL is not installed (Debian/Ubuntu: apt-get install postgresql)';
  const owner = await unprivileged();
  return typeof owner === 'string' ? owner : { bin, owner };
}

/** Makes a folder that the server may write to. */
export async function makeServerFolder({ owner }: Pick<PostgresPrograms, 'owner'>): Promise<string> {
  const folder = await mkdtemp('/tmp/aana-pg-'); // a short path, because the path of a socket has at most 107 bytes
  if (owner.uid !== undefined) await chown(folder, owner.uid, owner.gid ?? owner.uid);
  return folder;
}

export async function initData({ bin, owner }: PostgresPrograms, data: string): Promise<void> {
  await exec(
    join(bin, 'initdb'),
    ['--pgdata', data, '--username', 'aana', '--auth', 'trust', '--encoding', 'UTF8', '--no-sync'],
    { cwd: dirname(data), ...owner },
  );
}

/** Runs one of the programs, such as `pg_basebackup`. */
export async function runProgram(
  { bin, owner }: PostgresPrograms,
  name: string,
  args: readonly string[],
  cwd: string,
): Promise<void> {
  await exec(join(bin, name), [...args], { cwd, ...owner });
}

export interface ServerFiles {
  readonly folder: string;
  readonly data: string;
  readonly port: number;
  readonly settings: readonly string[];
}

/** Starts a server on existing data. Resolves when it accepts connections. */
export async function startServer(
  { bin, owner }: PostgresPrograms,
  { folder, data, port, settings }: ServerFiles,
): Promise<ChildProcess> {
  const all = [
    'listen_addresses=127.0.0.1',
    `unix_socket_directories=${folder}`,
    'deadlock_timeout=50ms',
    ...settings,
  ].flatMap((setting) => ['-c', setting]);
  const server = spawn(join(bin, 'postgres'), ['-D', data, '-p', String(port), ...all], {
    cwd: folder,
    ...owner,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  await ready(server);
  return server;
}

/** Ends a server. `SIGINT` disconnects its clients; `SIGQUIT` leaves it like a crash. */
export async function endServer(server: ChildProcess, signal: 'SIGINT' | 'SIGQUIT' = 'SIGINT'): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  server.kill(signal);
  await once(server, 'exit');
}

/** Returns the folder of the programs, which Debian does not put on the PATH. */
async function findBinaries(): Promise<string | undefined> {
  const root = '/usr/lib/postgresql';
  const versions = (await readdir(root).catch(() => [])).sort((a, b) => Number(b) - Number(a));
  const candidates = [
    ...versions.map((version) => join(root, version, 'bin')),
    ...(process.env['PATH'] ?? '').split(':'),
  ];
  for (const folder of candidates) {
    const names = new Set(await readdir(folder).catch(() => []));
    if (names.has('initdb') && names.has('postgres')) return folder;
  }
  return undefined;
}

async function unprivileged(): Promise<Owner | string> {
  if (process.getuid?.() !== 0) return {};
  const { stdout } = await exec('getent', ['passwd', 'postgres']).catch(() => ({ stdout: '' }));
  const [, , uid, gid] = stdout.split(':');
  return uid
    ? { uid: Number(uid), gid: Number(gid) }
    : 'PostgreSQL does not run as root, and the user postgres is missing';
}

function ready(server: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = '';
    server.stderr?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (/database system is ready to accept (read-only )?connections/.test(output)) resolve();
    });
    server.stdout?.resume();
    server.on('error', reject);
    server.on('exit', (code) => reject(new Error(`PostgreSQL exited with ${code}: ${output}`)));
  });
}

async function stop(server: ChildProcess, folder: string): Promise<void> {
  await endServer(server);
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}
