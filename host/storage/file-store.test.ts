import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AanaError } from '../core/errors.ts';
import { FileStore } from './file-store.ts';

const Store = suite<{ dir: string; store: FileStore }>('FileStore');
Store.before.each((context) => {
  context.dir = mkdtempSync(join(tmpdir(), 'aana-store-'));
  context.store = new FileStore({ dir: context.dir, maxValueBytes: 10, maxKeys: 3, maxBytes: 15 });
});
Store.after.each(({ dir }) => rmSync(dir, { recursive: true }));

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (value: Uint8Array | undefined): string | undefined => value && new TextDecoder().decode(value);
async function fails(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => new Error('it did not fail'),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof AanaError)) throw error;
  return error.name;
}

Store('keeps values by namespace and key, for the next process too', async ({ dir, store }) => {
  await store.set('a', 'k/../é', bytes('one'));
  await store.set('b', 'k/../é', bytes(''));
  const next = new FileStore({ dir });
  assert.equal([text(await next.get('a', 'k/../é')), text(await next.get('b', 'k/../é')), await next.get('a', 'k'), await next.get('c', 'k')], ['one', '', undefined, undefined]);
});

Store('replaces and removes', async ({ store }) => {
  await store.set('a', 'k', bytes('one'));
  await store.set('a', 'k', bytes('two'));
  assert.is(text(await store.get('a', 'k')), 'two');
  assert.equal([await store.delete('a', 'k'), await store.delete('a', 'k'), await store.get('a', 'k')], [true, false, undefined]);
});

Store('lists keys by prefix in the order of their bytes, from a key on', async ({ dir }) => {
  const store = new FileStore({ dir });
  for (const key of ['b', 'a/é', 'a/2', 'a/10', 'a', 'a/😀']) await store.set('n', key, bytes('x'));
  assert.equal(await store.list('n', { prefix: '', limit: 9 }), ['a', 'a/10', 'a/2', 'a/é', 'a/😀', 'b']);
  assert.equal(await store.list('n', { prefix: 'a/', after: 'a/10', limit: 2 }), ['a/2', 'a/é']);
  assert.equal(await store.list('other', { prefix: '', limit: 9 }), []);
});

Store('holds the limits on a value, on keys and on all values, and leaves what was there', async ({ store }) => {
  await store.set('a', 'k', bytes('12345'));
  assert.is(await fails(store.set('a', 'k', bytes('12345678901'))), 'ValueTooLarge');
  await store.set('a', 'l', bytes('1234567890'));
  assert.is(await fails(store.set('a', 'm', bytes('1'))), 'StorageFull');
  assert.is(await fails(store.set('a', 'k', bytes('123456'))), 'StorageFull');
  assert.is(text(await store.get('a', 'k')), '12345');
  await store.set('a', 'm', bytes(''));
  assert.is(await fails(store.set('a', 'n', bytes(''))), 'StorageFull');
  await store.delete('a', 'l');
  await store.set('a', 'n', bytes('1234567890'));
  await store.set('b', 'k', bytes('1234567890')); // others have room of their own
});

Store('counts what earlier processes left', async ({ dir, store }) => {
  await store.set('a', 'k', bytes('1234567890'));
  const next = new FileStore({ dir, maxBytes: 15 });
  assert.is(await fails(next.set('a', 'l', bytes('123456'))), 'StorageFull');
});

Store('keeps the limits when values are set at once', async ({ store }) => {
  const results = await Promise.allSettled(['1', '2', '3', '4', '5'].map((key) => store.set('a', key, bytes('1234'))));
  assert.is(results.filter(({ status }) => status === 'fulfilled').length, 3);
});

Store('leaves no part of a value, and removes those of processes that died', async ({ dir, store }) => {
  await store.set('a', 'k', bytes('1'));
  writeFileSync(join(dir, 'a', '.old'), 'part');
  writeFileSync(join(dir, 'a', '.new'), 'part');
  utimesSync(join(dir, 'a', '.old'), 0, 0);
  assert.equal(await store.list('a', { prefix: '', limit: 9 }), ['k']);
  await new FileStore({ dir }).set('a', 'l', bytes('1'));
  assert.equal(readdirSync(join(dir, 'a')).filter((name) => name.startsWith('.')), ['.new']);
});

Store('refuses keys and namespaces that cannot be', async ({ store }) => {
  assert.equal([await fails(store.get('a', '')), await fails(store.set('a', 'é'.repeat(61), bytes(''))), await fails(store.get('../a', 'k')), await fails(store.list('/', { prefix: '', limit: 1 }))], Array(4).fill('InvalidKey'));
  await store.set('a', 'é'.repeat(60), bytes(''));
});

Store.run();
