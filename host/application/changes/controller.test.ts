// Controllers of one application, on real databases that they share.
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { deferred } from '../../base/core/deferred.ts';
import { createLogger, silentLogger } from '../../base/core/log/logger.ts';
import {
  postgresDatabases,
  sqliteDatabases,
  sqliteModule,
  type TestDatabases,
} from '../../data/storage/fixtures/databases.ts';
import { mayBeCommitted, Storage } from '../../data/storage/index.ts';
import { PostgresProxy } from '../../test/helpers/database/postgres-proxy.ts';
import { errorOf } from '../../test/helpers/error-of.ts';
import { until } from '../../test/helpers/server.ts';
import { skip } from '../../test/skip.ts';
import { DeploymentManager } from '../../inference/deployments/index.ts';
import { SampleDeployment } from '../../inference/deployments/fixtures/sample-deployment.ts';
import { Controller } from './controller.ts';
import { OperatorChanges } from './operator-changes.ts';

const Controllers = suite('controllers of an application');
const postgres = await postgresDatabases();
const kinds: [string, TestDatabases][] = [['SQLite', sqliteDatabases()]];
if (typeof postgres !== 'string') kinds.push(['PostgreSQL', postgres]);
else skip('controllers on PostgreSQL', postgres);

const row = (deployment: string, changedBy: string) => ({
  ...{ deployment, replicas: '2', configured: '1', isUnloaded: false, applied: null, changedBy },
});

for (const [kind, databases] of kinds) {
  const config = await databases.create();
  const storages: Storage[] = [];
  let applications = 0;
  const storageOf = (): Storage => {
    const storage = new Storage({ config, log: silentLogger, sqliteModule });
    storages.push(storage);
    return storage;
  };
  const shared = storageOf();
  const other = storageOf();
  await shared.migrate();
  const known = (): string => `app ${(applications += 1)} on 8000`;
  const make = (application: string | undefined, host: string, log = silentLogger, storage = shared): Controller =>
    new Controller({ storage, application: () => application, host, log });
  const namesOf = async (application: string): Promise<string[]> => {
    const rows = await shared.read(({ wantedDeployments }) => wantedDeployments.list(application));
    return rows.map(({ deployment }) => deployment);
  };
  const keep = (one: Controller, name: string): Promise<void> =>
    one.write(({ wantedDeployments }, { application }) => wantedDeployments.keep(application, row(name, name)));

  Controllers.after(async () => {
    for (const storage of storages) await storage.close();
    await databases.end();
  });

  Controllers(`of which only the newest one writes, whatever the order, on ${kind}`, async () => {
    const act = fc.record({ who: fc.nat(3), what: fc.constantFrom('begin', 'write', 'look') });
    await fc.assert(
      fc.asyncProperty(fc.array(act, { minLength: 1, maxLength: 12 }), async (acts) => {
        const application = known();
        const all = [0, 1, 2, 3].map((number) =>
          make(application, `host ${number}`, silentLogger, number % 2 === 0 ? shared : other),
        );
        const begun: Controller[] = [];
        const written: string[] = [];
        for (const [index, { who, what }] of acts.entries()) {
          const one = all[who]!;
          const isNewest = begun.at(-1) === one;
          if (what === 'begin') {
            const before = one.epoch;
            const control = await one.begin();
            if (before === undefined) begun.push(one);
            assert.is(control?.epoch, begun.indexOf(one) + 1);
          } else if (what === 'look') {
            await one.look();
            assert.is(one.superseded()?.name, begun.includes(one) && !isNewest ? 'ControllerSuperseded' : undefined);
          } else if (!begun.includes(one) || isNewest) {
            await keep(one, `d${index}`); // which begins, if it has not
            if (!isNewest) begun.push(one);
            written.push(`d${index}`);
          } else {
            const error = await errorOf(keep(one, `d${index}`));
            const newest = all.indexOf(begun.at(-1)!);
            assert.match(
              error.message,
              new RegExp(`^host ${newest} \\(epoch ${begun.length}\\) has become the controller`),
            );
            assert.is(one.superseded()?.name, 'ControllerSuperseded');
          }
        }
        assert.equal(await namesOf(application), written.toSorted());
        for (const one of all) await one.stop();
      }),
      { numRuns: 25 },
    );
  });

  Controllers(`take different epochs when they begin at the same time, on ${kind}`, async () => {
    const application = known();
    const all = [1, 2, 3, 4].map((number) =>
      make(application, `host ${number}`, silentLogger, number % 2 === 0 ? shared : other),
    );
    const epochs = (await Promise.all(all.map((one) => one.begin()))).map((control) => control?.epoch);
    assert.equal(epochs.toSorted(), [1, 2, 3, 4]);
    const outcomes = await Promise.allSettled(all.map((one, index) => keep(one, `d${index}`)));
    assert.equal(
      outcomes.map(({ status }) => status),
      epochs.map((epoch) => (epoch === 4 ? 'fulfilled' : 'rejected')),
    );
    assert.equal(await namesOf(application), [`d${epochs.indexOf(4)}`]);
    for (const one of all) await one.stop();
  });

  Controllers(`begin after a transaction of the one before, on ${kind}`, async () => {
    const application = known();
    const [first, second] = [make(application, 'first'), make(application, 'second', silentLogger, other)];
    await first.begin();
    const [isIn, mayEnd] = [deferred(), deferred()];
    const order: string[] = [];
    const writing = first
      .write(async ({ wantedDeployments }) => {
        isIn.resolve();
        await mayEnd.promise;
        await wantedDeployments.keep(application, row('kept', 'first'));
      })
      .then(() => order.push('written'));
    await isIn.promise;
    const beginning = second.begin().then(() => order.push('begun'));
    // The second one has sent its statement when another one of its database has been answered.
    await other.read(({ connection }) => connection.query('select 1'));
    mayEnd.resolve();
    await Promise.all([writing, beginning]);
    assert.equal([order, await namesOf(application)], [['written', 'begun'], ['kept']]);
    assert.is((await errorOf(first.require())).name, 'ControllerSuperseded');
    await second.require();
    await Promise.all([first.stop(), second.stop()]);
  });

  Controllers(`begin with what the one before has kept meanwhile, on ${kind}`, async () => {
    const application = known();
    const [first, second] = [make(application, 'first'), make(application, 'second', silentLogger, other)];
    const applied = { applied: 'other options', changedAt: 5 };
    await first.write(async ({ wantedDeployments }) => {
      for (const name of ['one', 'two']) await wantedDeployments.keep(application, { ...row(name, 'ann'), ...applied });
    });
    const deployments = new DeploymentManager({
      log: silentLogger,
      env: {},
      models: { pull: async () => assert.unreachable() as never },
    });
    for (const name of ['one', 'two']) deployments.register(name, SampleDeployment.options({ user_config: {} }));
    const changes = new OperatorChanges({
      ...{ controller: second, storage: other, deployments: () => deployments, log: silentLogger },
      ...{ load: async () => assert.unreachable(), isStarted: () => true },
    });
    await changes.planStarts();
    await first.write(({ wantedDeployments }) =>
      wantedDeployments.keep(application, { ...row('two', 'bob'), ...applied, isUnloaded: true }),
    );
    await changes.begin();
    const rows = await shared.read(({ wantedDeployments }) => wantedDeployments.list(application));
    assert.equal(rows, [
      { ...row('one', 'ann'), changedAt: 5 },
      { ...row('two', 'bob'), ...applied, isUnloaded: true },
    ]);
    await Promise.all([first.stop(), second.stop()]);
  });

  Controllers(`say once that they are superseded, and keep nothing without an identity, on ${kind}`, async () => {
    const lines: string[] = [];
    const log = createLogger({ level: 'info', format: 'json', write: (line) => lines.push(line) });
    const application = known();
    const first = make(application, 'first', log);
    await first.begin();
    const second = make(application, 'second');
    await second.begin();
    for (let count = 0; count < 3; count += 1) assert.is((await errorOf(first.require())).name, 'ControllerSuperseded');
    assert.equal(
      lines.map((line) => (JSON.parse(line) as { message: string }).message),
      ['this host is no longer the controller'],
    );
    const nobody = make(undefined, 'nobody');
    assert.is(await nobody.begin(), undefined);
    await nobody.write(async () => assert.unreachable('there is nothing to write'));
    await nobody.require();
    await Promise.all([first.stop(), second.stop(), nobody.stop()]);
  });

  Controllers(`name no successor when their database was put back, on ${kind}`, async () => {
    for (const back of ['update controllers set epoch = 1', 'delete from controllers']) {
      const application = known();
      const [first, second] = [make(application, 'first'), make(application, 'second')];
      await first.begin();
      await second.begin();
      await shared.write(({ connection }) => connection.query(`${back} where application = $1`, [application]));
      const { name, message } = await errorOf(second.require());
      assert.is(name, 'ControllerSuperseded');
      assert.match(message, `the database knows no start of ${application} as late as this one (epoch 2)`);
      await Promise.all([first.stop(), second.stop()]);
    }
  });

  Controllers(`keep the last thousand changes, on ${kind}`, async () => {
    const application = known();
    const one = make(application, 'one');
    const { epoch } = (await one.begin())!;
    const record = (deployment: string) =>
      ({ epoch, deployment, kind: 'scale', detail: '1 to 2', changed_by: 'me' }) as const;
    await one.write(async ({ wantedDeployments, connection }) => {
      await wantedDeployments.record(application, record('first'));
      await connection.query('update deployment_changes set number = 1500 where application = $1', [application]);
      await wantedDeployments.record(application, record('second'));
      await connection.query('update deployment_changes set number = 500 where number = 1500 and application = $1', [
        application,
      ]);
      await wantedDeployments.record(application, record('third'));
    });
    const changes = await shared.read(({ wantedDeployments }) => wantedDeployments.changes(application, { limit: 10 }));
    assert.equal(
      changes.map(({ number, deployment }) => [number, deployment]),
      [
        [1502, 'third'],
        [1501, 'second'],
      ],
    );
    const [only] = await shared.read(({ wantedDeployments }) =>
      wantedDeployments.changes(application, { limit: 1, deployment: 'second' }),
    );
    assert.is(only?.number, 1501);
    await one.stop();
  });
}

Controllers('refuse changes while another process locks the file of SQLite', async () => {
  const databases = sqliteDatabases();
  const config = await databases.create();
  const [mine, others] = [0.1, 10].map(
    (seconds) => new Storage({ config: { ...config, connection_timeout: seconds }, log: silentLogger, sqliteModule }),
  ) as [Storage, Storage];
  await mine.migrate();
  const one = new Controller({ storage: mine, application: () => 'app on 8000', log: silentLogger });
  await one.begin();
  const [isLocked, mayEnd] = [deferred(), deferred()];
  const locking = others.write(async () => {
    isLocked.resolve();
    await mayEnd.promise;
  });
  await isLocked.promise;
  assert.is((await errorOf(one.require())).name, 'DatabaseException');
  mayEnd.resolve();
  await locking;
  await one.require();
  await one.stop();
  await Promise.all([mine.close(), others.close()]);
  await databases.end();
});

if (typeof postgres !== 'string') {
  Controllers('of which one was cut off while another one began', async () => {
    const config = await postgres.create();
    await using proxy = await PostgresProxy.start(config.datastore_config);
    const away = { ...config.datastore_config, port: proxy.port };
    const cutOff = new Storage({
      config: { ...config, connection_timeout: 1, query_timeout: 1, datastore_config: away },
      ...{ log: silentLogger, sqliteModule },
    });
    const near = new Storage({ config, log: silentLogger, sqliteModule });
    await near.migrate();
    const of = (storage: Storage, host: string): Controller =>
      new Controller({ storage, application: () => 'app on 8000', host, log: silentLogger });
    const [first, second] = [of(cutOff, 'first'), of(near, 'second')];
    const keep = (one: Controller, name: string): Promise<void> =>
      one.write(({ wantedDeployments }, { application }) => wantedDeployments.keep(application, row(name, name)));
    await cutOff.migrate();
    void proxy.cutNext('answer');
    assert.ok(mayBeCommitted(await errorOf(first.begin())), 'whether it has an epoch is unknown');
    assert.is((await first.begin())?.epoch, 2, 'so it takes another one');
    await keep(first, 'before');

    proxy.silence();
    const refused = await Promise.all([errorOf(first.require()), errorOf(keep(first, 'lost'))]);
    assert.equal(
      refused.map(({ name }) => name),
      ['DatabaseException', 'DatabaseException'],
    );
    assert.is(first.superseded(), undefined, 'it does not know, so it still replaces its replicas');
    assert.is((await second.begin())?.epoch, 3);
    proxy.resume();
    await until(() =>
      first.look().then(
        () => first.superseded() !== undefined,
        () => false,
      ),
    );
    assert.is((await errorOf(keep(first, 'late'))).name, 'ControllerSuperseded');
    const rows = await near.read(({ wantedDeployments }) => wantedDeployments.list('app on 8000'));
    assert.equal(
      rows.map(({ deployment }) => deployment),
      ['before'],
    );
    await Promise.all([first.stop(), second.stop()]);
    await Promise.all([cutOff.close(), near.close()]);
  });
}

Controllers.run();
