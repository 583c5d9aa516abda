// The short form of `npm run campaign:tasks`: real hosts, threads and replicas die under a load of tasks.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { postgresDatabases, sqliteDatabases, type TestDatabases } from '../../../storage/fixtures/databases.ts';
import { skip } from '../../skip.ts';
import { runCampaign } from './campaign.ts';

const Campaign = suite('tasks under kills');
const seed = Math.floor(Math.random() * 2 ** 31);

function campaignTest(databases: TestDatabases, hosts: number): void {
  Campaign(`every accepted task ends once, with the right result, on ${databases.title} (seed ${seed})`, async () => {
    try {
      const { problems, kills, accepted } = await runCampaign({ databases, hosts, kills: 2, seed, clients: 4 });
      assert.is(problems.join('\n'), '');
      assert.equal(kills, { host: 2, thread: 2, replica: 2 });
      assert.ok(accepted > 0);
    } finally {
      await databases.end();
    }
  });
}

const postgres = await postgresDatabases();
campaignTest(sqliteDatabases(), 1);
if (typeof postgres === 'string') skip('the campaign over PostgreSQL', postgres);
else campaignTest(postgres, 2);
Campaign.run();
