// examples/script is copied out of the repository: a script deploys an application, and another process uses it by
// name.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { connect, type RunningApplication } from '../../apis/control/client/index.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import type { WhisperDeployment } from '../../inference/deployments/index.ts';
import { SAMPLE_TEXT, speakingVideo } from '../helpers/media/media.ts';
import { copyProject } from '../helpers/plugin-project.ts';
import { freePort, isRunning, until } from '../helpers/server.ts';

const Script = suite('examples/script');
let folder = '';
let project = '';
let port = 0;
let env: NodeJS.ProcessEnv = {};
let application: ChildProcess;
let app: RunningApplication;

function start(file: string, ...args: string[]): ChildProcess {
  return spawn(process.execPath, [join(project, file), ...args], {
    cwd: project,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

async function run(file: string, ...args: string[]): Promise<{ code: number | null; out: string }> {
  const child = start(file, ...args);
  let out = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (out += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, out };
}

const words = (text: string): string[] => text.toLowerCase().match(/[a-z]+/g) ?? [];

Script.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-s-'));
  project = join(folder, 'script');
  copyProject(join(packageRoot, 'examples/script'), project);
  await writeFile(join(project, 'talk.mp4'), await speakingVideo());
  env = {
    ...process.env,
    AANA_DATA_DIR: join(folder, 'data'),
    XDG_RUNTIME_DIR: join(folder, 'run'),
    AANA_LOG_LEVEL: 'warn',
    AANA_TEMP_DIR: join(folder, 'tmp'),
  };
  port = await freePort();
  application = start('application.js', String(port));
  const runtimeDir = join(folder, 'run/aana-host');
  await until(async () => (await readdir(runtimeDir).catch(() => [])).some((name) => name.endsWith('.json')), 60_000);
  app = await connect({ runtime_dir: runtimeDir, show_logs: true });
  await until(async () => (await app.status()).status === 'RUNNING', 300_000);
});
Script.after(async () => {
  await app.close();
  application.kill('SIGKILL');
  await rm(folder, { recursive: true, force: true });
});

Script('another process transcribes, chats and streams through handles by name', async () => {
  const { code, out } = await run('client.js', 'talk.mp4');
  const [said = '', answered = '', streamed = ''] = out.split('\n');
  assert.is(code, 0, out);
  const wanted = words(SAMPLE_TEXT);
  assert.ok(words(said).filter((word) => wanted.includes(word)).length >= wanted.length - 2, said);
  assert.ok(answered.length > 0, out);
  assert.is(streamed, answered, 'the same answer as a stream');
});

Script('decoded audio is kept until it is disposed', async () => {
  const decoded = async (): Promise<string[]> =>
    (await readdir(join(folder, 'tmp'), { recursive: true })).filter((name) =>
      /[0-9a-f]{12}[/\\][^/\\]+[/\\]/.test(name),
    );
  // The audio of the previous test's client is removed when the client ends.
  await until(async () => (await decoded().catch(() => undefined))?.length === 0); // a folder may go while it is read
  const audio = await app.openAudio({ path: join(project, 'talk.mp4') });
  assert.ok(Math.abs(audio.duration - 11) < 1, String(audio.duration));
  const samples = (await decoded()).filter((file) => file.endsWith('.f32')); // the other one is a link to the video
  assert.equal(samples, [audio.channels[0]?.artifact.id]);
  const asr = await app.handle<typeof WhisperDeployment>('asr_deployment');
  const { transcription_info: info } = await asr.transcribe({ audio });
  assert.is(info.language, 'en');
  await audio[Symbol.asyncDispose]();
  await audio[Symbol.asyncDispose]();
  assert.equal(await decoded(), []);
});

Script('the model is released when a process is killed during a stream', async () => {
  const program = `
    import { connect } from 'aana-host';
    const { handle } = await connect();
    const llm = await handle('llm_deployment');
    const endless = { prompt: '1, 2, 3, 4, 5, 6,', sampling_params: { max_tokens: 3000 } };
    for await (const { text } of llm.generate_stream(endless)) process.stdout.write(text);`;
  await writeFile(join(project, 'endless.js'), program);
  const client = start('endless.js');
  await once(client.stdout!, 'data');
  const ongoing = async (): Promise<number> =>
    (await app.status()).deployments.find(({ name }) => name === 'llm_deployment')?.replicas[0]?.ongoing ?? -1;
  assert.is(await ongoing(), 1);
  client.kill('SIGKILL');
  await until(async () => (await ongoing()) === 0);
});

Script('a second application at the same port attaches, reports it, and does not disturb the first', async () => {
  assert.equal(await run('application.js', String(port)), { code: 2, out: '' });
  assert.is((await app.status()).status, 'RUNNING');
});

Script('stops on request', async () => {
  await app.shutdown();
  await until(async () => !(await isRunning(application.pid ?? 0)));
  assert.is(application.exitCode ?? (await once(application, 'exit'))[0], 0);
});

Script.run();
