import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { SampleDeployment } from '../inference/deployments/fixtures/sample-deployment.ts';
import { SentimentConfig, SentimentDeployment } from '../inference/deployments/fixtures/sentiment-deployment.ts';
import {
  AanaApp,
  type AanaAppOptions,
  AanaError,
  type ConfigInput,
  type DeploymentDefinition,
  loadConfig,
  silentLogger,
  WhisperDeployment,
} from 'aana-host';

const App = suite('AanaApp');
let folder = '';

App.before(() => {
  folder = mkdtempSync(join(tmpdir(), 'aana-app-'));
});
App.after(() => rmSync(folder, { recursive: true, force: true }));

const failing: DeploymentDefinition = {
  name: 'FailingDeployment',
  configSchema: z.strictObject({}),
  methods: {},
  maxOngoingRequests: () => 1,
  prepare: async () => {
    throw new AanaError('ModelNotFound', 'not-found', 'there is no such model');
  },
  implementation: new URL('file:///none.js'),
};

function makeApp(options: AanaAppOptions = {}): AanaApp {
  const config = loadConfig({
    cwd: folder,
    env: {},
    base: {
      cache_dir: join(folder, 'cache'),
      data_dir: join(folder, 'data'),
      task_queue: { enabled: false },
      media: { temp_dir: folder },
    },
  });
  const app = new AanaApp({ config, log: silentLogger, progress: { write: () => true }, ...options });
  app.registerEndpoint({
    name: 'double',
    path: '/double',
    summary: 'Doubles a number',
    input: z.strictObject({ n: z.number() }),
    output: z.strictObject({ n: z.number() }),
    run: async ({ n }) => ({ n: 2 * n }),
  });
  return app;
}

const double = (url: string | undefined): Promise<Response> =>
  fetch(`${url}/double`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"n":21}' });

App('listens, is not ready until it is deployed, then serves, then is gone', async () => {
  const app = makeApp();
  await app.connect({ port: 0 });
  assert.is((await fetch(`${app.url}/api/ready`)).status, 503);
  assert.is((await double(app.url)).status, 503);
  await app.migrate();
  await app.deploy();
  assert.is((await fetch(`${app.url}/api/ready`)).status, 200);
  assert.equal(await (await double(app.url)).json(), { n: 42 });
  assert.equal(app.status(), {
    status: 'RUNNING',
    message: '',
    deployments: { app: { status: 'RUNNING', message: '' } },
  });
  await app.shutdown();
  await app.shutdown();
  await app.stopped;
  assert.instance(await double(app.url).catch((error: unknown) => error), Error);
});

App('keeps uploads in a folder that the next start removes when this one is killed', async () => {
  const tempDir = join(folder, 'uploads');
  const config = loadConfig({
    cwd: folder,
    env: {},
    base: { cache_dir: join(folder, 'cache'), data_dir: join(folder, 'data'), media: { temp_dir: tempDir } },
  });
  const app = makeApp({ config });
  let uploaded = '';
  app.registerEndpoint({
    name: 'where',
    path: '/where',
    summary: 'Tells where the upload is',
    input: z.strictObject({ video: z.strictObject({ content: z.string().meta({ 'x-aana-file': true }) }) }),
    output: z.unknown(),
    run: async ({ video }, { files }) => (uploaded = files.get(video.content)?.path ?? ''),
  });
  await app.connect({ port: 0 });
  await app.deploy();
  const body = new FormData();
  body.set('body', '{"video":{"content":"clip"}}');
  body.set('clip', new Blob(['x']), 'clip.mp4');
  assert.is((await fetch(`${app.url}/where`, { method: 'POST', body })).status, 200);
  assert.match(
    uploaded.slice(tempDir.length),
    new RegExp(`^/aana-host-${process.pid}-[0-9a-f]{8}-[0-9a-f]{12}/upload-`),
  );
  await app.shutdown();
  assert.equal(readdirSync(tempDir), []);
});

App('registers the result of a class’s options, and its handles know the class', async () => {
  await using app = makeApp();
  app.registerDeployment(
    'sentiment',
    SentimentDeployment.options({ user_config: new SentimentConfig({ good: ['fine'] }) }),
  );
  await app.deploy();
  assert.is((await app.handle(SentimentDeployment, 'sentiment').classify({ text: 'fine' })).label, 'positive');
  const words: string[] = [];
  for await (const { word } of app.handle<typeof SentimentDeployment>('sentiment').words({ text: 'one two' }))
    words.push(word);
  assert.equal(words, ['one', 'two']);
  assert.throws(
    () => app.handle(WhisperDeployment, 'sentiment'),
    /deployment sentiment is a SentimentDeployment, not a WhisperDeployment/,
  );
  assert.throws(() => app.handle(SentimentDeployment, 'other'), /there is no deployment other/);
});

App('reports which deployment failed and why, with the state of each, and stops everything', async () => {
  let report = '';
  const progress = { write: (text: string) => (report += text) };
  const app = makeApp({
    name: 'shop',
    definitions: [failing, { ...SampleDeployment, prepare: async () => ({}) }],
    progress,
  });
  app.registerDeployment('good', { type: 'SampleDeployment' });
  app.registerDeployment('broken_deployment', { type: 'FailingDeployment' });
  await app.connect({ port: 0 });
  const error = await app.deploy().catch((thrown: unknown) => thrown as AanaError);
  assert.is((error as AanaError).name, 'FailedDeployment');
  assert.match((error as AanaError).message, /broken_deployment.*there is no such model/);
  // On a slow machine the progress is shown first, and the other deployment is stopped while it loads.
  assert.match(
    report,
    /(^|\n)shop +DEPLOY_FAILED\n  good +(DELETING|DEPLOY_FAILED: deployment good was stopped .*)\n  broken_deployment /,
  );
  assert.match(report, /\n  broken_deployment +DEPLOY_FAILED: .*there is no such model.*\n$/);
  await app.stopped;
  assert.is(app.status().status, 'UNHEALTHY');
  assert.instance(await double(app.url).catch((thrown: unknown) => thrown), Error);
});

App('starts its deployments one after the other on request', async () => {
  const seen: unknown[] = [];
  const first = { ...SampleDeployment, name: 'First', prepare: async () => ({ start: 'slow' }) };
  const second = {
    ...SampleDeployment,
    name: 'Second',
    prepare: async () => {
      seen.push(app.status().deployments['first']?.status);
      return {};
    },
  };
  await using app = makeApp({ definitions: [first, second] });
  app.registerDeployment('first', { type: 'First' }).registerDeployment('second', { type: 'Second' });
  await app.deploy({ sequential: true });
  assert.equal(seen, ['RUNNING']);
});

/** Creates an application on a machine with these devices. */
function appOn(devices: NonNullable<ConfigInput['devices']>): AanaApp {
  const config = loadConfig({
    cwd: folder,
    env: {},
    base: { cache_dir: join(folder, 'cache'), data_dir: join(folder, 'data'), media: { temp_dir: folder }, devices },
  });
  return makeApp({ config, definitions: [{ ...SampleDeployment, prepare: async () => ({}) }] });
}

App('refuses a deployment that asks for more GPUs than its configuration declares, and ends', async () => {
  const app = appOn({ gpus: [{ memory_bytes: 80e9 }] });
  app.registerDeployment('big', { type: 'SampleDeployment', ray_actor_options: { num_gpus: 100 } });
  const error = await app.deploy().catch((thrown: unknown) => thrown);
  assert.is((error as AanaError).name, 'InsufficientResources');
  assert.match(
    (error as AanaError).message,
    /big: it asks for 100 GPU; this machine has 1 GPU: declared GPU with 75 GiB/,
  );
  await app.stopped;
});

App('runs the same deployment on the CPU where there is no GPU', async () => {
  await using app = appOn({ gpus: [] });
  app.registerDeployment('big', { type: 'SampleDeployment', ray_actor_options: { num_gpus: 100 } });
  await app.deploy();
  assert.is(await app.handle('big').call('environment', { name: 'CUDA_VISIBLE_DEVICES' }), '');
});

App('answers 503 with the time of a retry while a deployment is full', async () => {
  await using app = appOn({ gpus: [] });
  app.registerDeployment('one', { type: 'SampleDeployment', max_ongoing_requests: 1, max_queued_requests: 0 });
  const ids: string[] = [];
  app.registerEndpoint({
    name: 'wait',
    path: '/wait',
    summary: 'Waits',
    input: z.strictObject({ ms: z.number() }),
    output: z.unknown(),
    run: async ({ ms }, { requestId, signal }) => {
      ids.push(requestId);
      return app.handle('one').call('wait', { ms }, { signal, requestId });
    },
  });
  await app.connect({ port: 0 });
  await app.deploy();
  const wait = (ms: number, signal?: AbortSignal): Promise<Response> =>
    fetch(`${app.url}/wait`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ms }),
      ...(signal && { signal }),
    });
  const client = new AbortController();
  const first = wait(60_000, client.signal).catch(() => 'left');
  while (ids.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  const refused = await wait(1);
  assert.equal([refused.status, refused.headers.get('retry-after')], [503, '1']);
  assert.is(((await refused.json()) as { error: string }).error, 'DeploymentFull');
  client.abort(); // the replica lets go of the call of a client that went away
  assert.is(await first, 'left');
  while ((await wait(1)).status === 503);
});

App('refuses a deployment of an unknown type or with an unknown option, by name', () => {
  const app = makeApp();
  assert.throws(
    () => app.registerDeployment('a', { type: 'NoDeployment' }),
    /deployment a: type: unknown type NoDeployment/,
  );
  assert.throws(() => app.registerDeployment('a', { type: 'WhisperDeployment', replicas: 2 } as never), /replicas/);
});

App('refuses to be deployed or connected twice, and a missing plugin folder', async () => {
  await using app = makeApp();
  await app.connect({ port: 0 });
  await app.deploy();
  assert.is(await app.deploy().catch((error: AanaError) => error.name), 'AlreadyDeployed');
  assert.is(await app.connect({ port: 0 }).catch((error: AanaError) => error.name), 'AlreadyConnected');
  assert.throws(() => app.registerPlugins(join(folder, 'none')), /there is no folder/);
  await mkdir(join(folder, 'empty'), { recursive: true });
  assert.throws(() => app.registerPlugins(join(folder, 'empty')), /there is no plugin in/);
});

App('resolves a blocking deploy when it is shut down', async () => {
  const app = makeApp();
  await app.connect({ port: 0 });
  const deployed = app.deploy({ blocking: true });
  while (!(await fetch(`${app.url}/api/ready`)).ok) await new Promise((resolve) => setTimeout(resolve, 5));
  await app.shutdown();
  await deployed;
});

App('can be shut down while it starts', async () => {
  let hasBegun = (): void => {};
  const begun = new Promise<void>((resolve) => (hasBegun = resolve));
  const waiting: DeploymentDefinition = {
    ...failing,
    name: 'WaitingDeployment',
    prepare: (_config, { signal }) => {
      hasBegun();
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
  };
  const app = makeApp({ definitions: [waiting] });
  app.registerDeployment('waiting', { type: 'WaitingDeployment' });
  const deployed = app.deploy().catch((thrown: unknown) => thrown as AanaError);
  await begun;
  await app.shutdown();
  assert.instance(await deployed, AanaError);
});

App('handles requests of the embedding program’s server', async () => {
  const { createServer } = await import('node:http');
  await using app = makeApp();
  await app.deploy();
  const server = createServer(app.callback()).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  assert.equal(await (await double(`http://127.0.0.1:${port}`)).json(), { n: 42 });
  server.close();
  server.closeAllConnections();
});

App('skips a plugin that cannot be loaded, or ends the start when it is strict', async () => {
  const broken = join(folder, 'plugins/broken');
  await mkdir(join(broken, 'dist'), { recursive: true });
  await writeFile(join(broken, 'plugin.json'), '{"name":"broken","version":"1.0.0"}');
  await writeFile(join(broken, 'dist/broken.wasm'), 'no component');
  await writeFile(join(folder, 'ffmpeg'), '#!/bin/sh\necho "ffmpeg version 9.0 fake"\n', { mode: 0o755 });
  const config = (strict: boolean) =>
    loadConfig({
      cwd: folder,
      env: {},
      base: {
        strict,
        cache_dir: join(folder, 'cache'),
        data_dir: join(folder, 'data'),
        media: { temp_dir: folder, ffmpeg_path: join(folder, 'ffmpeg') },
      },
    });
  const reported: string[] = [];
  const log = {
    ...silentLogger,
    error: (message: string, fields?: object) => void reported.push(`${message} ${JSON.stringify(fields)}`),
  };
  await using app = makeApp({ config: config(false), log });
  await app.registerPlugins(join(folder, 'plugins')).deploy();
  assert.is(reported.length, 1);
  assert.match(reported[0] ?? '', /plugin skipped .*broken/);

  const strict = makeApp({ config: config(true) });
  const error = await strict
    .registerPlugins(broken)
    .deploy()
    .catch((thrown: unknown) => thrown as AanaError);
  assert.is((error as AanaError).name, 'PluginLoadError');
});

App.run();
