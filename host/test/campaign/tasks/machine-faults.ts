import { execFileSync } from 'node:child_process';
import { appendFile, chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { delay } from '../../../base/core/abort.ts';
import { postgresDatabases, sqliteDatabases, type TestDatabases } from '../../../data/storage/fixtures/databases.ts';
import type { Database, StorageConfig } from '../../../data/storage/index.ts';
import type { Owner } from '../../helpers/database/postgres.ts';
import type { Random } from '../../simulation/random.ts';
import type { HostKeeper } from './host-keeper.ts';
import type { FaultGroup, FaultyStore } from './store-faults.ts';

const PAUSE_MS = 500;
const MOST_STEP_MS = 3_600_000;
/** With this lease, a disk is full for longer than a lease. */
const SHORT_LEASE = { TASK_QUEUE__HEARTBEAT_TIMEOUT: '2' };
const FULL_MS = 3000;
const DISK_BYTES = 128 * 2 ** 20;
const DEPLOYMENT = 'echo';
const AWAY_MS = 2000;

/** Faults of the machines of hosts: their clocks, their disks, and their deployments. */
export const MACHINE_FAULTS: readonly FaultGroup[] = [
  { name: 'clock', faults: ['forward', 'back'], isLong: false, make: async () => stepped(sqliteDatabases()) },
  {
    name: 'clock-postgresql',
    faults: ['forward', 'back'],
    isLong: false,
    make: () => withPostgres((databases) => stepped(databases)),
  },
  { name: 'disk', faults: ['full'], isLong: false, make: filled },
  { name: 'disk-postgresql', faults: ['full'], isLong: false, make: filledPostgres },
  { name: 'sick', faults: ['away'], isLong: false, make: async () => sick(sqliteDatabases()) },
  {
    name: 'sick-postgresql',
    faults: ['away'],
    isLong: false,
    make: () => withPostgres((databases) => sick(databases)),
  },
];

async function withPostgres(make: (databases: TestDatabases) => Promise<FaultyStore>): Promise<FaultyStore | string> {
  const databases = await postgresDatabases();
  return typeof databases === 'string' ? databases : make(databases);
}

function storeOf(databases: TestDatabases, config: StorageConfig): FaultyStore['store'] {
  return { title: databases.title, config, open: () => databases.open(config) };
}

/** Steps the clocks of the hosts, each by itself, and the clock of PostgreSQL. */
async function stepped(databases: TestDatabases): Promise<FaultyStore> {
  const config = await databases.create();
  const server =
    config.datastore_type === 'postgresql' ? await ServerClock.make(await databases.open(config)) : undefined;
  return {
    store: storeOf(databases, config),
    hosts: 2,
    strikes: (times) => (hosts, random) => stepAll(hosts, server, random, times),
    async [Symbol.asyncDispose]() {
      await server?.[Symbol.asyncDispose]();
      await databases.end();
    },
  };
}

/** The clock of a database of PostgreSQL, as its sessions see it. */
class ServerClock implements AsyncDisposable {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Puts a function before the one of PostgreSQL that has the same name. */
  static async make(database: Database): Promise<ServerClock> {
    await database.write((connection) =>
      connection.script(`
        create table clock_step (ms double precision not null); insert into clock_step values (0);
        create function clock_timestamp() returns timestamptz language sql volatile as
          'select pg_catalog.clock_timestamp() + ms * interval ''1 millisecond'' from public.clock_step';
        do $$ begin
          execute format('alter database %I set search_path = public, pg_catalog', current_database());
          end $$;`),
    );
    return new ServerClock(database);
  }

  async set(ms: number): Promise<void> {
    await this.#database.write((connection) => connection.query('update clock_step set ms = $1', [ms]));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#database.close();
  }
}

const WAYS = ['forward', 'back'] as const;

/** Steps a random clock `times` times in each way, in random order. */
async function stepAll(
  hosts: readonly HostKeeper[],
  server: ServerClock | undefined,
  random: Random,
  times: number,
): Promise<Record<string, number>> {
  const counts: Record<(typeof WAYS)[number], number> = { forward: 0, back: 0 };
  const ofHosts = hosts.map((host) => ({ set: (ms: number) => host.order({ kind: 'clock', ms }) }));
  const clocks = [...ofHosts, ...(server ? [server] : [])].map((clock) => ({ clock, ms: 0 }));
  for (const { clock } of clocks) await clock.set(0); // waits until all hosts run
  const left = () => WAYS.filter((way) => counts[way] < times);
  for (let [first, ...others] = left(); first; [first, ...others] = left()) {
    await delay(random.exponential(PAUSE_MS));
    const way = random.pick([first, ...others]);
    const one = random.pick([clocks[0]!, ...clocks.slice(1)]);
    one.ms += random.int(0, MOST_STEP_MS) * (way === 'forward' ? 1 : -1);
    await one.clock.set(one.ms);
    counts[way] += 1;
  }
  for (const { clock } of clocks) await clock.set(0);
  return counts;
}

/** SQLite on a small disk, which another file fills. */
async function filled(): Promise<FaultyStore | string> {
  const disk = await SmallDisk.mount();
  if (typeof disk === 'string') return disk;
  const databases = sqliteDatabases();
  const made = await databases.create();
  const config = { ...made, datastore_config: { ...made.datastore_config, path: join(disk.folder, 'aana.db') } };
  return { ...filledStore(databases, config, disk), hosts: 1 };
}

/** The tables of PostgreSQL on a small disk, its log of writes on another, because the server ends without that. */
async function filledPostgres(): Promise<FaultyStore | string> {
  const disk = await SmallDisk.mount();
  if (typeof disk === 'string') return disk;
  const prepare = async (_: string, { uid, gid }: Owner): Promise<void> => {
    if (uid !== undefined) await chown(disk.folder, uid, gid ?? uid);
  };
  const databases = await postgresDatabases({ prepare });
  if (typeof databases === 'string') {
    await disk[Symbol.asyncDispose]();
    return databases;
  }
  const admin = await databases.create();
  const config = { ...admin, datastore_config: { ...admin.datastore_config, database: 'on_small_disk' } };
  await using database = await databases.open(admin);
  await database.read(async (connection) => {
    await connection.script(`create tablespace small location '${disk.folder}'`);
    await connection.script(`create database ${config.datastore_config.database} tablespace small`);
  });
  return { ...filledStore(databases, config, disk), hosts: 2 };
}

function filledStore(databases: TestDatabases, config: StorageConfig, disk: SmallDisk): Omit<FaultyStore, 'hosts'> {
  return {
    store: storeOf(databases, config),
    settings: SHORT_LEASE,
    strikes: (times) => async () => {
      for (let count = 0; count < times; count += 1) {
        await delay(PAUSE_MS);
        await fill(join(disk.folder, 'filler'), FULL_MS);
      }
      return { full: times };
    },
    async [Symbol.asyncDispose]() {
      await databases.end();
      await disk[Symbol.asyncDispose]();
    },
  };
}

class SmallDisk implements AsyncDisposable {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** Returns an empty disk, or the reason why there is none. */
  static async mount(): Promise<SmallDisk | string> {
    const folder = await mkdtemp(join(tmpdir(), 'aana-disk-'));
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'tmpfs', folder], { stdio: 'ignore' });
      return new SmallDisk(folder);
    } catch {
      await rm(folder, { recursive: true });
      return 'this user may not mount a file system';
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    execFileSync('umount', ['-l', this.folder]);
    await rm(this.folder, { recursive: true });
  }
}

/** Fills the disk for a time, also the room that others free meanwhile. */
async function fill(file: string, ms: number): Promise<void> {
  const until = performance.now() + ms;
  try {
    while (performance.now() < until) {
      for (const bytes of [2 ** 20, 4096]) {
        const block = Buffer.alloc(bytes);
        for (let isFull = false; !isFull;)
          await appendFile(file, block).catch((error: NodeJS.ErrnoException) => {
            if (error.code !== 'ENOSPC') throw error;
            isFull = true;
          });
      }
      await delay(20);
    }
  } finally {
    await rm(file, { force: true });
  }
}

/** Two hosts, one of which has no deployment for a while. Attempts that nothing worked on may be begun again. */
async function sick(databases: TestDatabases): Promise<FaultyStore> {
  const config = await databases.create();
  return {
    store: storeOf(databases, config),
    hosts: 2,
    settings: { TASK_QUEUE__MAX_RETRIES: '1', TASK_QUEUE__HEARTBEAT_TIMEOUT: '10' },
    beginsAgain: true,
    strikes: (times) => async (hosts, random) => {
      const [first, ...others] = hosts as [HostKeeper, ...HostKeeper[]];
      for (let count = 0; count < times; count += 1) {
        const struck = random.chance(0.2) ? hosts : [random.pick([first, ...others])];
        await delay(random.exponential(PAUSE_MS));
        await Promise.all(struck.map((host) => host.order({ kind: 'unload', deployment: DEPLOYMENT })));
        await delay(random.between(0, AWAY_MS));
        await Promise.all(struck.map((host) => host.order({ kind: 'load', deployment: DEPLOYMENT })));
      }
      return { away: times };
    },
    [Symbol.asyncDispose]: () => databases.end(),
  };
}
