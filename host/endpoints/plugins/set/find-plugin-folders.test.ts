import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { findPluginFolders } from './find-plugin-folders.ts';

const Find = suite('findPluginFolders');
let root = '';

Find.before(async () => {
  root = await mkdtemp(join(tmpdir(), 'aana-find-'));
  for (const folder of ['b', 'a', 'none', 'dir.wasm']) await mkdir(join(root, 'plugins', folder), { recursive: true });
  for (const folder of ['a', 'b']) await writeFile(join(root, 'plugins', folder, 'plugin.json'), '{}');
  await writeFile(join(root, 'plugins', 'c.wasm'), '');
  await writeFile(join(root, 'plugins', 'notes.txt'), '');
});
Find.after(() => rm(root, { recursive: true, force: true }));

Find('finds the folders with a plugin.json and the component files of a folder, by name', () => {
  assert.equal(
    findPluginFolders(join(root, 'plugins')),
    ['a', 'b', 'c.wasm'].map((name) => join(root, 'plugins', name)),
  );
});

Find('takes a plugin folder and a component file as they are', () => {
  for (const name of ['a', 'c.wasm'])
    assert.equal(findPluginFolders(join(root, 'plugins', name)), [join(root, 'plugins', name)]);
});

Find('says when there is nothing', () => {
  assert.throws(
    () => findPluginFolders(join(root, 'plugins', 'none')),
    /there is no plugin in .*none: a plugin is a folder with a plugin\.json, or a \.wasm file/,
  );
  assert.throws(() => findPluginFolders(join(root, 'd.wasm')), /there is no folder .*d\.wasm/);
});

Find.run();
