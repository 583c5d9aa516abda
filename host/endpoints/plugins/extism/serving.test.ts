import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { check } from '../../../cli/commands/check.ts';
import { AanaApp, loadConfig, silentLogger } from 'aana-host';
import { extismModule } from '../fixtures/extism-module.ts';

const Serving = suite<{ dir: string; plugin: string; put(answer: string): Promise<void> }>('serving Extism plugins');

Serving.before.each(async (context) => {
  context.dir = await mkdtemp(join(tmpdir(), 'aana-extism-'));
  context.plugin = join(context.dir, 'plugins', 'greeter');
  await mkdir(join(context.plugin, 'dist'), { recursive: true });
  await mkdir(join(context.plugin, 'src'));
  await writeFile(join(context.plugin, 'src', 'index.ts'), 'this is AssemblyScript, which the host does not build');
  await writeFile(join(context.plugin, 'plugin.json'), '{"name":"greeter","version":"1.0.0","runtime":"extism"}');
  await writeFile(join(context.dir, 'ffmpeg'), '#!/bin/sh\necho "ffmpeg version 9.0 fake"\n', { mode: 0o755 });
  context.put = async (answer) => {
    const describes = [
      {
        name: 'greet',
        path: '/greet',
        summary: 'Greets.',
        input_schema: { type: 'object', properties: { who: { type: 'string' } }, required: ['who'] },
      },
    ];
    await writeFile(
      join(context.dir, 'next'),
      await extismModule({ describes, functions: { greet: `(answer «${answer}»)` } }),
    );
    await rename(join(context.dir, 'next'), join(context.plugin, 'dist', 'greeter.wasm'));
  };
});
Serving.after.each(({ dir }) => rm(dir, { recursive: true, force: true }));

const configOf = (dir: string): ReturnType<typeof loadConfig> =>
  loadConfig({
    cwd: dir,
    env: {},
    base: {
      cache_dir: process.env['AANA_CACHE_DIR']!, // with the sandbox
      data_dir: join(dir, 'data'),
      media: { temp_dir: dir, ffmpeg_path: join(dir, 'ffmpeg') },
    },
  });

Serving(
  'a check says what it imports, and that it would be started; without its module, that it would not be loaded',
  async ({ dir, plugin, put }) => {
    let text = '';
    const checked = (): Promise<number> =>
      check(configOf(dir), [plugin], silentLogger, { write: (part) => (text += part) }, new AbortController().signal);
    assert.is(await checked(), 1);
    assert.match(
      text,
      /would not be loaded: plugin greeter has no module .*: an Extism plugin is built with .* tools\n$/,
    );
    text = '';
    await put('"Hello"');
    assert.is(await checked(), 0);
    assert.match(
      text,
      new RegExp(
        String.raw`^plugin greeter 1\.0\.0` +
          String.raw`\n {2}component +.*greeter\.wasm` +
          String.raw`\n {2}sha256 +[0-9a-f]{64}` +
          String.raw`\n {2}imports +extism:host\/env alloc, .*` +
          String.raw`\n {2}asks for +nothing\n[\s\S]*` +
          String.raw`\n {2}would be started; .*\n$`,
      ),
    );
  },
);

Serving(
  'its endpoint answers over HTTP, its input is checked, and a newer module takes its place',
  async ({ dir, put }) => {
    await put('"Hello"');
    await using app = new AanaApp({ config: configOf(dir), log: silentLogger, progress: { write: () => true } });
    await app.registerPlugins(join(dir, 'plugins')).connect({ port: 0 });
    await app.deploy();
    const ask = (body: object): Promise<Response> =>
      fetch(`${app.url}/greet`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    assert.is(await (await ask({ who: 'Ada' })).json(), 'Hello');
    assert.is((await ask({})).status, 422);
    await put('"Good evening"');
    assert.equal(
      (await app.reloadPlugins()).map(({ name, outcome }) => [name, outcome]),
      [['greeter', 'reloaded']],
    );
    assert.is(await (await ask({ who: 'Ada' })).json(), 'Good evening');
    const [state] = app.plugins();
    assert.equal([state?.state, state?.endpoints, state?.counters.done], ['running', ['/greet'], 2]);
  },
);

Serving.run();
