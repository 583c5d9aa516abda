// The short form of `npm run campaign:tasks`: real hosts, plugins and replicas die under a load of tasks, and their
// databases become unavailable.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { postgresDatabases, sqliteDatabases, type TestDatabases } from '../../../data/storage/fixtures/databases.ts';
import { skip } from '../../skip.ts';
import { runCampaign } from './campaign.ts';
import { HostKeeper } from './host-keeper.ts';
import { killAll } from './kills.ts';
import { runRounds } from './rounds.ts';
import { faultGroups } from './store-faults.ts';

const Campaign = suite('tasks under kills and without their database');
const seed = Math.floor(Math.random() * 2 ** 31);

function campaignTest(databases: TestDatabases, hosts: number): void {
  Campaign(`every accepted task ends once, with the right result, on ${databases.title} (seed ${seed})`, async () => {
    try {
      const config = await databases.create();
      const store = { title: databases.title, config, open: () => databases.open(config) };
      const { problems, strikes, accepted } = await runCampaign({
        store,
        hosts,
        strikes: (hostsOfRun, random) => killAll(hostsOfRun, random, 1),
        seed,
        clients: 2,
      });
      assert.is(problems.join('\n'), '');
      assert.equal(strikes, { host: 1, plugin: 1, replica: 1 });
      assert.ok(accepted > 0);
    } finally {
      await databases.end();
    }
  });
}

Campaign('a host that is stopped while it starts ends', async () => {
  const databases = sqliteDatabases();
  const folder = await mkdtemp(join(tmpdir(), 'aana-keeper-'));
  const keeper = new HostKeeper(folder, 0, await databases.create());
  try {
    await keeper.start();
    await keeper.stop();
    assert.equal(keeper.ownEnds, []);
  } finally {
    await rm(folder, { recursive: true });
    await databases.end();
  }
});

const postgres = await postgresDatabases();
campaignTest(sqliteDatabases(), 1);
if (typeof postgres === 'string') skip('the campaign over PostgreSQL', postgres);
else campaignTest(postgres, 2);

/** The groups that the command runs in addition: over another database, or other ways in which a database is away. */
const LONG_FORM = new Set(['clock-postgresql', 'disk-postgresql', 'sick-postgresql', 'silence', 'failover', 'lock']);

for (const group of faultGroups({ silenceMs: 2000, lockMs: 2000 })) {
  if (LONG_FORM.has(group.name)) continue;
  Campaign(`every accepted task ends once under ${group.faults.join(', ')} (seed ${seed})`, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'aana-rounds-'));
    const leftOut: string[] = [];
    const tell = (line: string): void => void leftOut.push(line);
    try {
      const once = { short: 1, long: 1 };
      const options = { folder, groups: [group], perRound: once, aims: once, clients: 2, seed, tell };
      const rounds = await runRounds(options);
      if (rounds.length === 0) return skip(`tasks under ${group.name}`, leftOut.join(', '));
      assert.is(rounds.flatMap(({ problems }) => problems).join('\n'), '');
      assert.equal(
        rounds.map(({ strikes }) => strikes),
        [Object.fromEntries(group.faults.map((fault) => [fault, 1]))],
      );
      assert.ok(rounds.every(({ accepted }) => accepted > 0));
      assert.equal(await runRounds(options), rounds); // no fault is left to strike
    } finally {
      await rm(folder, { recursive: true });
    }
  });
}

Campaign.run();
