// With real databases: one that others share, and one that goes away.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../base/core/log/logger.ts';
import { type Storage, Storage as Store } from '../storage/index.ts';
import { postgresDatabases, sqliteDatabases, sqliteModule } from '../storage/fixtures/databases.ts';
import { skip } from '../../test/skip.ts';
import { ApiKeys, type NewKeyInput } from './api-keys.ts';
import { KeyLookUps } from './key-look-ups.ts';
import { RateLimiter } from './rate-limiter.ts';

const databases = sqliteDatabases();
const Keys = suite<{ storage: Storage; other: Storage }>('API keys');
Keys.before.each(async (context) => {
  const config = await databases.create();
  const open = (): Storage => new Store({ config, log: silentLogger, sqliteModule });
  context.storage = open();
  context.other = open();
});
Keys.after.each(async ({ storage, other }) => {
  await storage.close();
  await other.close();
});
Keys.after(() => databases.end());

async function nameOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'nothing',
    (error: Error) => error.name,
  );
}

Keys('are found by the text that was shown once, and gone after they are revoked', async ({ storage }) => {
  const keys = new ApiKeys({ storage, log: silentLogger });
  await keys.open();
  const { apiKey, record } = await keys.create({ user_id: 'ann', key_id: 'ann-1', scopes: ['tasks'] });
  assert.equal(
    [record.user_id, record.subscription_id, record.is_admin, record.is_subscription_active, record.scopes],
    ['ann', 'ann', false, true, ['tasks']],
  );
  assert.equal((await keys.authenticate(apiKey)).key_id, 'ann-1');
  assert.equal((await keys.authenticate(apiKey)).key_id, 'ann-1', 'from the cache');
  await keys.update('ann-1', { is_admin: true });
  assert.is((await keys.authenticate(apiKey)).is_admin, true, 'a change counts at once');
  await keys.revoke('ann-1');
  assert.is(await nameOf(keys.authenticate(apiKey)), 'ApiKeyNotFound');
  assert.is(await nameOf(keys.revoke('ann-1')), 'NotFoundException');
  await keys.close();
});

Keys(
  'that another process has changed are looked up again when they are no longer fresh',
  async ({ storage, other }) => {
    const keys = new ApiKeys({ storage, log: silentLogger, freshMs: 0 });
    const elsewhere = new ApiKeys({ storage: other, log: silentLogger });
    const { apiKey } = await elsewhere.create({ user_id: 'ann', key_id: 'ann-1' });
    await keys.authenticate(apiKey);
    await elsewhere.revoke('ann-1');
    assert.is(await nameOf(keys.authenticate(apiKey)), 'ApiKeyNotFound');
  },
);

Keys('that one host of PostgreSQL revokes are gone on another host after the notification', async () => {
  const postgres = await postgresDatabases();
  if (typeof postgres === 'string') return skip('keys of several hosts', postgres);
  const config = await postgres.create();
  const [here, there] = [
    new Store({ config, log: silentLogger, sqliteModule }),
    new Store({ config, log: silentLogger, sqliteModule }),
  ];
  try {
    const keys = new ApiKeys({ storage: here, log: silentLogger, freshMs: 3_600_000 });
    await keys.open();
    const elsewhere = new ApiKeys({ storage: there, log: silentLogger });
    const { apiKey } = await elsewhere.create({ user_id: 'ann', key_id: 'ann-1' });
    assert.is((await keys.authenticate(apiKey)).user_id, 'ann');
    await elsewhere.revoke('ann-1');
    while ((await nameOf(keys.authenticate(apiKey))) !== 'ApiKeyNotFound')
      await new Promise((resolve) => setTimeout(resolve, 10));
    await keys.close();
  } finally {
    await here.close();
    await there.close();
    await postgres.end();
  }
});

Keys('that were made elsewhere are accepted unchanged', async ({ storage }) => {
  const keys = new ApiKeys({ storage, log: silentLogger });
  await keys.create({ user_id: 'old' }, 'a-key-of-the-gateway');
  assert.is((await keys.authenticate('a-key-of-the-gateway')).user_id, 'old');
  for (const bad of ['short', `${'x'.repeat(20)} y`, 'aana_thisIsNoneOfOurKeys', 'ä'.repeat(20), 'x'.repeat(513)])
    assert.is(await nameOf(keys.create({ user_id: 'old' }, bad)), 'ValidationError', bad);
});

Keys('expire', async ({ storage }) => {
  const keys = new ApiKeys({ storage, log: silentLogger });
  const { apiKey } = await keys.create({
    user_id: 'ann',
    key_id: 'k',
    expired_at: new Date(Date.now() + 3_600_000).toISOString(),
  });
  await keys.authenticate(apiKey);
  await storage.write(({ apiKeys }) => apiKeys.update('k', { expired_at: Date.now() - 1 })); // time goes by
  assert.is(await nameOf(new ApiKeys({ storage, log: silentLogger }).authenticate(apiKey)), 'ApiKeyExpired');
  assert.is(await nameOf(keys.update('k', { expired_at: '2020-01-01T00:00:00Z' })), 'ValidationError');
  assert.is((await keys.update('k', { expired_at: null })).expired_at, null);
  await keys.authenticate(apiKey);
});

Keys('are refused while the database cannot be reached', async ({ storage, other }) => {
  const keys = new ApiKeys({ storage, log: silentLogger, freshMs: 0 });
  const { apiKey } = await keys.create({ user_id: 'ann' });
  await other.write(({ connection }) => connection.script('alter table api_keys rename to away'));
  assert.is(await nameOf(keys.authenticate(apiKey)), 'ApiKeyValidationFailed');
  await other.write(({ connection }) => connection.script('alter table away rename to api_keys'));
  assert.is((await keys.authenticate(apiKey)).user_id, 'ann');
});

Keys('that are unknown have a limit of look-ups for each address; known keys continue to work', async ({ storage }) => {
  let now = 0;
  const lookUps = new KeyLookUps({ capacity: 3, interval_seconds: 3600 }, new RateLimiter({ now: () => now }));
  const keys = new ApiKeys({ storage, log: silentLogger, freshMs: 0, lookUps });
  const known = (await keys.create({ user_id: 'ann' }, 'a-key-of-the-gateway')).apiKey;
  const late = (await keys.create({ user_id: 'bob' }, 'another-key-of-the-gateway')).apiKey;
  const guess = (n: number, address = '192.0.2.1'): Promise<string> =>
    nameOf(keys.authenticate(`a-key-that-was-made-up-${n}`, address));
  for (let n = 0; n < 20; n += 1) await keys.authenticate(known, '192.0.2.1'); // found keys do not count
  const guesses = await Promise.all(Array.from({ length: 20 }, (_, n) => guess(n)));
  assert.equal(
    guesses.sort(),
    [
      ...Array.from({ length: 3 }, () => 'ApiKeyNotFound'),
      ...Array.from({ length: 17 }, () => 'TooManyRequestsException'),
    ],
    'also when they come at the same time',
  );
  assert.is((await keys.authenticate(known, '192.0.2.1')).user_id, 'ann');
  await keys.update((await keys.list())[0]?.key_id ?? '', { is_admin: true });
  assert.is(
    (await keys.authenticate(known, '192.0.2.1')).is_admin,
    true,
    'a key that was found before is looked up again all the same',
  );
  assert.is(
    await nameOf(keys.authenticate(late, '192.0.2.1')),
    'TooManyRequestsException',
    'one that this process does not know cannot be told from a guess',
  );
  assert.is((await keys.authenticate(late, '192.0.2.2')).user_id, 'bob', 'another address has look-ups of its own');
  assert.is(await guess(30, '2001:db8::1'), 'ApiKeyNotFound');
  for (let n = 31; n < 33; n += 1) await guess(n, `2001:db8::${n}`);
  assert.is(await guess(40, '2001:db8::ffff'), 'TooManyRequestsException', 'a network of IPv6 is one address');
  now += 1_200_000;
  assert.equal([await guess(50), await guess(51)], ['ApiKeyNotFound', 'TooManyRequestsException']);
});

Keys('that could not be looked up do not count as unknown', async ({ storage, other }) => {
  const keys = new ApiKeys({
    storage,
    log: silentLogger,
    lookUps: new KeyLookUps({ capacity: 1, interval_seconds: 3600 }),
  });
  const { apiKey } = await keys.create({ user_id: 'ann' });
  await other.write(({ connection }) => connection.script('alter table api_keys rename to away'));
  for (let n = 0; n < 3; n += 1)
    assert.is(await nameOf(keys.authenticate(apiKey, '192.0.2.1')), 'ApiKeyValidationFailed');
  await other.write(({ connection }) => connection.script('alter table away rename to api_keys'));
  assert.is((await keys.authenticate(apiKey, '192.0.2.1')).user_id, 'ann');
});

Keys('are not made from invalid input', async ({ storage }) => {
  const keys = new ApiKeys({ storage, log: silentLogger });
  const bad: unknown[] = [
    {},
    { user_id: '' },
    { user_id: 'a\0b' },
    { user_id: 'a', scope: [] },
    { user_id: 'a', scopes: [] },
    { user_id: 'a', scopes: ['nothing'] },
    { user_id: 'a', key_id: 'a b' },
    { user_id: 'a', expired_at: 5 },
    { user_id: 'a', hmac_secret: 'short' },
    null,
  ];
  for (const input of bad)
    assert.is(await nameOf(keys.create(input as NewKeyInput)), 'ValidationError', JSON.stringify(input));
  assert.equal(await keys.list(), []);
});

Keys('store the time of their last use', async ({ storage }) => {
  const keys = new ApiKeys({ storage, log: silentLogger });
  const { apiKey } = await keys.create({ user_id: 'ann', key_id: 'k' });
  assert.is((await keys.get('k')).last_used_at, null);
  await keys.authenticate(apiKey);
  while ((await keys.get('k')).last_used_at === null) await new Promise((resolve) => setTimeout(resolve, 5));
});

Keys.run();
