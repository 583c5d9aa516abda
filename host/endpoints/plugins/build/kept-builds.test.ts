import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { KeptBuilds } from './kept-builds.ts';

const Kept = suite<{ folder: string }>('what builds have made');

Kept.before.each(async (context) => {
  context.folder = await mkdtemp(join(tmpdir(), 'aana-kept-'));
});
Kept.after.each(({ folder }) => rm(folder, { recursive: true, force: true }));

/** Makes `made` of the texts, and returns the result and whether it was made now. */
async function make(folder: string | undefined, texts: readonly string[], made: string): Promise<[string, boolean]> {
  let isNew = false;
  const bytes = await new KeptBuilds(folder).make(texts, async () => {
    isNew = true;
    return Buffer.from(made);
  });
  return [Buffer.from(bytes).toString(), isNew];
}

Kept('is used for the same texts, and for no others', async ({ folder }) => {
  assert.equal(await make(folder, ['a', 'b'], 'one'), ['one', true]);
  assert.equal(await make(folder, ['a', 'b'], 'two'), ['one', false]);
  assert.equal(await make(folder, ['ab', ''], 'three'), ['three', true]);
  assert.equal(await make(folder, ['a', 'b', ''], 'four'), ['four', true]);
});

Kept('is made again where it is damaged', async ({ folder }) => {
  await make(folder, ['a'], 'one');
  const [name = ''] = await readdir(folder);
  const file = join(folder, name);
  const whole = await readFile(file);
  for (const damaged of [whole.subarray(0, -1), whole.subarray(0, 10), Buffer.alloc(0), Buffer.from('of others')]) {
    await writeFile(file, damaged);
    assert.equal(await make(folder, ['a'], 'two'), ['two', true]);
  }
  assert.equal(await make(folder, ['a'], 'three'), ['two', false]);
});

Kept('does not have what has failed', async ({ folder }) => {
  const failing = new KeptBuilds(folder).make(['a'], () => Promise.reject(new Error('broken')));
  assert.is(await failing.catch((error: Error) => error.message), 'broken');
  assert.equal(await readdir(folder), []);
});

Kept('may have no folder, or one that is gone', async ({ folder }) => {
  for (const unusable of [undefined, join(folder, 'gone')]) {
    assert.equal(await make(unusable, ['a'], 'one'), ['one', true]);
    assert.equal(await make(unusable, ['a'], 'two'), ['two', true]);
  }
});

Kept.run();
