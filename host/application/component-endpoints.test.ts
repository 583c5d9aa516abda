// Single endpoints of components, under names and paths that the application chooses.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay } from '../base/core/abort.ts';
import { type AanaApp, type AanaAppOptions, type AanaError, Endpoint, silentLogger, z } from 'aana-host';
import { keepingPlugins, makeApp as makePlainApp, makeFolder, postJson, started } from './fixtures/test-app.ts';
import { buildTestPlugin } from '../endpoints/plugins/fixtures/build-test-plugin.ts';

const SOURCE = `
const info = (name) => ({ name, path: '/own/' + name, summary: 'its own words', description: '',
  inputSchema: '{"type":"object"}', outputSchema: '{}', streaming: false });
const pages = { type: 'array', items: { type: 'integer' } };
const object = { type: 'object', properties: { pages }, additionalProperties: false };
const wrong = { ...info('wrong'), outputSchema: JSON.stringify(object) };
const outputs = { wrong: { pages: [1, 'a secret'], more: 'a secret' } };
export const endpoint = {
  describe: () => [info('first'), info('second'), wrong],
  run: (name) => JSON.stringify(outputs[name] ?? 'I am ' + name) };
`;

const Components = suite('endpoints of components');
let folder = '';
let plugin = '';

Components.before(async () => {
  folder = makeFolder();
  plugin = join(folder, 'plugins/sample');
  mkdirSync(join(plugin, 'src'), { recursive: true });
  await writeFile(join(plugin, 'plugin.json'), '{"name":"sample","version":"1.0.0"}');
  await writeFile(join(plugin, 'src/index.ts'), SOURCE);
  await writeFile(join(folder, 'ffmpeg'), '#!/bin/sh\necho "ffmpeg version 9.0 fake"\n', { mode: 0o755 });
  await buildTestPlugin(plugin);
});
Components.after(() => rmSync(folder, { recursive: true, force: true }));

const makeApp = (options: AanaAppOptions = {}, more: object = {}): AanaApp =>
  makePlainApp(folder, options, {
    ...keepingPlugins(folder),
    ...more,
    plugin_limits: { threads: 1 },
    media: { ffmpeg_path: join(folder, 'ffmpeg') },
  });
const ask = async (app: AanaApp, path: string): Promise<unknown> => {
  const response = await postJson(`${app.url}${path}`);
  return response.ok ? response.json() : response.status;
};

Components('bring a sweep of expired values when the start is over, if they may store some', async () => {
  const keeping = join(folder, 'keeping');
  mkdirSync(join(keeping, 'src'), { recursive: true });
  writeFileSync(join(keeping, 'src/index.ts'), SOURCE.replaceAll('/own/', '/keeping/'));
  writeFileSync(join(keeping, 'plugin.json'), '{"name":"keeping","version":"1.0.0","capabilities":["storage"]}');
  await using app = makeApp().registerPlugins(keeping);
  await app.storage.write(async ({ pluginValues, connection }) => {
    await pluginValues.set('keeping', 'k', new Uint8Array(5), { expiresInMs: 1 });
    await connection.query('update plugin_values set expires_at = 1');
  });
  const usage = (): Promise<unknown> =>
    app.storage.read(({ connection }) => connection.query('select plugin, keys, bytes from plugin_usage'));
  const full = [{ plugin: 'keeping', keys: 1, bytes: 5 }];
  assert.equal(await usage(), full);
  let whileStarting: unknown;
  class Looking extends Endpoint {
    readonly input = z.strictObject({});
    readonly output = z.strictObject({});
    override async initialize(): Promise<void> {
      whileStarting = await usage();
    }
    async run(): Promise<object> {
      return {};
    }
  }
  app.registerEndpoint({ name: 'looking', path: '/looking', summary: '', endpoint_cls: Looking });
  await started(app);
  assert.equal(whileStarting, full, 'a first start compiles SQLite after all that serving needs');
  const empty = JSON.stringify([{ plugin: 'keeping', keys: 0, bytes: 0 }]);
  while (JSON.stringify(await usage()) !== empty) await delay(10);
});

Components('take defer option, timeout and tags from plugin.json, unless the application sets them', async () => {
  const timed = join(folder, 'timed');
  mkdirSync(join(timed, 'src'), { recursive: true });
  writeFileSync(
    join(timed, 'src/index.ts'),
    SOURCE.replace('=> JSON.stringify(', "=> { if (name === 'first') for (;;); return JSON.stringify(").replace(
      'name) };',
      'name); } };',
    ),
  );
  const options = {
    first: { defer: 'always', execution_timeout_s: 0.3 },
    second: { defer: 'never', execution_timeout_s: 9000, tags: ['quick'] },
  };
  writeFileSync(join(timed, 'plugin.json'), JSON.stringify({ name: 'timed', version: '1.0.0', endpoints: options }));
  await using app = makeApp({}, { task_queue: { max_retries: 1 } })
    .registerPlugins(timed)
    .registerEndpoint({ name: 'mine', path: '/mine', component: timed, endpoint: 'second' })
    .registerEndpoint({
      name: 'other',
      path: '/other',
      component: timed,
      endpoint: 'second',
      defer_option: 'optional',
      execution_timeout: 7,
      tags: ['mine'],
    });
  await started(app);
  const said = app.endpoints
    .filter(({ name }) => name !== 'wrong')
    .map(({ name, deferOption, executionTimeoutS, tags }) => [name, deferOption, executionTimeoutS, tags]);
  assert.equal(said, [
    ['mine', 'never', 3600, ['quick']],
    ['other', 'optional', 7, ['mine']],
    ['first', 'always', 0.3, undefined],
  ]); // no longer than limits.timeout_s
  assert.is(await ask(app, '/mine?defer=true'), 'I am second');
  const { task_id: id } = (await ask(app, '/own/first')) as { task_id: string };
  const task = async (): Promise<{ status: string; result: { error: string; message: string } }> =>
    (await fetch(`${app.url}/tasks/${id}`)).json() as never;
  while (!['failed', 'completed'].includes((await task()).status))
    await new Promise((resolve) => setTimeout(resolve, 20));
  assert.match(JSON.stringify(await task()), /"status":"failed".*0\.3 seconds/);
  const { paths } = (await (await fetch(`${app.url}/openapi.json`)).json()) as {
    paths: Record<string, { post: { tags: string[]; parameters?: { name: string }[] } }>;
  };
  const named = (path: string): unknown[] => [
    paths[path]?.post.tags,
    paths[path]?.post.parameters?.some(({ name }) => name === 'defer'),
  ];
  assert.equal(
    [named('/mine'), named('/other'), named('/own/first')],
    [
      [['quick'], undefined],
      [['mine'], true],
      [['timed'], false],
    ],
  );
});

Components(
  'a plugin.json with options of an unknown endpoint is refused, and the known endpoints are named',
  async () => {
    const odd = join(folder, 'odd');
    mkdirSync(join(odd, 'src'), { recursive: true });
    writeFileSync(join(odd, 'src/index.ts'), SOURCE);
    writeFileSync(
      join(odd, 'plugin.json'),
      '{"name":"odd","version":"1.0.0","endpoints":{"frist":{"defer":"always"}}}',
    );
    await using app = makeApp().registerPlugins(odd);
    await started(app);
    assert.match(
      app.plugins()[0]?.error ?? '',
      'plugin odd has options in its plugin.json for an endpoint "frist", which it does not have; there are ' +
        'first, second',
    );
  },
);

Components(
  'a chosen one is served under the name, path and texts of the application, and the others are not',
  async () => {
    const seen: string[] = [];
    await using app = makeApp().registerEndpoint({
      name: 'mine',
      path: '/mine',
      summary: 'My words',
      component: plugin,
      endpoint: 'second',
      tags: ['t'],
      event_handlers: [{ handle: (path) => void seen.push(path) }],
    });
    await started(app);
    assert.equal(
      [await ask(app, '/mine'), await ask(app, '/own/first'), await ask(app, '/own/second')],
      ['I am second', 404, 404],
    );
    const { paths } = (await (await fetch(`${app.url}/openapi.json`)).json()) as {
      paths: Record<string, { post: Record<string, unknown> }>;
    };
    const { operationId, summary, tags } = paths['/mine']?.post ?? {};
    assert.equal(
      { operationId, summary, tags, seen },
      { operationId: 'mine', summary: 'My words', tags: ['t'], seen: ['/mine'] },
    );
  },
);

Components(
  'an output that does not match its schema is a 500, and only the log says where, without the value',
  async () => {
    const lines: unknown[] = [];
    const log = { ...silentLogger, error: (_: string, fields?: unknown) => void lines.push(fields), child: () => log };
    await using app = await started(makeApp({ log }).registerPlugins(join(folder, 'plugins')));
    const response = await postJson(`${app.url}/own/wrong`);
    assert.equal(
      [response.status, await response.json()],
      [
        500,
        {
          error: 'OutputError',
          message: 'endpoint wrong: its output does not match its schema',
          data: {},
          stacktrace: null,
        },
      ],
    );
    const places = lines
      .map((fields) => (fields as { output?: unknown }).output)
      .filter((output) => output !== undefined);
    assert.equal(places, [
      [
        { loc: ['pages', 1], type: 'float_type' },
        { loc: ['more'], type: 'extra_forbidden' },
      ],
    ]);
    assert.not.match(JSON.stringify(lines), 'a secret');
  },
);

Components('the same name needs no `endpoint`, and its own texts are then used', async () => {
  await using app = await started(
    makeApp()
      .registerEndpoint({ name: 'first', path: '/renamed', component: plugin })
      .registerEndpoint({ name: 'again', path: '/again', component: plugin, endpoint: 'first' }),
  );
  assert.equal([await ask(app, '/renamed'), await ask(app, '/again')], ['I am first', 'I am first']);
  assert.is(app.endpoints[0]?.summary, 'its own words');
});

Components(
  'keep their names when the plugin is reloaded, beside all other endpoints if the folder is registered, too',
  async () => {
    await using app = await started(
      makeApp()
        .registerPlugins(join(folder, 'plugins'))
        .registerEndpoint({ name: 'mine', path: '/mine', component: plugin, endpoint: 'second' }),
    );
    const answers = async (): Promise<unknown[]> => [
      await ask(app, '/mine'),
      await ask(app, '/own/first'),
      await ask(app, '/own/second'),
    ];
    assert.equal(await answers(), ['I am second', 'I am first', 404]);
    assert.equal(
      (await app.reloadPlugins()).map(({ outcome }) => outcome),
      ['reloaded'],
    );
    assert.equal(await answers(), ['I am second', 'I am first', 404]);
    app.unregisterEndpoint('first').unregisterEndpoint('mine');
    await app.reloadPlugins();
    assert.equal(await answers(), [404, 404, 'I am second']);
  },
);

Components(
  'a component is unloaded with its last endpoint, and can be registered again while the application runs',
  async () => {
    const mine = { name: 'mine', path: '/mine', component: plugin, endpoint: 'second' };
    await using app = await started(makeApp().registerEndpoint(mine));
    app.unregisterEndpoint('mine');
    assert.is(await ask(app, '/mine'), 404);
    while (app.plugins().length > 0) await new Promise((resolve) => setTimeout(resolve, 5));
    app.registerEndpoint(mine);
    await app.reloadPlugins();
    assert.is(await ask(app, '/mine'), 'I am second');
  },
);

Components('a name or path is reserved before the component is loaded', () => {
  const app = makeApp().registerEndpoint({ name: 'mine', path: '/mine', component: plugin, endpoint: 'second' });
  assert.throws(
    () => app.registerEndpoint({ name: 'mine', path: '/other', component: plugin }),
    /^endpoint mine: the name is already registered$/,
  );
  assert.throws(
    () => app.registerEndpoint({ name: 'other', path: '/mine', component: plugin }),
    /^endpoint other: the path \/mine already belongs to mine$/,
  );
});

Components('a folder without a plugin, or with several, is refused at once', () => {
  const app = makeApp();
  assert.throws(
    () => app.registerEndpoint({ name: 'mine', path: '/mine', component: join(folder, 'none') }),
    /there is no folder/,
  );
  mkdirSync(join(folder, 'empty'));
  assert.throws(
    () => app.registerEndpoint({ name: 'mine', path: '/mine', component: join(folder, 'empty') }),
    /there is no plugin in/,
  );
  for (const name of ['a', 'b']) {
    mkdirSync(join(folder, 'two', name), { recursive: true });
    writeFileSync(join(folder, 'two', name, 'plugin.json'), '{}');
  }
  assert.throws(
    () => app.registerEndpoint({ name: 'mine', path: '/mine', component: join(folder, 'two') }),
    /two holds several plugins: name the folder of one/,
  );
});

Components(
  'an endpoint that the component does not have fails the start, and the error names its endpoints',
  async () => {
    const app = makeApp().registerEndpoint({ name: 'mine', path: '/mine', component: plugin, endpoint: 'third' });
    const error = (await app.deploy().catch((thrown: unknown) => thrown)) as AanaError;
    assert.match(
      error.message,
      /^endpoint mine: .*sample has no endpoint third; choose one with `endpoint`: first, second, wrong$/,
    );
    await app.stopped;
  },
);

Components.run();
