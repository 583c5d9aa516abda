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
import { Storage } from '../../data/storage/index.ts';
import { errorOf } from '../../test/helpers/error-of.ts';
import { skip } from '../../test/skip.ts';
import { Controller } from './controller.ts';

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

Controllers.run();
