import { delay } from '../../../base/core/abort.ts';
import { postgresDatabases, sqliteDatabases } from '../../../data/storage/fixtures/databases.ts';
import { PostgresPair } from '../../helpers/database/postgres-pair.ts';
import { type Cut, PostgresProxy } from '../../helpers/database/postgres-proxy.ts';
import type { Random } from '../../simulation/random.ts';
import type { CampaignStore, Strikes } from './campaign.ts';
import { MACHINE_FAULTS } from './machine-faults.ts';

/** A database with faults for its hosts, and its configuration. */
export interface FaultyStore extends AsyncDisposable {
  readonly store: CampaignStore;
  readonly hosts: number;
  /** Variables of the hosts. Default: a lease that is long on a busy machine. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Whether a task may be begun more than once. Default: false. */
  readonly beginsAgain?: boolean;
  /** Returns strikes with each of its faults, `times` times. */
  readonly strikes: (times: number) => Strikes;
}

/** Faults that share a round. Each group makes its own database. */
export interface FaultGroup {
  readonly name: string;
  readonly faults: readonly string[];
  readonly isLong: boolean;
  /** Makes the database, or returns why there is none. */
  readonly make: () => Promise<FaultyStore | string>;
}

export interface FaultTimes {
  /** Duration of PostgreSQL's silence. */
  readonly silenceMs: number;
  /** Duration of SQLite's lock. */
  readonly lockMs: number;
}

const CUTS: readonly [Cut, ...Cut[]] = ['statement', 'commit', 'answer'];
const PAUSE_MS = 250;
/** Maximum number of statements that pass before one is cut. */
const MOST_SKIPS = 40;
/** Time limit for the statement that a cut waits for. Under load, such statements come all the time. */
const CUT_MS = 60_000;
/** Pause between two long faults, so that one is over before the next begins. */
const CALM_MS = 3000;

/** Returns all groups of faults. */
export function faultGroups({ silenceMs, lockMs }: FaultTimes): readonly FaultGroup[] {
  return [
    {
      name: 'cuts',
      faults: CUTS,
      isLong: false,
      make: () => proxied((proxy) => (times) => (_, random) => cutAll(proxy, random, times)),
    },
    {
      name: 'silence',
      faults: ['silence'],
      isLong: true,
      make: () => proxied((proxy) => (times) => () => repeated('silence', times, () => silence(proxy, silenceMs))),
    },
    { name: 'failover', faults: ['failover'], isLong: true, make: replaced },
    { name: 'lock', faults: ['lock'], isLong: true, make: () => locked(lockMs) },
    ...MACHINE_FAULTS,
  ];
}

async function proxied(strikesOf: (proxy: PostgresProxy) => FaultyStore['strikes']): Promise<FaultyStore | string> {
  const databases = await postgresDatabases();
  if (typeof databases === 'string') return databases;
  const direct = await databases.create();
  const proxy = await PostgresProxy.start(direct.datastore_config);
  const config = { ...direct, datastore_config: { ...direct.datastore_config, port: proxy.port } };
  return {
    store: { title: 'PostgreSQL behind a proxy', config, open: () => databases.open(direct) },
    hosts: 2,
    strikes: strikesOf(proxy),
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await databases.end();
    },
  };
}

async function replaced(): Promise<FaultyStore | string> {
  const pair = await PostgresPair.start();
  if (typeof pair === 'string') return pair;
  const { datastore_config: any, ...rest } = await sqliteDatabases().create();
  const host = pair.addresses.map((one) => `${one.host}:${one.port}`).join(',');
  const config = {
    ...rest,
    datastore_type: 'postgresql' as const,
    datastore_config: { ...any, path: null, host, user: pair.user, database: pair.database },
  };
  let count = 0;
  const failOver = async (): Promise<void> => {
    count += 1;
    await delay(CALM_MS);
    const port = await pair.failOver(count % 2 ? 'crash' : 'stop');
    await delay(CALM_MS);
    await pair.addReplica(port);
  };
  return {
    store: { title: 'PostgreSQL and its replica', config, open: () => sqliteDatabases().open(config) },
    hosts: 2,
    strikes: (times) => () => repeated('failover', times, failOver),
    [Symbol.asyncDispose]: () => pair.stop(),
  };
}

async function locked(ms: number): Promise<FaultyStore> {
  const databases = sqliteDatabases();
  const config = await databases.create();
  const lock = async (): Promise<void> => {
    await delay(CALM_MS);
    await using backup = await databases.open(config);
    await backup.write(() => delay(ms));
  };
  return {
    store: { title: 'SQLite', config, open: () => databases.open(config) },
    hosts: 1,
    strikes: (times) => () => repeated('lock', times, lock),
    [Symbol.asyncDispose]: () => databases.end(),
  };
}

async function repeated(name: string, times: number, strike: () => Promise<void>): Promise<Record<string, number>> {
  for (let count = 0; count < times; count += 1) await strike();
  await delay(CALM_MS);
  return { [name]: times };
}

/** Cuts connections `times` times in each way, in random order and at random statements. */
async function cutAll(proxy: PostgresProxy, random: Random, times: number): Promise<Record<string, number>> {
  const counts: Record<string, number> = Object.fromEntries(CUTS.map((at) => [at, 0]));
  const left = (): Cut[] => CUTS.filter((at) => (counts[at] ?? 0) < times);
  for (let [first, ...others] = left(); first; [first, ...others] = left()) {
    const at = random.pick([first, ...others]);
    await delay(random.exponential(PAUSE_MS));
    const late = new AbortController();
    const isLate = delay(CUT_MS, late.signal).then(
      () => Promise.reject(new Error(`no ${at} came for ${CUT_MS / 1000} seconds`)),
      () => {},
    );
    await Promise.race([proxy.cutNext(at, at === 'statement' ? random.int(0, MOST_SKIPS) : 0), isLate]);
    late.abort();
    counts[at] = (counts[at] ?? 0) + 1;
  }
  return counts;
}

async function silence(proxy: PostgresProxy, ms: number): Promise<void> {
  await delay(CALM_MS);
  proxy.silence();
  await delay(ms);
  proxy.resume();
}
