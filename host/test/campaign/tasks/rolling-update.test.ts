// A newer version, whose migration expands, is started beside an older one under a load of tasks, and replaced by the
// older one again.
import { rm } from 'node:fs/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { postgresDatabases, sqliteDatabases, type TestDatabases } from '../../../data/storage/fixtures/databases.ts';
import { skip } from '../../skip.ts';
import { runCampaign } from './campaign.ts';
import { newerPackage, updateAndGoBack } from './rolling-update.ts';

const Update = suite('an update under load');
const seed = Math.floor(Math.random() * 2 ** 31);
const NEWER = `
  alter table tasks add column note text not null default 'none';
  alter table batches add column note text;
  create table notes (id integer primary key, note text not null);
  create index tasks_note on tasks (note, seq);`;

function updateTest(databases: TestDatabases, hosts: number): void {
  Update(`and the way back lose and double no task on ${databases.title} (seed ${seed})`, async () => {
    const newer = await newerPackage(NEWER);
    try {
      const config = await databases.create();
      const store = { title: databases.title, config, open: () => databases.open(config) };
      const strikes = updateAndGoBack(newer.root);
      const { problems, accepted } = await runCampaign({ store, hosts, strikes, seed, clients: 2 });
      assert.is(problems.join('\n'), '');
      await using database = await store.open();
      const [row] = await database.read((connection) =>
        connection.query('select max(number) as number, max(least) as least from aana_migrations'),
      );
      assert.equal(row, { number: newer.number, least: 1 });
      const [{ tasks } = { tasks: 0 }] = await database.read((connection) =>
        connection.query<{ tasks: number }>("select count(*) as tasks from tasks where note = 'none'"),
      );
      assert.ok(accepted > 0 && Number(tasks) >= accepted);
    } finally {
      await rm(newer.root, { recursive: true });
      await databases.end();
    }
  });
}

updateTest(sqliteDatabases(), 1);
const postgres = await postgresDatabases();
if (typeof postgres === 'string') skip('an update of one of two hosts on PostgreSQL', postgres);
else updateTest(postgres, 2);

Update.run();
