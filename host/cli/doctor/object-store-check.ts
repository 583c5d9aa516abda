import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { networkFrom } from '../../application/ports/outgoing-ports.ts';
import { randomSuffix } from '../../base/core/ids.ts';
import { openBucket } from '../../data/objects/index.ts';
import { type Check, fail, ok, reasonOf } from './check.ts';
import { offsetResult } from './clock-check.ts';

const NAME = 'object_store';

/** Whether the bucket of the configuration can be written, read, listed and cleared, and what time its server has. */
export const objectStoreCheck: Check = {
  name: NAME,
  needsConfig: true,
  run: async ({ config }) => {
    const { url } = config.object_store;
    if (url === null) return []; // the check of the folders has data_dir
    const folder = await mkdtemp(join(tmpdir(), 'aana-doctor-'));
    const store = openBucket(url, {
      ...{ config: config.object_store, dir: folder, network: networkFrom(config), copiesRoot: folder },
      copies: async () => folder,
    });
    try {
      const key = `doctor/${randomSuffix()}`;
      const written = await store.write(key, one('aana-host doctor'));
      await (await store.fetch({ key, ...written }))[Symbol.asyncDispose]();
      let isListed = false;
      for await (const found of store.list('doctor')) isListed ||= found.key === key;
      await store.removeUnfinished('doctor', 0);
      await store.remove(key);
      const before = Date.now();
      const time = await store.clock();
      const result = isListed
        ? ok(NAME, `${store.address} can be written, read, listed and cleared`)
        : fail(NAME, `${store.address} does not list what was written`, 'allow the key to list the bucket');
      if (time === undefined) return [result];
      // The header has whole seconds.
      return [result, offsetResult('the object store', time + 500 - (before + Date.now()) / 2)];
    } catch (error) {
      return [fail(NAME, reasonOf(error), 'see object_store.url, its endpoint, its region and its access key')];
    } finally {
      store.close();
      await rm(folder, { recursive: true, force: true });
    }
  },
};

async function* one(text: string): AsyncGenerator<string, void> {
  yield text;
}
