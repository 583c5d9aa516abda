// Starts that must fail, replicas that die, and hosts that are killed.
import { cp, mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../base/core/package-root.ts';
import { longSpeech, SAMPLE_TEXT, speakingVideo } from '../helpers/media/media.ts';
import {
  cpuSeconds,
  descendants,
  isRunning,
  post,
  serve,
  startServe,
  streamed,
  TEST_DEPLOYMENTS,
  until,
} from '../helpers/server.ts';
import { wordErrors } from '../helpers/media/word-errors.ts';
import { testModel } from '../helpers/models.ts';

const Lifecycle = suite('the life of a server');

let folder: string;
Lifecycle.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-life-'));
});
Lifecycle.after(() => rm(folder, { recursive: true, force: true }));

const { asr_deployment } = TEST_DEPLOYMENTS;
const onlySpeech = { config: { deployments: { asr_deployment } } };

const replicasOf = async (pid: number | undefined): Promise<{ pid: number; command: string }[]> =>
  (await descendants(pid ?? 0)).filter(({ command }) => /replicas\/child\/main/.test(command));

/** Returns the seconds that the replicas have computed. */
async function computed(pid: number | undefined): Promise<number> {
  const seconds = await Promise.all((await replicasOf(pid)).map((replica) => cpuSeconds(replica.pid)));
  return seconds.reduce((sum, one) => sum + one, 0);
}

/** Waits until the replicas have computed since `before`, also if they are done by now. */
const untilComputed = (pid: number | undefined, before: number): Promise<void> =>
  until(async () => (await computed(pid)) - before > 0.1, 120_000);

/** Waits until no replica computes. */
async function untilIdle(pid: number | undefined): Promise<void> {
  let before = await computed(pid);
  await until(async () => {
    await new Promise((resolve) => setTimeout(resolve, 500));
    const now = await computed(pid);
    const isIdle = now - before <= 0.1;
    before = now;
    return isIdle;
  }, 120_000);
}

Lifecycle('a request whose replica is killed is repeated and only takes longer', async () => {
  await using server = await serve();
  const long = await longSpeech(4);
  const replicas = await replicasOf(server.process.pid);
  assert.is(replicas.length, 2, JSON.stringify(replicas));
  const before = await computed(server.process.pid);
  const running = post(`${server.url}/video/transcribe`, { video: { content: 'video' } }, { video: { data: long } });
  await untilComputed(server.process.pid, before);
  for (const { pid } of replicas) process.kill(pid, 'SIGKILL');
  const repeated = await running;
  const answer = (await repeated.json()) as { transcription: { text: string } };
  assert.is(repeated.status, 200, JSON.stringify(answer));
  assert.ok(answer.transcription.text.split(/country/i).length > 4, answer.transcription.text);

  const next = await post(
    `${server.url}/video/transcribe`,
    { video: { content: 'video' } },
    { video: { data: await speakingVideo() } },
  );
  const body = (await next.json()) as { transcription: { text: string } };
  assert.is(next.status, 200, JSON.stringify(body));
  assert.ok(wordErrors(SAMPLE_TEXT, body.transcription.text) <= 1);
  const stream = await post(
    `${server.url}/video/summarize_stream`,
    { video: { content: 'video' } },
    { video: { data: await speakingVideo() } },
  );
  assert.ok((await streamed(stream)).length > 1);
});

Lifecycle('work stops when its client leaves', async () => {
  await using server = await serve(onlySpeech);
  const controller = new AbortController();
  const before = await computed(server.process.pid);
  const running = post(
    `${server.url}/video/transcribe`,
    { video: { content: 'video' } },
    { video: { data: await longSpeech(80) } },
    controller.signal,
  ).catch((error: unknown) => error);
  await untilComputed(server.process.pid, before);
  controller.abort();
  await running;
  await untilIdle(server.process.pid);
  const next = await post(
    `${server.url}/video/transcribe`,
    { video: { content: 'video' } },
    { video: { data: await speakingVideo() } },
  );
  assert.is(next.status, 200);
  await until(async () => {
    const status = (await (await fetch(`${server.url}/api/status`)).json()) as {
      deployments: Record<string, { status: string }>;
    };
    return Object.values(status.deployments).every(({ status: state }) => state === 'RUNNING');
  });
});

Lifecycle('no child outlives a killed host, not even a stopped child', async () => {
  const server = await serve();
  const children = await descendants(server.process.pid ?? 0);
  const replicas = await replicasOf(server.process.pid);
  assert.is(replicas.length, 2);
  process.kill(replicas[0]?.pid ?? 0, 'SIGSTOP');
  await server.stop('SIGKILL');
  await until(
    async () => (await Promise.all(children.map(({ pid }) => isRunning(pid)))).every((running) => !running),
    10_000,
  );
});

Lifecycle('SIGINT lets a running request finish', async () => {
  // A slow machine needs longer than the default.
  await using server = await serve({ config: { ...onlySpeech.config, shutdown_grace_s: 300 } });
  const before = await computed(server.process.pid);
  const running = post(
    `${server.url}/video/transcribe`,
    { video: { content: 'video' } },
    { video: { data: await longSpeech(4) } },
  );
  await untilComputed(server.process.pid, before);
  const stopped = server.stop('SIGINT');
  const response = await running;
  assert.is(response.status, 200, await response.text());
  assert.is(await stopped, 0);
});

Lifecycle('a port in use ends the start with one sentence', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  try {
    const address = taken.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    const server = await startServe({ flags: ['--port', String(port)] });
    assert.is(await server.ended(), 2);
    assert.match(server.output(), new RegExp(`${port}.*in use`));
    assert.not.match(server.output(), /\n\s+at /, 'a stack trace');
  } finally {
    taken.close();
  }
});

Lifecycle('a truncated model file ends the start with one sentence that names it', async () => {
  const model = join(folder, 'truncated.gguf');
  await cp(await testModel('smollm2-135m-instruct'), model);
  await truncate(model, 1_000_000);
  const server = await startServe({
    config: {
      deployments: { llm_deployment: { type: 'LlamaTextGenerationDeployment', user_config: { model_id: model } } },
    },
  });
  assert.is(await server.ended(), 1);
  assert.match(server.output(), /truncated\.gguf/);
  assert.not.match(server.output(), /\n\s+at /, 'a stack trace');
});

Lifecycle('a plugin folder with a broken component is reported and skipped', async () => {
  const broken = join(folder, 'plugins/broken');
  await mkdir(join(broken, 'dist'), { recursive: true });
  await writeFile(
    join(broken, 'plugin.json'),
    JSON.stringify({ name: 'broken', version: '1.0.0', component: 'dist/broken.wasm' }),
  );
  await writeFile(join(broken, 'dist/broken.wasm'), 'this is not a component');
  await using server = await serve({
    plugins: [join(packageRoot, 'plugins/video-transcribe'), join(folder, 'plugins')],
    config: { deployments: {} },
  });
  assert.match(server.output(), /broken/);
  const { paths } = (await (await fetch(`${server.url}/openapi.json`)).json()) as { paths: Record<string, unknown> };
  assert.ok(paths['/video/transcribe']);
});

Lifecycle('an unknown key of the configuration is refused by name, with exit code 2', async () => {
  const server = await startServe({ config: { prot: 9000 } });
  assert.is(await server.ended(), 2);
  assert.match(server.output(), /prot/);
});

Lifecycle.run();
