// Limits of users that two applications share over PostgreSQL.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { z } from 'aana-host';
import { postgresDatabases } from '../data/storage/fixtures/databases.ts';
import { until } from '../inference/replicas/fixtures/sample-sets.ts';
import { skip } from '../test/skip.ts';
import { makeApp, makeFolder, postJson, started } from './fixtures/test-app.ts';

const Limits = suite('limits of several applications');
const folder = makeFolder();
const databases = await postgresDatabases();

if (typeof databases === 'string') Limits('over PostgreSQL', () => skip('limits over PostgreSQL', databases));
else
  Limits('count the requests at all of them', async () => {
    const config = {
      db_config: await databases.create(),
      rate_limits: { default: { capacity: 200, interval_seconds: 360_000 } },
    };
    const apps = ['one', 'two'].map((name) => makeApp(join(folder, name), {}, config));
    for (const app of apps) {
      app.registerEndpoint({
        name: 'none',
        path: '/none',
        input: z.object({}),
        output: z.null(),
        run: async () => null,
      });
      await started(app);
    }
    const ask = async (at: number): Promise<boolean> => {
      const { status } = await postJson(`${apps[at]!.url}/none`);
      assert.ok(status === 200 || status === 429, `${status}`);
      return status === 200;
    };
    for (let i = 0; i < 150; i += 1) assert.ok(await ask(0));
    await until(async () => {
      const lacking = { sqlite: '', postgresql: 'select lacking from rate_buckets' };
      const rows = await apps[0]!.storage.read(({ connection }) => connection.query<{ lacking: number }>(lacking, []));
      return (rows[0]?.lacking ?? 0) > 149;
    }, 'the first application has told what it allowed');
    let allowed = 0;
    while (await ask(1)) allowed += 1;
    assert.ok(allowed >= 50, `${allowed} were left`);
    assert.ok(allowed < 150, `it heard of the others after ${allowed}`);
    await Promise.all(apps.map((app) => app.shutdown()));
  });
Limits.after(async () => {
  if (typeof databases !== 'string') await databases.end();
  rmSync(folder, { recursive: true, force: true });
});

Limits.run();
