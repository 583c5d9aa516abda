import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { RateLimitHandler } from './rate-limit-handler.ts';
import { RateLimiter } from './rate-limiter.ts';
import { clientNetwork } from './client-network.ts';
import { RateLimits } from './rate-limits.ts';

const Rates = suite('rate limits');
let time = 0;
const now = (): number => time;
Rates.before.each(() => {
  time = 1000;
});

Rates('allow a full bucket at once, and then requests as it refills', () => {
  const limiter = new RateLimiter({ now });
  const check = { key: 'a', limit: { capacity: 3, interval_seconds: 1 } };
  const take = () => limiter.take([check])[0];
  assert.equal(
    [take(), take(), take()].map((one) => [one?.isAllowed, one?.remaining]),
    [
      [true, 2],
      [true, 1],
      [true, 0],
    ],
  );
  const refused = take();
  assert.equal([refused?.isAllowed, refused?.remaining], [false, 0]);
  assert.ok(Math.abs((refused?.retryAfterS ?? 0) - 1 / 3) < 1e-9);
  time += 334;
  assert.equal([take()?.isAllowed, take()?.isAllowed], [true, false]);
  time += 10_000;
  assert.equal([take()?.remaining, limiter.take([{ ...check, key: 'b' }])[0]?.remaining], [2, 2]);
});

Rates('count the requests of a bucket, and not their time, for a new limit', () => {
  const limiter = new RateLimiter({ now });
  const take = (capacity: number, seconds: number) =>
    limiter.take([{ key: 'a', limit: { capacity, interval_seconds: seconds } }])[0];
  assert.equal([take(1, 3600)?.isAllowed, take(1, 3600)?.isAllowed], [true, false]);
  assert.equal([take(300, 60)?.remaining, take(300, 60)?.remaining], [298, 297]);
  assert.is(take(4, 3600)?.remaining, 0);
  assert.ok(Math.abs((take(4, 3600)?.retryAfterS ?? 0) - 900) < 1e-6);
});

Rates('count a refused request for no limit', () => {
  const limiter = new RateLimiter({ now });
  const wide = { key: 'wide', limit: { capacity: 5, interval_seconds: 10 } };
  const narrow = { key: 'narrow', limit: { capacity: 1, interval_seconds: 10 } };
  limiter.take([wide, narrow]);
  const verdicts = limiter.take([wide, narrow]);
  assert.equal(
    verdicts.map(({ isAllowed, remaining }) => [isAllowed, remaining]),
    [
      [true, 4],
      [false, 0],
    ],
  );
});

Rates('never allow more than the bucket and its refill, in any order of calls', () => {
  const limiter = new RateLimiter({ now });
  const limit = { capacity: 7, interval_seconds: 3 };
  let random = 12_345;
  const next = (below: number): number => (random = (random * 1_103_515_245 + 12_345) % 2 ** 31) % below;
  const taken: number[] = [];
  for (let i = 0; i < 5000; i += 1) {
    time += next(500);
    if (limiter.take([{ key: 'a', limit }])[0]?.isAllowed) taken.push(time);
  }
  assert.ok(taken.length > 1000);
  for (let i = 0; i < taken.length; i += 1) {
    for (let j = i; j < Math.min(taken.length, i + 60); j += 1) {
      const most =
        limit.capacity + (((taken[j] ?? 0) - (taken[i] ?? 0)) / 1000) * (limit.capacity / limit.interval_seconds);
      assert.ok(j - i + 1 <= most + 1e-6, `${j - i + 1} from ${taken[i]} to ${taken[j]}`);
    }
  }
});

Rates('remember a limited number of callers, those with the latest requests first', () => {
  const limiter = new RateLimiter({ now, maxKeys: 10 });
  const limit = { capacity: 1, interval_seconds: 100 };
  for (let i = 0; i < 1000; i += 1) {
    assert.ok(limiter.take([{ key: `k${i}`, limit }])[0]?.isAllowed);
    assert.ok(limiter.size <= 10);
  }
  assert.not.ok(limiter.take([{ key: 'k999', limit }])[0]?.isAllowed);
});

Rates('apply to the user, or to the address where there are no keys, to the key, and to the endpoint', () => {
  const limit = (capacity: number) => ({ capacity, interval_seconds: 60 });
  const limits = new RateLimits(
    {
      default: limit(10),
      endpoints: { '/video/*': limit(5), '/video/Long': limit(1) },
      users: { big: limit(100), free: null },
      keys: { 'k-2': limit(3) },
    },
    new RateLimiter({ now }),
  );
  const policies = (userId: string | null, path: string, address = '192.0.2.1', keyId = userId && `${userId}-1`) =>
    limits.take({ userId, keyId, address }, path).map(({ policy, remaining }) => `${policy} ${remaining}`);
  assert.equal(policies('k', '/a'), ['default 9']);
  assert.equal(policies('big', '/a'), ['default 99']);
  assert.equal(policies('free', '/a'), []);
  assert.equal(policies('free', '/video/x'), ['/video/* 4']);
  assert.equal(policies(null, '/a'), ['default 9'], 'an address has nothing to do with a user');
  assert.equal(policies(null, '/a'), ['default 8']);
  assert.equal(policies(null, '/a', '192.0.2.2'), ['default 9']);
  assert.equal(policies('k', '/video/Long'), ['default 8', '/video/Long 0']);
  assert.equal(
    limits.take({ userId: 'k', keyId: 'k-1', address: '' }, '/VIDEO/long/').map(({ isAllowed }) => isAllowed),
    [true, false],
    'another spelling is the same path',
  );
  assert.equal(policies('k', '/video/other'), ['default 7', '/video/* 4'], 'what was refused was not counted');
  assert.equal(policies('__proto__', '/a'), ['default 9']);
  assert.equal(policies('k', '/a', '', 'k-2'), ['default 6', 'key 2'], 'a key has a limit beside that of its user');
  limits.configure({ default: limit(8), endpoints: {}, users: {}, keys: {} });
  assert.equal(policies('k', '/a'), ['default 3'], 'what was used counts for a new limit');
});

Rates('count the addresses of one IPv6 network together', () => {
  const cases = {
    '192.0.2.7': '192.0.2.7',
    '::ffff:192.0.2.7': '192.0.2.7',
    '2001:DB8:0:1:2:3:4:5': '2001:db8:0:1::/64',
    '2001:db8::5': '2001:db8:0:0::/64',
    '::1': '0:0:0:0::/64',
    'fe80::1%eth0': 'fe80:0:0:0::/64',
    '': '',
  };
  for (const [address, network] of Object.entries(cases)) assert.is(clientNetwork(address), network);
});

Rates('of a handler count all callers in any interval, without deferred requests', () => {
  const handler = new RateLimitHandler(2, 30, { now });
  const isTaken = (defer = false): boolean => {
    try {
      handler.handle('/a', { defer });
      return true;
    } catch (error) {
      const { name, kind, data, headers } = error as {
        name: string;
        kind: string;
        data: unknown;
        headers: Record<string, string>;
      };
      assert.equal(
        [name, kind, data],
        ['TooManyRequestsException', 'rate-limited', { rate_limit: 2, rate_duration: 30 }],
      );
      assert.match(headers['retry-after'] ?? '', /^\d+$/);
      return false;
    }
  };
  assert.is(isTaken(), true);
  time += 20_000;
  assert.equal([isTaken(true), isTaken(), isTaken(), isTaken(true)], [true, true, false, true]);
  time += 10_000;
  assert.equal([isTaken(), isTaken()], [true, false], 'the first one is out of the interval, the second is not');
  time += 60_000;
  assert.equal([isTaken(), isTaken(), isTaken()], [true, true, false]);
  for (const [capacity, interval] of [
    [0, 1],
    [1.5, 1],
    [1, 0],
    [1, Number.NaN],
  ] as const)
    assert.throws(() => new RateLimitHandler(capacity, interval), /RateLimitHandler: /);
});

Rates('of a path with parameters hold for each of its paths together, and a limit of one path alone for it', () => {
  const limit = (capacity: number) => ({ capacity, interval_seconds: 3600 });
  const endpoints = {
    '/Items/{id}': limit(3),
    '/items/{id}/name': limit(2),
    '/items/{id}/*': limit(1),
    '/items/one': limit(1),
  };
  const limits = new RateLimits({ default: null, endpoints, users: {}, keys: {} }, new RateLimiter({ now }));
  const take = (path: string, template?: string): unknown =>
    limits
      .take({ userId: 'u', keyId: null, address: '1.2.3.4' }, path, template)
      .map((one) => [one.policy, one.isAllowed, one.remaining]);
  const template = '/items/{item}';
  assert.equal(take('/items/7', template), [['/Items/{id}', true, 2]]);
  assert.equal(take('/items/8', template), [['/Items/{id}', true, 1]]);
  assert.equal(take('/items/{id}', '/items/{id}'), [['/Items/{id}', true, 0]]);
  assert.equal(take('/items/9', template), [['/Items/{id}', false, 0]]);
  assert.equal(take('/items/7/name', '/items/{id}/name'), [['/items/{id}/name', true, 1]]);
  assert.equal(take('/items/7/tags', '/items/{id}/tags'), [['/items/{id}/*', true, 0]]);
  assert.equal(take('/items/one', template), [['/items/one', true, 0]]);
  assert.equal(take('/items/%6Fne', template), [['/items/one', false, 0]], 'another spelling of the same path');
  assert.equal(take('/items/7'), [], 'no endpoint');
  assert.equal(take('/items/%ff'), []);
});

Rates.run();
