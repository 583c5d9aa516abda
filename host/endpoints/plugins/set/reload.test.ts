import { once } from 'node:events';
import { copyFile, cp, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AanaApp, loadConfig, silentLogger } from 'aana-host';
import { isLong } from '../../../test/long.ts';
import { buildTestPlugin } from '../fixtures/build-test-plugin.ts';

/**
 * `/sample` answers its version, after a few milliseconds of computing; `/stream` writes more than the sockets between
 * hold.
 */
const source = (version: number): string => `
import { write } from 'aana:host/output@0.1.0';
const info = (name, path, streaming) => ({ name, path, summary: 'a', description: '',
  inputSchema: '{"type":"object"}', outputSchema: '{}', streaming });
export const endpoint = {
  describe: () => [info('sample', '/sample', false), info('stream', '/stream', true),
    info('own', '/own-${version}', false)],
  run: (name) => {
    if (name === 'stream') for (let n = 0; n < 48; n++) write(JSON.stringify('${version}'.repeat(1 << 20)));
    else for (const until = Date.now() + 4; Date.now() < until; );
    return '${version}';
  },
};
`;

const RELOADS = isLong ? 20 : 6;

interface Context {
  dir: string;
  app: AanaApp;
  /** Puts a version of the plugin in place of the other. */
  put(version: 'one' | 'two'): Promise<void>;
  ask(path?: string): Promise<{ status: number; body: unknown }>;
}

let built = '';
const Reload = suite<Context>('reloading plugins');

Reload.before(async () => {
  built = await mkdtemp(join(tmpdir(), 'aana-built-'));
  const build = async (name: string, version: number): Promise<void> => {
    await mkdir(join(built, name, 'src'), { recursive: true });
    await writeFile(join(built, name, 'plugin.json'), `{"name":"sample","version":"${version}.0.0"}`);
    await writeFile(join(built, name, 'src/index.ts'), source(version));
    await buildTestPlugin(join(built, name));
    await rm(join(built, name, 'src'), { recursive: true });
  };
  await Promise.all([build('one', 1), build('two', 2)]);
});
Reload.after(() => rm(built, { recursive: true, force: true }));

Reload.before.each(async (context) => {
  const dir = await mkdtemp(join(tmpdir(), 'aana-r-'));
  const plugin = join(dir, 'plugins', 'sample');
  await mkdir(join(plugin, 'dist'), { recursive: true });
  await writeFile(join(dir, 'ffmpeg'), '#!/bin/sh\necho "ffmpeg version 9.0 fake"\n', { mode: 0o755 });
  context.dir = dir;
  context.put = async (version) => {
    await copyFile(join(built, version, 'dist/sample.wasm'), join(dir, 'next'));
    await rename(join(dir, 'next'), join(plugin, 'dist/sample.wasm'));
  };
  await context.put('one');
  await writeFile(join(plugin, 'plugin.json'), '{"name":"sample","version":"1.0.0"}');
  context.app = await start(dir);
  context.ask = async (path = '/sample') => {
    const response = await fetch(`${context.app.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
    return { status: response.status, body: await response.json() };
  };
});
Reload.after.each(async ({ app, dir }) => {
  await app.shutdown();
  await rm(dir, { recursive: true, force: true });
});

async function start(dir: string): Promise<AanaApp> {
  const base = {
    cache_dir: join(built, 'cache'),
    data_dir: join(dir, 'data'),
    watch: true,
    plugin_limits: { threads: 1 },
    media: { temp_dir: dir, ffmpeg_path: join(dir, 'ffmpeg') },
  };
  const app = new AanaApp({
    config: loadConfig({ cwd: dir, env: {}, base }),
    log: silentLogger,
    progress: { write: () => true },
  });
  await app.registerPlugins(join(dir, 'plugins')).listen({ port: 0 });
  return app.deploy();
}

const until = async (condition: () => Promise<boolean> | boolean): Promise<void> => {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5));
};

/** Does `work` while clients ask one request after the other. Every one must be answered, and be counted. */
async function underLoad({ app, ask }: Context, work: () => Promise<void>): Promise<void> {
  let isOver = false;
  const answers: unknown[] = [];
  const clients = Array.from({ length: 3 }, async () => {
    while (!isOver) answers.push(await ask());
  });
  try {
    await work();
  } finally {
    isOver = true;
    await Promise.all(clients);
  }
  const expected = ['{"status":200,"body":1}', '{"status":200,"body":2}'];
  assert.equal([...new Set(answers.map((answer) => JSON.stringify(answer)))].sort(), expected);
  await until(() => app.plugins()[0]?.draining === 0);
  const { counters } = app.plugins()[0]!;
  assert.ok(counters.done >= answers.length, `${counters.done} were counted, ${answers.length} answered`);
  assert.equal([counters.failed, counters.running, counters.queued], [{}, 0, 0]);
  assert.ok(counters.cpu_ms > 0);
}

Reload(`no request fails while they run and arrive during ${RELOADS} reloads that are asked for`, async (context) => {
  await underLoad(context, async () => {
    for (let n = 1; n <= RELOADS; n++) {
      await context.put(n % 2 === 0 ? 'one' : 'two');
      const [outcome] = await context.app.reloadPlugins(n % 4 === 0 ? undefined : 'sample');
      assert.is(outcome?.outcome, 'reloaded');
      assert.is(
        (await context.ask()).body,
        n % 2 === 0 ? 1 : 2,
        'the new version answers as soon as the reload is done',
      );
    }
  });
});

Reload(
  `no request fails while they run and arrive during ${RELOADS / 2} reloads by a change of the file`,
  async (context) => {
    await underLoad(context, async () => {
      for (let n = 1; n <= RELOADS / 2; n++) {
        await context.put(n % 2 === 0 ? 'one' : 'two');
        await until(async () => (await context.ask()).body === (n % 2 === 0 ? 1 : 2));
      }
    });
  },
);

Reload('a request that runs is finished by the version that it began with', async ({ app, ask, put }) => {
  const asked = request(`${app.url}/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    agent: false,
  }).end('{}');
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  await until(() => app.plugins()[0]?.counters.running === 1);
  await put('two');
  await app.reloadPlugins('sample');
  assert.equal(await ask(), { status: 200, body: 2 });
  assert.equal([app.plugins()[0]?.draining, app.plugins()[0]?.counters.running], [1, 1]);
  let bytes = 0;
  const seen = new Set<number>();
  for await (const chunk of response) {
    bytes += (chunk as Buffer).length;
    for (const byte of [(chunk as Buffer)[0], (chunk as Buffer).at(-1)]) seen.add(byte!);
  }
  assert.is(bytes, 48 * ((1 << 20) + 2));
  assert.equal([...seen].map((code) => String.fromCharCode(code)).sort(), ['"', '1']);
  await until(() => app.plugins()[0]?.draining === 0);
  assert.is(app.plugins()[0]?.counters.running, 0);
});

Reload(
  'a new version that cannot be loaded is told of, and what was there serves on',
  async ({ app, ask, put, dir }) => {
    const file = join(dir, 'plugins/sample/dist/sample.wasm');
    await writeFile(file, 'not a component');
    await until(() => app.plugins()[0]?.error !== null);
    const [broken] = app.plugins();
    assert.is(broken?.state, 'running');
    assert.match(broken?.error ?? '', /^plugin sample has a component that cannot be used: it is not WebAssembly$/);
    const [outcome] = await app.reloadPlugins('sample');
    assert.equal(outcome, { name: 'sample', outcome: 'failed', detail: broken?.error });
    assert.equal(await ask(), { status: 200, body: 1 });
    await put('two');
    await until(async () => (await ask()).body === 2);
    assert.is(app.plugins()[0]?.error, null);
    await writeFile(join(dir, 'next'), '{"name":"sample"}');
    await rename(join(dir, 'next'), join(dir, 'plugins/sample/plugin.json'));
    await until(() => app.plugins()[0]?.error !== null);
    assert.match(app.plugins()[0]?.error ?? '', /has an invalid plugin\.json \(version: /);
    assert.equal(await ask(), { status: 200, body: 2 });
  },
);

Reload(
  'a folder that another takes the place of is followed, and paths go with the version that has them',
  async ({ app, ask, dir }) => {
    await cp(join(built, 'two'), join(dir, 'other'), { recursive: true });
    assert.is((await ask('/own-1')).status, 200);
    await rename(join(dir, 'plugins/sample'), join(dir, 'earlier'));
    await rename(join(dir, 'other'), join(dir, 'plugins/sample'));
    await until(async () => (await ask('/own-2')).status === 200);
    assert.is((await ask('/own-1')).status, 404);
    assert.equal([app.plugins()[0]?.version, app.plugins()[0]?.endpoints], ['2.0.0', ['/sample', '/stream', '/own-2']]);
  },
);

Reload(
  'plugins that were added are loaded and those that have gone are ended; one that takes the path of ' +
    'another is refused',
  async ({ app, ask, dir }) => {
    const second = join(dir, 'plugins/second');
    const outcomes = async (): Promise<string[]> =>
      (await app.reloadPlugins()).map(({ name, outcome }) => `${name} ${outcome}`);
    await cp(join(built, 'two'), second, { recursive: true });
    await writeFile(join(second, 'plugin.json'), '{"name":"second","version":"1.0.0","component":"dist/sample.wasm"}');
    assert.equal(await outcomes(), ['sample reloaded', 'second failed']);
    assert.match(app.plugins()[1]?.error ?? '', /^endpoint sample: the name is already registered$/);
    assert.equal(await ask(), { status: 200, body: 1 });
    await rm(join(dir, 'plugins/sample'), { recursive: true });
    assert.equal(await outcomes(), ['sample removed', 'second reloaded']);
    assert.equal(await ask(), { status: 200, body: 2 });
    await app.reloadPlugins('second'); // after the reload of the change that was seen in the removed folder
    assert.equal(
      app.plugins().map(({ name }) => name),
      ['second'],
    );
  },
);

Reload(
  'of two folders whose plugins say the same name neither is loaded, whichever comes first, and one that ' +
    'runs serves on',
  async (context) => {
    const { dir, ask } = context;
    const folders = ['a-first', 'sample'].map((name) => join(dir, 'plugins', name));
    await cp(join(built, 'two'), folders[0]!, { recursive: true });
    await writeFile(join(folders[0]!, 'plugin.json'), '{"name":"sample","version":"2.0.0"}');
    const outcomes = await context.app.reloadPlugins();
    const isThereTwice = (one: string, other: string): string =>
      `plugin sample is there twice, in ${one} and in ${other}: a plugin's grants and stored values belong to its ` +
      `name, so neither is loaded before one is removed, or has another name in its plugin.json`;
    assert.equal(outcomes, [
      { name: 'a-first', outcome: 'failed', detail: isThereTwice(folders[0]!, folders[1]!) },
      { name: 'sample', outcome: 'failed', detail: isThereTwice(folders[1]!, folders[0]!) },
    ]);
    assert.equal(await ask(), { status: 200, body: 1 });
    await context.app.shutdown();
    context.app = await start(dir);
    assert.equal(
      context.app.plugins().map(({ state, source }) => [state, source]),
      folders.map((folder) => ['failed', folder]),
    );
    assert.is((await ask()).status, 404);
    await rm(folders[0]!, { recursive: true });
    await context.app.reloadPlugins();
    assert.equal(await ask(), { status: 200, body: 1 });
  },
);

Reload('names the plugins that there are where one is to be reloaded that there is not', async ({ app }) => {
  const error = await app.reloadPlugins('other').catch((reason: Error) => reason);
  assert.is((error as Error).message, 'there is no plugin other; there are: sample');
});

Reload.run();
