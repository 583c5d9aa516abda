// `npm run campaign:tasks [-- kills [seed [store]]]`: hosts, threads and replicas die under a load of tasks, on SQLite and on PostgreSQL; prints what became of the tasks.
import { postgresDatabases, sqliteDatabases, type TestDatabases } from '../../../storage/fixtures/databases.ts';
import { runCampaign } from './campaign.ts';

const [kills, seed] = [Number(process.argv[2] ?? 100), Number(process.argv[3] ?? Math.floor(Math.random() * 2 ** 31))];
const only = process.argv[4];
if (!Number.isInteger(kills) || !Number.isInteger(seed) || (only !== undefined && !['sqlite', 'postgresql'].includes(only))) {
  process.stderr.write('usage: npm run campaign:tasks -- [kills of each kind] [seed] [sqlite or postgresql]\n');
  process.exit(2);
}

let bad = 0;
async function run(databases: TestDatabases, hosts: number): Promise<void> {
  try {
    const { problems, ...figures } = await runCampaign({ databases, hosts, kills, seed, clients: 24 });
    process.stdout.write(`${databases.title}, seed ${seed}, ${hosts} host${hosts > 1 ? 's' : ''}: ${JSON.stringify(figures)}\n`);
    for (const problem of problems) process.stdout.write(`${problem}\n`);
    process.stdout.write(problems.length === 0 ? '  nothing is wrong\n' : `  ${problems.length} problems; again with: npm run campaign:tasks -- ${kills} ${seed}\n`);
    bad += problems.length;
  } finally {
    await databases.end();
  }
}

if (only !== 'postgresql') await run(sqliteDatabases(), 1);
if (only !== 'sqlite') {
  const postgres = await postgresDatabases();
  if (typeof postgres === 'string') process.stdout.write(`PostgreSQL was left out: ${postgres}\n`);
  else await run(postgres, 2);
}
process.exitCode = bad > 0 ? 1 : 0;
