// The command `invoke`, with real plugins, a real model, and a running application.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { writeTinyLlama } from '../../../../native/lib/fixtures/tiny-llama.ts';
import { makeApp } from '../../../application/fixtures/test-app.ts';
import { loadConfig } from '../../../base/config/index.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { packageRoot } from '../../../base/core/package-root.ts';
import { SampleDeployment } from '../../../inference/deployments/fixtures/sample-deployment.ts';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { command, type CommandResult } from '../../../test/helpers/command-line/command.ts';
import { makeMedia, sine, testFfmpeg } from '../../../test/helpers/media/media-files.ts';
import { skip } from '../../../test/skip.ts';
import { invokeEndpoint } from './invoke.ts';

const PLAIN = `
import { asText, defineEndpoint, definePlugin, HostError, textAnswer, z } from 'aana-host/plugin';

const many = defineEndpoint({
  name: 'plain_many', path: '/plain/many', summary: 'Streams numbers',
  input: z.strictObject({ to: z.int(), fails: z._default(z.boolean(), false) }),
  output: z.strictObject({ n: z.int() }), stream: true,
  *run({ to, fails }) {
    for (let n = 1; n <= to; n += 1) yield { n };
    if (fails) throw new HostError('TooMany', 'conflict', 'that was enough', { data: { to } });
  },
});
const table = defineEndpoint({
  name: 'plain_table', path: '/plain/table', summary: 'A table',
  input: z.strictObject({}), output: textAnswer('text/csv'), run: () => asText('text/csv', 'a,b\\n1,2'),
});
const hello = defineEndpoint({
  name: 'plain_hello', path: '/plain/hello', summary: 'Greets',
  input: z.strictObject({ who: z.string() }), output: z.string(),
  run({ who }, ctx) {
    ctx.log.info('greeting', { who });
    return 'Hello, ' + who + '!';
  },
});
export const endpoint = definePlugin([many, table, hello]);
`;

const RICH = `
import { defineEndpoint, definePlugin, VideoInput, z } from 'aana-host/plugin';

const base = { output: z.any() };
const visit = defineEndpoint({
  ...base, name: 'visit', path: '/rich/visit', summary: 'Counts', input: z.strictObject({}), uses: ['storage'],
  run: (_, ctx) => ctx.storage.increment('visits'),
});
const visits = defineEndpoint({
  ...base, name: 'visits', path: '/rich/visits', summary: 'Counts for ever',
  input: z.strictObject({}), uses: ['storage'],
  stream: true,
  *run(_, ctx) {
    for (;;) yield ctx.wait(ctx.storage.increment('visits'));
  },
});
const length = defineEndpoint({
  ...base, name: 'length', path: '/rich/length', summary: 'Length', input: z.strictObject({ video: VideoInput }),
  run: async ({ video }, ctx) => Math.round((await (await ctx.video.open(video)).extractAudio()).duration),
});
const call = defineEndpoint({
  ...base, name: 'call', path: '/rich/call', summary: 'Calls',
  input: z.strictObject({ deployment: z.string(), method: z.string(), args: z.any() }),
  run: ({ deployment, method, args }, ctx) => ctx.deployment(deployment).call(method, args),
});
const count = defineEndpoint({
  ...base, name: 'count', path: '/rich/count', summary: 'Streams', input: z.strictObject({ to: z.int() }), stream: true,
  *run({ to }, ctx) {
    yield* ctx.deployment('sample').stream('count', { to });
  },
});
export const endpoint = definePlugin([visit, visits, length, call, count]);
`;

const Invoke = suite('aana-host invoke');
let folder = '';
let env: NodeJS.ProcessEnv = {};

async function write(name: string, source: string, manifest: object = {}): Promise<void> {
  await mkdir(join(folder, name, 'src'), { recursive: true });
  await writeFile(join(folder, name, 'plugin.json'), JSON.stringify({ name, version: '0.1.0', ...manifest }));
  await writeFile(join(folder, name, 'src/index.ts'), source);
}

Invoke.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-i-'));
  await write('plain', PLAIN);
  const capabilities = ['media', 'deployments', 'storage'];
  await write('rich', RICH, { capabilities, deployments: ['sample', 'llm'] });
  writeTinyLlama(join(folder, 'tiny.gguf'));
  const llm = { type: 'LlamaTextGenerationDeployment', user_config: { model_id: join(folder, 'tiny.gguf') } };
  const model = { ...llm.user_config, model_kwargs: { n_ctx: 256, n_threads: 1 } };
  await writeFile(
    join(folder, 'aana.config.json'),
    JSON.stringify({ deployments: { llm: { ...llm, user_config: model } }, devices: { gpus: [] } }),
  );
  const ffmpeg = await testFfmpeg();
  env = {
    ...process.env,
    AANA_DATA_DIR: join(folder, 'data'),
    AANA_RUNTIME_DIR: join(folder, 'run'),
    TMPDIR: folder,
    ...(ffmpeg !== undefined && { AANA_FFMPEG_PATH: ffmpeg }),
  };
});
Invoke.after(() => rm(folder, { recursive: true, force: true }));

const run = (...args: string[]): Promise<CommandResult> => command(['invoke', ...args], { cwd: folder, env });
const quietly = (...args: string[]): Promise<CommandResult> => run(...args, '--log-level', 'error');

Invoke('builds the plugin, and prints JSON; the log of the plugin goes to the standard error', async () => {
  const { code, out, err } = await run('plain', 'plain_hello', '{"who":"Ada"}');
  assert.equal([code, out], [0, '"Hello, Ada!"\n']);
  assert.match(err, /^\S+ INFO +greeting plugin=plain request=\S+ fields=\{"who":"Ada"\}\n$/);
  assert.equal(await quietly('plain', '/plain/hello', '{"who":"Bob"}'), { code: 0, out: '"Hello, Bob!"\n', err: '' });
});

Invoke('takes its input from a file and from the standard input of the program', async () => {
  await writeFile(join(folder, 'input.json'), ' { "who": "Ada" }\n');
  assert.is((await quietly('plain', 'plain_hello', '@input.json')).out, '"Hello, Ada!"\n');
  assert.match((await quietly('plain', 'plain_hello', '@none.json')).err, /^error: .* none\.json: ENOENT\n$/);
  const program = join(packageRoot, 'bundle/host/cli/main.js');
  const args = [program, 'invoke', 'plain', 'plain_hello', '-', '--log-level', 'error'];
  const child = spawn(process.execPath, args, { cwd: folder, env });
  child.stdin.end('{"who":"Eve"}');
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  assert.equal([code, out, err], [0, '"Hello, Eve!"\n', '']);
});

Invoke('prints a line for each streamed value, and a text as it is', async () => {
  assert.is((await quietly('plain', 'plain_many', '{"to":3}')).out, '{"n":1}\n{"n":2}\n{"n":3}\n');
  assert.is((await quietly('plain', 'plain_table')).out, 'a,b\n1,2');
  assert.equal(await quietly('plain', 'plain_many', '{"to":1,"fails":true}'), {
    code: 1,
    out: '{"n":1}\n',
    err: 'error: TooMany: that was enough {"to":1}\n',
  });
});

Invoke('says what is wrong, with exit code 2', async () => {
  const said = async (...args: string[]): Promise<string> => {
    const { code, out, err } = await quietly(...args);
    assert.equal([code, out], [2, ''], err);
    return err;
  };
  assert.match(
    await said('plain', 'hello'),
    /^error: .*plain has no endpoint hello; it has: plain_many, plain_table, plain_hello\n$/,
  );
  assert.match(await said('plain', 'plain_hello', '{who'), /^error: the input is not JSON: /);
  assert.match(
    await said('plain', 'plain_hello'),
    /^error: ValidationError: Validation error \[\{"type":"missing","loc":\["who"\],"msg":"Field required"/,
  );
  assert.match(await said('absent', 'plain_hello'), /^error: there is no folder .*absent\n$/);
  assert.match(await said('.', 'plain_hello'), /^error: \. contains several plugins; name the folder of one\n$/);
  for (const file of ['x', '=x', 'x='])
    assert.match(await said('plain', 'plain_hello', '{}', '--file', file), /: write <field>=<path>\n$/);
  assert.match(await said('plain', 'plain_hello', '{}', '--file', 'a=none'), /: there is no file none\n$/);
});

Invoke('keeps what the plugin stores, in the database of the configuration', async () => {
  assert.equal([(await quietly('rich', 'visit')).out, (await quietly('rich', 'visit')).out], ['1\n', '2\n']);
});

Invoke('ends without an error, and closes what it has opened, when the reader of its answer has gone', async () => {
  const gone = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
  const out = new Writable({ write: (_chunk, _encoding, done) => done(gone) }).on('error', () => {});
  const children = (): number => process.getActiveResourcesInfo().filter((name) => name === 'ProcessWrap').length;
  const before = children();
  await invokeEndpoint({
    ...{ config: loadConfig({ cwd: folder, env }), source: join(folder, 'rich'), endpoint: 'visits', input: '{}' },
    ...{
      files: [],
      application: { runtimeDir: join(folder, 'run') },
      log: silentLogger,
      pluginLog: silentLogger,
      stdin: process.stdin,
      out,
    },
    signal: new AbortController().signal,
  });
  assert.is(children(), before);
  const args = [join(packageRoot, 'bundle/host/cli/main.js'), 'invoke', 'rich', 'visits', '--log-level', 'error'];
  const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.once('data', () => child.stdout.destroy());
  const [err, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  assert.equal([code, err], [0, '']);
});

Invoke('takes files for the fields that the input names', async () => {
  const ffmpeg = await testFfmpeg();
  if (ffmpeg === undefined) return skip('files', 'there is no ffmpeg');
  await makeMedia(ffmpeg, join(folder, 'sound.wav'), ...sine(440, 3));
  const input = '{"video":{"content":"clip"}}';
  assert.equal(await quietly('rich', 'length', input, '--file', 'clip=sound.wav'), { code: 0, out: '3\n', err: '' });
  const { code, err } = await quietly('rich', 'length', input);
  assert.is(code, 2);
  assert.match(err, /^error: UploadedFileNotFound: .*"clip", but no file was uploaded/);
});

Invoke('calls the deployments of the running application', async () => {
  const app = makeApp(folder, {}, { runtime_dir: join(folder, 'run') });
  app.registerDeployment('sample', SampleDeployment.options({ user_config: { model: join(folder, 'tiny.gguf') } }));
  await app.listen({ host: '127.0.0.1', port: 0 });
  await app.deploy();
  try {
    const input = '{"deployment":"sample","method":"echo","args":{"text":"é"}}';
    const { code, out, err } = await quietly('rich', 'call', input);
    assert.equal([code, err], [0, '']);
    assert.match(out, /"text":"é"/);
    assert.is((await quietly('rich', 'count', '{"to":3}')).out, '0\n1\n2\n');
    const other = await quietly('rich', 'call', '{"deployment":"llm","method":"x","args":{}}');
    assert.match(other.err, /^error: DeploymentNotFound: there is no deployment llm; deployments are: sample/);
    assert.match((await quietly('rich', 'call', input, '--port', '9')).err, /is running at 9\n?/);
  } finally {
    await app.shutdown({ graceMs: 0 });
  }
});

Invoke('starts a deployment of the configuration that is called, if no application runs', async () => {
  if (cannotRun !== undefined) return skip('a deployment for one invocation', cannotRun);
  const args = { prompt: 'Once upon a time', sampling_params: { max_tokens: 3, ignore_eos: true } };
  const input = JSON.stringify({ deployment: 'llm', method: 'generate', args });
  const { code, out, err } = await quietly('rich', 'call', input);
  assert.is(code, 0, err);
  assert.type((JSON.parse(out) as { text: unknown }).text, 'string');
  assert.match(
    (await quietly('rich', 'call', '{"deployment":"sample","method":"echo","args":{}}')).err,
    /^error: DeploymentNotFound: there is no deployment sample/,
  );
});

Invoke.run();
