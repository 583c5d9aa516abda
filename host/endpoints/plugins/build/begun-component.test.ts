import { mkdtemp, open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay } from '../../../base/core/abort.ts';
import { packageRoot } from '../../../base/core/package-root.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { BegunComponent } from './begun-component.ts';
import { worldFile } from './build-plugin.ts';
import { loadBuildTools } from './build-tools.ts';
import { guestWorld } from './guest-world.ts';

const { componentize } = await loadBuildTools(packageRoot);
const MAGIC = [0, 0x61, 0x73, 0x6d, 0x0d, 0, 1, 0];

const Begun = suite<{ folder: string; witPath: string }>('a component that is begun before its bundle is there');

Begun.before.each(async (context) => {
  context.folder = await mkdtemp(join(tmpdir(), 'aana-begun-'));
  context.witPath = join(context.folder, 'world.wit');
  await writeFile(context.witPath, guestWorld(await readFile(worldFile, 'utf8'), []));
});
Begun.after.each(({ folder }) => rm(folder, { recursive: true }));

Begun('waits for it, and says where its top level fails', async ({ folder, witPath }) => {
  const begin = (name: string) => BegunComponent.begin(componentize, witPath, join(folder, name));
  const [good, bad] = await Promise.all([begin('good'), begin('bad')]);
  const paths = ['good', 'bad'].map((name) => join(folder, name, 'package.json'));
  const pipes = await Promise.all(paths.map((path) => open(path, 'w'))); // opened when the compilers read them
  const code = 'export const endpoint = { describe: () => [], run: () => "" };';
  const making = Promise.allSettled([good.finish(code), bad.finish(`\nthrow new Error('never');`)]);
  for (const path of paths) while (!(await stat(path)).isFile()) await delay(5);
  for (const pipe of pipes) await pipe.close();
  const [made, failed] = await making;
  assert.ok(made.status === 'fulfilled' && failed.status === 'rejected');
  assert.equal([...made.value.subarray(0, 8)], MAGIC);
  assert.match(String(failed.reason), /Error: never\n.*\(\/aana-bundle\.js:2:/);
});

Begun('fails where the compiler fails before it reads the bundle', async ({ folder, witPath }) => {
  await writeFile(witPath, 'not a world');
  const begun = await BegunComponent.begin(componentize, witPath, join(folder, 'broken'));
  assert.match((await errorOf(begun.finish(''), Error)).message, /expected/);
});

Begun('begins when the bundle is there, where no pipe can be made', async ({ folder, witPath }) => {
  const { PATH: before } = process.env;
  process.env['PATH'] = folder;
  const begun = await BegunComponent.begin(componentize, witPath, join(folder, 'whole'));
  process.env['PATH'] = before;
  const component = await begun.finish('export const endpoint = { describe: () => [], run: () => "" };');
  assert.equal([...component.subarray(0, 8)], MAGIC);
});

Begun.run();
