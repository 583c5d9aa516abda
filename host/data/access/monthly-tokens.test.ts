// Tokens of a month, on real databases that several hosts share.
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../base/core/log/logger.ts';
import { postgresDatabases, sqliteDatabases, sqliteModule, type TestDatabases } from '../storage/fixtures/databases.ts';
import { Storage } from '../storage/index.ts';
import { skip } from '../../test/skip.ts';
import { MonthlyTokens } from './monthly-tokens.ts';

const Tokens = suite('tokens of a month');
const postgres = await postgresDatabases();
const kinds: [string, TestDatabases][] = [['SQLite', sqliteDatabases()]];
if (typeof postgres !== 'string') kinds.push(['PostgreSQL', postgres]);

for (const [kind, databases] of kinds) {
  /** Opens a database as several hosts. Each has a clock that the test sets. */
  const hosts = async (count: number) => {
    const config = await databases.create();
    const clock = { now: Date.UTC(2026, 10, 28) };
    const storages = Array.from({ length: count }, () => new Storage({ config, log: silentLogger, sqliteModule }));
    return {
      clock,
      storages,
      months: storages.map((storage) => new MonthlyTokens({ storage, log: silentLogger, now: () => clock.now })),
      close: async () => Promise.all(storages.map((storage) => storage.close())),
    };
  };

  Tokens(`of all hosts are counted once, on ${kind}`, async () => {
    const { months, close } = await hosts(3);
    const used = fc.record({ host: fc.nat(2), name: fc.constantFrom('user a', 'user b'), tokens: fc.nat(1e9) });
    const sums = new Map<string, number>();
    const step = fc.asyncProperty(fc.array(fc.oneof(used, fc.record({ stores: fc.nat(2) }))), async (steps) => {
      for (const one of steps) {
        if ('stores' in one) await months[one.stores]!.store();
        else {
          months[one.host]!.add(one.name, one.tokens);
          sums.set(one.name, (sums.get(one.name) ?? 0) + one.tokens);
        }
      }
      await Promise.all(months.map((host) => host.store())); // at the same time
      for (const [name, sum] of sums) {
        const counts = months.map((host) => host.used(name));
        assert.is(Math.max(...counts), sum, 'the host that stored last knows all tokens');
      }
    });
    await fc.assert(step, { numRuns: 20 });
    await Promise.all(months.map((host) => host.stop()));
    await close();
  });

  Tokens(`begin with 0 in each month (UTC), on ${kind}`, async () => {
    const { months, clock, close } = await hosts(2);
    const [one, two] = months as [MonthlyTokens, MonthlyTokens];
    one.add('user a', 5);
    await one.store();
    await two.read(['user a', 'user b']);
    assert.equal([two.used('user a'), two.used('user b')], [5, 0]);
    assert.is(two.endsInS(), 3 * 86_400);
    clock.now = Date.UTC(2026, 10, 30, 23, 59, 59, 999);
    assert.equal([two.used('user a'), two.endsInS()], [5, 1]);
    clock.now += 1;
    assert.equal([one.used('user a'), two.used('user a'), two.endsInS()], [0, 0, 31 * 86_400]);
    two.add('user a', 2);
    await two.store();
    await one.read(['user a']);
    assert.is(one.used('user a'), 2);
    await Promise.all(months.map((host) => host.stop()));
    await close();
  });

  Tokens(`are counted in memory while the database is away, on ${kind}`, async () => {
    const { months, storages, close } = await hosts(2);
    const [one, two] = months as [MonthlyTokens, MonthlyTokens];
    await storages[0]!.close();
    one.add('user a', 5);
    await one.read(['user a', 'user b']);
    assert.equal([one.used('user a'), one.used('user b')], [5, 0]);
    assert.ok(
      await one.store().then(
        () => false,
        () => true,
      ),
    );
    assert.is(one.used('user a'), 5);
    await two.read(['user a']);
    assert.is(two.used('user a'), 0);
    await Promise.all(months.map((host) => host.stop()));
    await close();
  });
}
if (typeof postgres === 'string') Tokens('on PostgreSQL', () => skip('tokens of a month on PostgreSQL', postgres));
Tokens.after(async () => {
  for (const [, databases] of kinds) await databases.end();
});

Tokens.run();
