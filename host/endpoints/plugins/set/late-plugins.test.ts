import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { AanaApp, loadConfig, type Logger, silentLogger } from 'aana-host';
import { buildTestPlugin, testCacheDir } from '../fixtures/build-test-plugin.ts';

/** A plugin that answers its name at `/<name>`, and declares deployments. */
async function writePlugin(folder: string, name: string, deployments: readonly string[]): Promise<string> {
  const plugin = join(folder, name);
  await mkdir(join(plugin, 'src'), { recursive: true });
  const manifest = { name, version: '1.0.0', capabilities: ['deployments'], deployments };
  await writeFile(join(plugin, 'plugin.json'), JSON.stringify(manifest));
  await writeFile(
    join(plugin, 'src/index.ts'),
    `export const endpoint = {
      describe: () => [{ name: '${name}', path: '/${name}', summary: 'a', description: '',
        inputSchema: '{"type":"object"}', outputSchema: '{}', streaming: false }],
      run: () => '"${name}"',
    };`,
  );
  return plugin;
}

interface Line {
  readonly level: string;
  readonly message: string;
  readonly fields: Record<string, unknown> | undefined;
}

function recorder(lines: Line[]): Logger {
  const at =
    (level: string) =>
    (message: string, fields?: Record<string, unknown>): void =>
      void lines.push({ level, message, fields });
  const log: Logger = {
    ...silentLogger,
    ...{ debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') },
    child: () => log,
  };
  return log;
}

interface StartOptions {
  readonly strict?: boolean;
  /** What is served. */
  readonly path?: string;
}

interface Context {
  dir: string;
  lines: Line[];
  start(options?: StartOptions): Promise<AanaApp>;
  app: AanaApp | undefined;
}

const Late = suite<Context>('plugins that are built while requests are served');

Late.before.each(async (context) => {
  context.dir = await mkdtemp(join(tmpdir(), 'aana-late-'));
  context.lines = [];
  context.start = async ({ strict = false, path = 'plugins' } = {}) => {
    const base = { cache_dir: testCacheDir(), data_dir: join(context.dir, 'data'), strict };
    context.app = new AanaApp({
      config: loadConfig({ cwd: context.dir, env: {}, base }),
      log: recorder(context.lines),
      progress: { write: () => true },
    });
    await context.app.registerPlugins(join(context.dir, path)).listen({ port: 0 });
    return context.app.deploy();
  };
});
Late.after.each(async ({ app, dir }) => {
  await app?.shutdown();
  await rm(dir, { recursive: true, force: true });
});

const states = (app: AanaApp): Record<string, string> =>
  Object.fromEntries(app.plugins().map(({ name, state }) => [name, state]));

const post = (app: AanaApp, path: string): Promise<Response> =>
  fetch(`${app.url}${path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' });

const ended = async (app: AanaApp): Promise<void> => {
  while (Object.values(states(app)).includes('building')) await new Promise((resolve) => setTimeout(resolve, 20));
};

Late(
  'a plugin of source whose deployment is not there is served after the start, and the others before',
  async (context) => {
    const { dir, start, lines } = context;
    const plugins = join(dir, 'plugins');
    const built = await writePlugin(plugins, 'built', ['absent_deployment']);
    await buildTestPlugin(built);
    await writePlugin(plugins, 'any', ['*']);
    await writePlugin(plugins, 'broken', ['absent_deployment']);
    await writeFile(join(plugins, 'broken/src/index.ts'), 'export const endpoint = {');
    await writePlugin(plugins, 'late', ['absent_deployment']);
    const app = await start();
    assert.equal(states(app), { any: 'running', broken: 'building', built: 'running', late: 'building' });
    const early = await post(app, '/late');
    assert.is(early.status, 503);
    assert.is(early.headers.get('retry-after'), '1');
    assert.match(((await early.json()) as { message: string }).message, 'plugins are still being built');
    assert.is((await fetch(`${app.url}/late`, { method: 'DELETE' })).status, 404);
    assert.is((await post(app, '/api/absent')).status, 404);
    assert.is(await (await post(app, '/built')).json(), 'built');
    // A reload waits for its turn, and builds nothing twice.
    const reloaded = await app.reloadPlugins('built');
    assert.equal(
      reloaded.map(({ outcome }) => outcome),
      ['reloaded'],
    );
    await ended(app);
    assert.equal(states(app), { any: 'running', broken: 'failed', built: 'running', late: 'running' });
    assert.is(await (await post(app, '/late')).json(), 'late');
    assert.is((await post(app, '/absent')).status, 404);
    const skipped = lines.filter(({ message }) => message === 'plugin skipped');
    assert.equal(
      skipped.map(({ level, fields }) => [level, fields?.['folder']]),
      [['error', join(plugins, 'broken')]],
    );
  },
);

Late('a reload of all loads what is announced, once', async ({ dir, start, lines }) => {
  await writePlugin(join(dir, 'plugins'), 'late', ['absent_deployment']);
  await writePlugin(join(dir, 'plugins'), 'later', ['absent_deployment']);
  const app = await start();
  const outcomes = await app.reloadPlugins();
  assert.equal(states(app), { late: 'running', later: 'running' });
  await app.reloadPlugins('later'); // in turn behind what was announced
  assert.equal(
    outcomes.map(({ name }) => name),
    ['late', 'later'],
  );
  const built = lines.filter(({ message }) => message === 'plugin built').map(({ fields }) => fields?.['plugin']);
  assert.equal(built, ['late', 'later']);
});

const AT_ONCE: Readonly<Record<string, StartOptions>> = {
  'a strict start': { strict: true },
  'a start with the folder of a plugin': { path: 'plugins/late' },
};
for (const [what, options] of Object.entries(AT_ONCE))
  Late(`${what} waits for the build, and the next start serves what is built`, async ({ dir, start }) => {
    await writePlugin(join(dir, 'plugins'), 'late', ['absent_deployment']);
    const first = await start(options);
    assert.equal(states(first), { late: 'running' });
    await first.shutdown();
    assert.equal(states(await start()), { late: 'running' });
  });

Late('a shutdown ends a build that is under way, without a warning', async ({ dir, start, lines }) => {
  await writePlugin(join(dir, 'plugins'), 'late', ['absent_deployment']);
  await writePlugin(join(dir, 'plugins'), 'later', ['absent_deployment']);
  const app = await start();
  await app.shutdown();
  assert.equal(
    lines.filter(({ level }) => level === 'warn' || level === 'error'),
    [],
  );
});

Late.run();
