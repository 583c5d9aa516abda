// Rate limits of several hosts, on real databases that they share.
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../base/core/log/logger.ts';
import { skip } from '../../test/skip.ts';
import { postgresDatabases, sqliteDatabases, sqliteModule, type TestDatabases } from '../storage/fixtures/databases.ts';
import { Storage } from '../storage/index.ts';
import { RateLimiter } from './rate-limiter.ts';
import { SharedBuckets } from './shared-buckets.ts';

const Buckets = suite('rate limits of several hosts');
const postgres = await postgresDatabases();
const kinds: [string, TestDatabases][] = [['SQLite', sqliteDatabases()]];
if (typeof postgres !== 'string') kinds.push(['PostgreSQL', postgres]);

interface Host {
  readonly storage: Storage;
  readonly limiter: RateLimiter;
  readonly shared: SharedBuckets;
}

/** An hour for each request, so that no time of a test gives one back. */
const slow = (capacity: number) => ({ capacity, interval_seconds: capacity * 3600 });

for (const [kind, databases] of kinds) {
  const hosts = async (count: number) => {
    const config = await databases.create();
    const all = Array.from({ length: count }, (): Host => {
      const storage = new Storage({ config, log: silentLogger, sqliteModule });
      const limiter = new RateLimiter();
      return { storage, limiter, shared: new SharedBuckets({ storage, limiter, log: silentLogger }) };
    });
    await all[0]!.storage.migrate();
    return {
      all,
      /** Tells all that was spent. The hosts that told first need not know what the others told. */
      told: () => Promise.all(all.map(({ shared }) => shared.told())),
      close: () => Promise.all(all.map(async ({ shared, storage }) => shared.stop().then(() => storage.close()))),
    };
  };
  const take = ({ limiter }: Host, key: string, capacity: number): boolean =>
    limiter.take([{ key, limit: slow(capacity) }])[0]!.isAllowed;

  Buckets(`are those of all hosts together, on ${kind}`, async () => {
    const { all, told, close } = await hosts(3);
    const [one, two, three] = all as [Host, Host, Host];
    for (let i = 0; i < 5; i += 1) assert.ok(take(one, 'user a', 8));
    await told();
    assert.ok(take(two, 'user a', 8), 'a host that has heard nothing allows one');
    await told();
    assert.equal([take(two, 'user a', 8), take(two, 'user a', 8), take(two, 'user a', 8)], [true, true, false]);
    assert.ok(take(two, 'user b', 8), 'another caller has another bucket');
    await told();
    take(three, 'user a', 8); // too much, for which the caller waits
    await told();
    const [verdict] = three.limiter.look([{ key: 'user a', limit: slow(8) }]);
    assert.is(verdict?.isAllowed, false);
    assert.ok(verdict!.retryAfterS > 3600 && verdict!.retryAfterS <= 2 * 3600, `${verdict?.retryAfterS}`);
    await close();
  });

  Buckets(`have what hosts spent and gave back, in any order, on ${kind}`, async () => {
    const { all, told, close } = await hosts(3);
    let round = 0;
    const step = fc.record({ host: fc.nat(2), key: fc.constantFrom('a', 'b'), gives: fc.boolean() });
    const property = fc.asyncProperty(
      fc.array(fc.oneof(step, fc.constant('told')), { maxLength: 30 }),
      async (steps) => {
        round += 1;
        const spent = new Map<string, number>();
        for (const one of steps) {
          if (one === 'told') await told();
          else {
            const { host, gives } = one as { host: number; gives: boolean };
            const key = `${(one as { key: string }).key}${round}`;
            const check = { key, limit: slow(1000) };
            if (gives && (spent.get(key) ?? 0) === 0) continue;
            const { limiter } = all[host]!;
            const before = limiter.look([check])[0]!.remaining;
            if (gives && before === 1000) continue; // this host knows of nothing to give back
            if (gives) limiter.giveBack(check);
            else limiter.spend(check, 1);
            spent.set(key, (spent.get(key) ?? 0) + (gives ? -1 : 1));
          }
        }
        await told();
        for (const [key, count] of spent) {
          const check = { key, limit: slow(1000) };
          all[0]!.limiter.spend(check, 1); // hears of the others
          await told();
          assert.is(all[0]!.limiter.look([check])[0]?.remaining, 1000 - count - 1, key);
        }
      },
    );
    await fc.assert(property, { numRuns: 5 });
    await close();
  });

  Buckets(`refill while hosts share them, and count for a new limit, on ${kind}`, async () => {
    const { all, told, close } = await hosts(2);
    const [one, two] = all as [Host, Host];
    const fast = { key: 'a', limit: { capacity: 4, interval_seconds: 0.004 } };
    for (let i = 0; i < 4; i += 1) one.limiter.spend(fast, 1);
    await told(); // takes longer than the refill
    two.limiter.spend({ ...fast, limit: slow(10) }, 3);
    await told();
    one.limiter.spend({ ...fast, limit: slow(10) }, 1);
    await told();
    assert.is(one.limiter.look([{ ...fast, limit: slow(10) }])[0]?.remaining, 6);
    assert.is(one.limiter.look([{ ...fast, limit: slow(5) }])[0]?.remaining, 1);
    await close();
  });

  Buckets(`are counted by each host while the database is away, on ${kind}`, async () => {
    const { all, told, close } = await hosts(2);
    const [one, two] = all as [Host, Host];
    await one.storage.close();
    for (let i = 0; i < 3; i += 1) assert.ok(take(one, 'a', 3));
    assert.not(take(one, 'a', 3));
    assert.ok(take(two, 'a', 3));
    await two.shared.told();
    await close();
    await told();
  });

  Buckets(`are told of although the database refuses one of them, on ${kind}`, async () => {
    const { all, told, close } = await hosts(2);
    const [one, two] = all as [Host, Host];
    one.limiter.onSpent?.({ key: 'bad', count: Number.NaN, stepMs: 1 });
    await told();
    for (let i = 0; i < 5; i += 1) take(one, 'a', 8);
    await told();
    take(two, 'a', 8);
    await told();
    assert.is(two.limiter.look([{ key: 'a', limit: slow(8) }])[0]?.remaining, 2);
    await close();
  });

  Buckets(`of very many callers are told of in several transactions, on ${kind}`, async () => {
    const { all, close } = await hosts(1);
    const [{ storage, limiter, shared }] = all as [Host];
    const sizes: number[] = [];
    const write = storage.write.bind(storage);
    storage.write = (work, options) =>
      write((repositories) => {
        const { rateBuckets } = repositories;
        const take = rateBuckets.take.bind(rateBuckets);
        rateBuckets.take = (taken) => {
          sizes.push(taken.length);
          return take(taken);
        };
        return work(repositories);
      }, options);
    for (let i = 0; i < 3500; i += 1) limiter.spend({ key: `caller ${i}`, limit: slow(8) }, 1);
    await shared.told();
    assert.is(
      sizes.reduce((sum, size) => sum + size, 0),
      3500,
    );
    assert.ok(Math.max(...sizes) <= 1000, `${sizes}`);
    await close();
  });

  Buckets(`that are full leave the database, on ${kind}`, async () => {
    const { all, told, close } = await hosts(1);
    const [{ limiter, storage }] = all as [Host];
    limiter.spend({ key: 'fast', limit: { capacity: 1, interval_seconds: 0.001 } }, 1);
    limiter.spend({ key: 'slow', limit: slow(1) }, 1);
    await told();
    const later = Date.now() + 60_000;
    assert.equal(await storage.write(({ rateBuckets }) => rateBuckets.prune(later, 10)), 1);
    assert.equal(await storage.write(({ rateBuckets }) => rateBuckets.prune(later, 10)), 0);
    await close();
  });
}
if (typeof postgres === 'string') Buckets('on PostgreSQL', () => skip('rate limits on PostgreSQL', postgres));
Buckets.after(async () => {
  for (const [, databases] of kinds) await databases.end();
});

Buckets.run();
