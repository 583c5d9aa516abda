import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger as log } from '../../../base/core/log/logger.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { FakePorts } from '../fixtures/fake-ports.ts';
import { runPlugin } from '../fixtures/run-plugin.ts';
import { testSandbox } from '../fixtures/test-sandbox.ts';
import { PluginHost } from '../set/plugin-host.ts';
import { buildPlugin, prepareBuild } from './build-plugin.ts';
import { NextBuild } from './next-build.ts';

const source = (answer: string): string => `
export const endpoint = {
  describe: () => [{
    ...{ name: 'a', path: '/a', summary: '', description: '', streaming: false },
    ...{ inputSchema: '{}', outputSchema: '{}' },
  }],
  run: () => JSON.stringify(${answer}),
};`;

interface Context {
  folder: string;
  dir: string;
  next: NextBuild;
  /** Folders of builds that were begun ahead and not taken. */
  waiting(): Promise<number>;
  write(answer: string, capabilities?: readonly string[]): Promise<void>;
}

const Next = suite<Context>('a build that is begun before it is needed');
const { TMPDIR: before } = process.env;

Next.before.each(async (context) => {
  const folder = await mkdtemp(join(tmpdir(), 'aana-next-'));
  const dir = join(folder, 'plugin');
  const temporary = join(folder, 'temporary');
  await mkdir(join(dir, 'src'), { recursive: true });
  await mkdir(temporary);
  process.env['TMPDIR'] = temporary;
  Object.assign(context, { folder, dir, next: new NextBuild() });
  context.waiting = async () => (await readdir(temporary)).filter((name) => name.startsWith('aana-build-')).length;
  context.write = async (answer, capabilities = []) => {
    await writeFile(join(dir, 'plugin.json'), JSON.stringify({ name: 'sample', version: '1.0.0', capabilities }));
    await writeFile(join(dir, 'src', 'index.ts'), source(answer));
  };
});
Next.after.each(async ({ folder, next, waiting }) => {
  await next.stop();
  assert.is(await waiting(), 0);
  if (before === undefined) delete process.env['TMPDIR'];
  else process.env['TMPDIR'] = before;
  await rm(folder, { recursive: true });
});

Next('builds the sources as they are when it is needed', async ({ folder, dir, next, waiting, write }) => {
  const host = new PluginHost({ sandbox: testSandbox, ports: new FakePorts(), cacheDir: folder, log, isFast: true });
  try {
    await write('"before"');
    const options = { log, cacheDir: folder };
    await prepareBuild(dir, next, options);
    await prepareBuild(dir, next, options);
    assert.is(await waiting(), 1, 'the second call had nothing to do');
    await write('"after"');
    assert.is((await buildPlugin(dir, { ...options, next })).rebuilt, true);
    assert.is(await waiting(), 0, 'it was used');
    const plugin = await host.load(dir);
    assert.is(await runPlugin(plugin, 'a', {}), 'after');
  } finally {
    await host.close();
  }
});

Next('is not used for another world', async ({ folder, dir, next, waiting, write }) => {
  await write('""');
  const options = { log, cacheDir: folder };
  await prepareBuild(dir, next, options);
  await write('""', ['storage']);
  assert.is((await buildPlugin(dir, { ...options, next })).rebuilt, true);
  assert.is(await waiting(), 1);
  await prepareBuild(dir, next, options);
  assert.is(await waiting(), 1, 'another one has replaced it');
});

Next('fails as other builds do, and the one after it succeeds', async ({ folder, dir, next, waiting, write }) => {
  await write('""');
  const options = { log, cacheDir: folder };
  await prepareBuild(dir, next, options);
  await writeFile(join(dir, 'src', 'index.ts'), `${source('""')}\nthrow new Error('of the author');`);
  const { message } = await errorOf(buildPlugin(dir, { ...options, next }));
  assert.match(message, /cannot be made into a component: Error: of the author\n.*src\/index\.ts:9:/);
  assert.is(await waiting(), 0);
  await write('""');
  assert.is((await buildPlugin(dir, { ...options, next })).rebuilt, true);
});

Next.run();
