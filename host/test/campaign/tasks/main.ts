// `npm run campaign:tasks [-- kills [seed [store]]]`: hosts, plugins and replicas die under a load of tasks, on SQLite
// and on PostgreSQL. Prints the outcomes of the tasks. `npm run campaign:tasks -- faults <folder> [short [long [seed
// [groups]]]]`: databases are cut off, silent, replaced and locked, clocks are set, disks fill, and hosts lack a
// deployment, the given number of times each. It continues where an earlier run in the folder ended.
import { postgresDatabases, sqliteDatabases, type TestDatabases } from '../../../data/storage/fixtures/databases.ts';
import { runCampaign } from './campaign.ts';
import { killAll } from './kills.ts';
import { runRounds } from './rounds.ts';
import { faultGroups } from './store-faults.ts';

const USAGE = `usage: npm run campaign:tasks -- [kills of each kind] [seed] [sqlite or postgresql]
       npm run campaign:tasks -- faults <folder> [times of each short fault] [of each long one] [seed] [groups]
groups: cuts,silence,failover,lock,clock,clock-postgresql,disk,disk-postgresql,sick,sick-postgresql
`;
const print = (line: string): boolean => process.stdout.write(`${line}\n`);
const fresh = Math.floor(Math.random() * 2 ** 31);

async function runKills([kills = 100, seed = fresh]: readonly number[], only: string | undefined): Promise<number> {
  let bad = 0;
  const run = async (databases: TestDatabases, hosts: number): Promise<void> => {
    try {
      const config = await databases.create();
      const store = { title: databases.title, config, open: () => databases.open(config) };
      const { problems, ...figures } = await runCampaign({
        store,
        hosts,
        strikes: (hostsOfRun, random) => killAll(hostsOfRun, random, kills),
        seed,
        clients: 24,
      });
      print(`${databases.title}, seed ${seed}, ${hosts} host${hosts > 1 ? 's' : ''}: ${JSON.stringify(figures)}`);
      for (const problem of problems) print(problem);
      print(
        problems.length === 0
          ? '  no problems'
          : `  ${problems.length} problems; repeat with: npm run campaign:tasks -- ${kills} ${seed}`,
      );
      bad += problems.length;
    } finally {
      await databases.end();
    }
  };
  if (only !== 'postgresql') await run(sqliteDatabases(), 1);
  if (only !== 'sqlite') {
    const postgres = await postgresDatabases();
    if (typeof postgres === 'string') print(`PostgreSQL was left out: ${postgres}`);
    else await run(postgres, 2);
  }
  return bad;
}

async function runFaults(
  folder: string,
  [short = 100, long = 10, seed = fresh]: readonly number[],
  only: string | undefined,
): Promise<number> {
  const groups = faultGroups({ silenceMs: 60_000, lockMs: 30_000 }).filter(
    ({ name }) => only === undefined || only.split(',').includes(name),
  );
  const rounds = await runRounds({
    folder,
    groups,
    aims: { short, long },
    perRound: { short: 25, long: 2 },
    clients: 24,
    seed,
    tell: print,
  });
  const strikes: Record<string, number> = {};
  for (const round of rounds)
    for (const [name, times] of Object.entries(round.strikes)) strikes[name] = (strikes[name] ?? 0) + times;
  const problems = rounds.reduce((sum, round) => sum + round.problems.length, 0);
  const names = ['accepted', 'attempts', 'events', 'unknown', 'lostAnswers', 'seconds'] as const;
  const totals = names.map((name) => [name, rounds.reduce((sum, round) => sum + round[name], 0)]);
  print(`all rounds in ${folder}: ${JSON.stringify({ strikes, ...Object.fromEntries(totals), problems })}`);
  return problems;
}

const [first, ...others] = process.argv.slice(2);
const isFaults = first === 'faults';
const [folder = ''] = others;
const numbers = (isFaults ? others.slice(1, 4) : process.argv.slice(2, 4)).map(Number);
const only = isFaults ? others[4] : process.argv[4];
const isKnown = isFaults ? folder !== '' : only === undefined || ['sqlite', 'postgresql'].includes(only);
if (!isKnown || numbers.some((number) => !Number.isInteger(number))) {
  process.stderr.write(USAGE);
  process.exit(2);
}
const bad = isFaults ? await runFaults(folder, numbers, only) : await runKills(numbers, only);
process.exitCode = bad > 0 ? 1 : 0;
