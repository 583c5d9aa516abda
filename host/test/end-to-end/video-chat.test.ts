// Tests video-chat with a real server, the real component and real models: the shapes and the order of the original,
// tasks, users, and hosts and clients that end in the middle of an index.
import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../base/core/package-root.ts';
import { command, type CommandResult } from '../helpers/command-line/command.ts';
import { longSpeech, SAMPLE_TEXT, silentVideo, SLIDES, speakingVideo, talkWithSlides } from '../helpers/media/media.ts';
import { type RunningServer, serve, streamed, TEST_DEPLOYMENTS, until } from '../helpers/server.ts';
import { wordErrors } from '../helpers/media/word-errors.ts';

const VideoChat = suite('chat with videos');

type Value = Readonly<Record<string, unknown>> & { readonly error?: string };

const folder = await mkdtemp(join(tmpdir(), 'aana-chat-'));
const env = { AANA_DATA_DIR: join(folder, 'data') };
const plugins = [join(packageRoot, 'plugins/video-chat')];
const config = {
  plugin_grants: { 'video-chat': { capabilities: ['*'] } },
  plugin_settings: { 'video-chat': { max_video_len: 140 } },
  api_service: { enabled: true },
  task_queue: { heartbeat_timeout: 2 },
};
let server: RunningServer;
const keys = new Map<string, string>();

/** Creates a key of a user. Returns it. */
function keyOf(user: string): string {
  const args = [join(packageRoot, 'bundle/host/cli/main.js'), 'keys', 'create', '--user', user];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    ...{ cwd: folder, encoding: 'utf8' },
    env: { ...process.env, ...env },
  });
  assert.is(status, 0, stderr);
  return stdout.trim().split('\n').at(-1)!;
}

interface CitedAnswer {
  readonly completion: string;
  readonly claims: readonly {
    readonly claim: string;
    readonly quotes: readonly { text: string; start: number; end: number; source: 'speech' | 'slide' }[];
  }[];
}

/** What is said in the values that index a video. */
const spokenOf = (values: readonly Value[]): string =>
  values.map(({ transcription }) => (transcription as { text: string } | undefined)?.text ?? '').join('');

interface Asking {
  readonly user?: string;
  readonly clip?: Uint8Array;
  readonly query?: string;
  readonly signal?: AbortSignal;
}

function send(path: string, body: object, { user = 'ann', clip, query = '', signal }: Asking = {}): Promise<Response> {
  const form = new FormData();
  form.set('body', JSON.stringify(body));
  if (clip) form.set('clip', new Blob([new Uint8Array(clip)]), 'talk.mp4');
  const headers = { 'x-api-key': keys.get(user) ?? '' };
  return fetch(`${server.url}${path}${query}`, { method: 'POST', body: form, headers, ...(signal && { signal }) });
}

/** Returns the answer, or all values of a stream. */
async function ask(path: string, body: object, asking?: Asking): Promise<Value[]> {
  return streamed<Value>(await send(path, body, asking));
}

const index = (id: string, clip: Uint8Array, asking: Asking = {}): Promise<Value[]> =>
  ask('/video/index_stream', { video: { content: 'clip', media_id: id } }, { clip, ...asking });

/** Waits until a video has a status. Fails when it has ended with another one. */
const untilStatus = (id: string, wanted: string): Promise<void> =>
  until(async () => {
    const status = await statusOf(id);
    assert.ok(
      status === wanted || status === 'running' || status === 'created' || status === 'NotFoundException',
      `${id}: ${String(status)}`,
    );
    return status === wanted;
  }, 240_000);

async function statusOf(id: string, user?: string): Promise<unknown> {
  const [answer] = await ask('/video/status', { media_id: id }, user === undefined ? {} : { user });
  return answer!['status'] ?? answer!.error;
}

const keysOf = (value: object | undefined): string[] => Object.keys(value ?? {});

/** The keys of the values that index a video, in order. */
const SPEECH = ['transcription', 'segments', 'transcription_info'];
const ORDER = [['media_id', 'metadata'], SPEECH, ['transcription_id', 'caption_ids']];

VideoChat.before(async () => {
  server = await serve({ plugins, config, env });
  for (const user of ['ann', 'bob']) keys.set(user, keyOf(user));
});
VideoChat.after(async () => {
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

VideoChat('are indexed, asked about and deleted in the shapes of the original', async () => {
  const clip = await speakingVideo();
  const values = await index('talk', clip);
  const order = values.map(keysOf).filter((one, n, all) => JSON.stringify(one) !== JSON.stringify(all[n - 1]));
  assert.equal(order, ORDER, JSON.stringify(values));
  const [head, ...rest] = values as [Value & { metadata: { duration: number } }, ...Value[]];
  const { duration } = head.metadata;
  assert.ok(Math.abs(duration - 11) < 0.2, String(duration));
  assert.equal(head, { media_id: 'talk', metadata: { title: 'talk.mp4', description: '', duration } });
  const said = rest
    .flatMap(({ transcription }) => (transcription as { text: string } | undefined)?.text ?? [])
    .join('');
  assert.ok(wordErrors(SAMPLE_TEXT, said) <= 1, said);
  const last = values.at(-1) as unknown as { transcription_id: number; caption_ids: number[] };
  assert.ok(Number.isInteger(last.transcription_id), JSON.stringify(last));
  assert.equal(last.caption_ids, []);

  const [again] = await index('talk', clip);
  assert.equal([again?.error, again?.['data']], ['MediaIdAlreadyExistsException', { table: 'media', id: 'talk' }]);
  const id = { media_id: 'talk' };
  assert.equal(await ask('/video/metadata', id), [{ metadata: head.metadata }]);
  assert.equal(await ask('/video/status', id), [{ status: 'completed' }]);
  const question = { ...id, question: 'What should you ask?', sampling_params: { max_tokens: 24, temperature: 0 } };
  const pieces = await ask('/video/chat_stream', question);
  assert.ok(
    pieces.length > 1 && pieces.every((piece) => keysOf(piece).join() === 'completion'),
    JSON.stringify(pieces),
  );
  const [whole] = await ask('/video/chat', question);
  assert.equal(whole, { completion: pieces.map(({ completion }) => completion).join(''), left_out: [] });

  assert.equal(await ask('/video/delete', id), [id]);
  for (const path of ['/video/status', '/video/metadata', '/video/delete'])
    assert.is((await ask(path, id))[0]?.error, 'NotFoundException', path);
  for (const path of ['/video/chat', '/video/chat_stream'])
    assert.is((await ask(path, question))[0]?.error, 'NotFoundException', path);
  assert.equal(keysOf((await index('talk', clip)).at(-1)), ORDER.at(-1));
});

VideoChat('belong to their users', async () => {
  await index('own', await speakingVideo());
  assert.is(await statusOf('own', 'bob'), 'NotFoundException');
  assert.is((await ask('/video/delete', { media_id: 'own' }, { user: 'bob' }))[0]?.error, 'NotFoundException');
  assert.equal(keysOf((await index('own', await silentVideo(), { user: 'bob' })).at(-1)), ORDER.at(-1));
  await ask('/video/delete', { media_id: 'own' }, { user: 'bob' });
  assert.is(await statusOf('own'), 'completed');
});

VideoChat('without speech have an answer that says so', async () => {
  const values = await index('silent', await silentVideo());
  assert.equal(values.map(keysOf), ORDER);
  assert.equal(values[1]!['transcription_info'], { language: 'silence', language_confidence: 1 });
  const [answer] = await ask('/video/chat', { media_id: 'silent', question: 'What is it about?' });
  assert.match(String(answer!['completion']), /^Nothing is said/);
});

VideoChat('that are refused leave nothing behind', async () => {
  const [refused] = await index('long', await longSpeech(13));
  assert.is(refused?.error, 'VideoTooLongException');
  const { video, video_len: length, max_len: limit } = refused!['data'] as Record<string, unknown>;
  assert.equal([(video as { media_id: string }).media_id, limit], ['long', 140]);
  assert.ok(Math.abs(Number(length) - 143) < 1, String(length));
  const [unreadable] = await index('text', new TextEncoder().encode('no video'));
  assert.is(unreadable?.error, 'VideoReadingException');
  for (const id of ['long', 'text']) assert.is(await statusOf(id), 'NotFoundException');
  for (const [path, body] of [
    ['/video/metadata', {}],
    ['/video/status', { media_id: 'a.b' }],
    ['/video/chat_stream', { media_id: 'talk' }],
    ['/video/chat_stream', { question: 'What?' }],
    ['/video/index_stream', {}],
    ['/video/delete', {}],
  ] as const)
    assert.is((await ask(path, body))[0]?.error, 'ValidationError', path);
});

VideoChat('are indexed by tasks, which tell their progress and their values', async () => {
  const clip = await speakingVideo();
  const body = { video: { content: 'clip', media_id: 'later' } };
  const [{ task_id: id }] = (await ask('/video/index_stream', body, { clip, query: '?defer=true' })) as [Value];
  const headers = { 'x-api-key': keys.get('ann')! };
  const events = await (await fetch(`${server.url}/tasks/${String(id)}/events`, { headers })).text();
  const told = (event: string): Value[] =>
    [...events.matchAll(new RegExp(`^event: ${event}\\ndata: (.*)$`, 'gm'))].map(([, data = '']) => JSON.parse(data));
  assert.ok(told('progress').length > 0, events);
  assert.equal(told('completed').length, 1, events);
  const task = (await (await fetch(`${server.url}/tasks/${String(id)}`, { headers })).json()) as { result: Value[] };
  assert.equal(keysOf(task.result[0]), ORDER[0]);
  assert.is(await statusOf('later'), 'completed');
});

VideoChat('whose client leaves have failed, and can be deleted', async () => {
  const controller = new AbortController();
  const clip = await longSpeech(12);
  const leaving = index('left', clip, { signal: controller.signal }).catch(() => {});
  await untilStatus('left', 'running');
  const [unfinished] = await ask('/video/chat', { media_id: 'left', question: 'What?' });
  assert.is(unfinished?.error, 'UnfinishedVideoException');
  assert.is((unfinished!['data'] as { status: string }).status, 'running');
  controller.abort();
  await leaving;
  await untilStatus('left', 'failed');
  assert.is((await index('left', clip))[0]?.error, 'MediaIdAlreadyExistsException');
  await ask('/video/delete', { media_id: 'left' });
  assert.equal(keysOf((await index('left', await speakingVideo())).at(-1)), ORDER.at(-1));
});

VideoChat('whose host is killed have failed, and tasks index them again', async () => {
  const [long, clip] = await Promise.all([longSpeech(12), longSpeech(3)]);
  const direct = index('direct', long).catch(() => {});
  const body = { video: { content: 'clip', media_id: 'deferred' } };
  await ask('/video/index_stream', body, { clip, query: '?defer=true' });
  for (const id of ['direct', 'deferred']) await untilStatus(id, 'running');
  await server.stop('SIGKILL');
  await direct;
  server = await serve({ plugins, config, env });
  await untilStatus('direct', 'failed');
  // It has failed, too, from the end of its lease until its task is tried again.
  await until(async () => (await statusOf('deferred')) === 'completed', 240_000);
});

VideoChat('have the texts of their slides, where a deployment reads them, and are cited', async () => {
  await server.stop();
  const ocr_deployment = { type: 'OcrDeployment', user_config: { threads: 1 } };
  server = await serve({ plugins, env, config: { ...config, deployments: { ...TEST_DEPLOYMENTS, ocr_deployment } } });
  const clip = await talkWithSlides();
  const letters = (texts: readonly string[]): string[] => texts.map((text) => text.replaceAll(/\s/g, ''));
  const times: number[][] = [];
  for (const [n, video_params] of [{}, { fast_mode_enabled: false, extract_fps: 1 }].entries()) {
    const body = { video: { content: 'clip', media_id: `slides${n}` }, video_params };
    const [shown, last] = (await ask('/video/index_stream', body, { clip })).slice(-2) as [
      { captions: string[]; timestamps: number[] },
      { caption_ids: number[] },
    ];
    assert.equal([keysOf(shown), letters(shown.captions)], [['captions', 'timestamps'], letters(SLIDES)]);
    assert.is(last.caption_ids.length, 2);
    times.push(shown.timestamps);
  }
  assert.equal([times[0]![0], times[1]], [0, [0, 5]]);
  const question = { media_id: 'slides1', question: 'Where do clouds form?', sampling_params: { temperature: 0 } };
  const [cited] = (await ask('/video/chat', { ...question, cite: true })) as unknown as [CitedAnswer];
  assert.ok(cited.claims.length > 0, JSON.stringify(cited));
  assert.is(cited.completion, cited.claims.map(({ claim }) => claim).join('\n'));
  const said = spokenOf(await ask('/video/index_stream', { video: { content: 'clip' } }, { clip }));
  const sources = { speech: letters([said])[0]!, slide: letters(SLIDES).join('') };
  for (const { text, start, end, source } of cited.claims.flatMap(({ quotes }) => quotes)) {
    assert.ok(text.split(' ').length >= 5 && 0 <= start && start < end && end <= 11.1, JSON.stringify(cited));
    assert.ok(sources[source].includes(letters([text])[0]!), `${source}: ${text}`);
  }
});

VideoChat('are not served without a grant, which is told once and is no fault', async () => {
  // The look at the state of the host that finds this folder looks at the plugins, too.
  const alerts = { interval_s: 0.1, rules: { disk: { threshold: 0.000_001, for_s: 0 } } };
  const own = { ...env, XDG_RUNTIME_DIR: join(folder, 'run') };
  await using other = await serve({ plugins, config: { deployments: {}, alerts }, env: own });
  const run = (...args: string[]): Promise<CommandResult> => command(args, { env: { ...process.env, ...own } });
  const missing = /plugin_grants\W+video-chat\W+capabilities\W.*\Wrepositories-write\W/;
  assert.match(other.output(), new RegExp(`WARN +plugin skipped .*${missing.source}`));
  assert.match((await run('plugins')).out, new RegExp(`\n {2}state +not_granted\n {2}error +.*${missing.source}`));
  const all = await run('plugins', 'reload');
  assert.match(all.out, new RegExp(`^video-chat: skipped: .*${missing.source}`));
  assert.is(all.code, 0);
  await other.waitFor(/alert fires .*disk/);
  assert.not.match(other.output(), /ERROR (?!.*disk)|plugin_failed|plugin skipped[^]*plugin skipped/);
  const named = await run('plugins', 'reload', 'video-chat');
  assert.match(named.out, new RegExp(`^video-chat: failed: .*${missing.source}`));
  assert.is(named.code, 1);
});

VideoChat('are served beside all other reference plugins', async () => {
  await using other = await serve({ config: { deployments: {}, strict: true, plugin_grants: config.plugin_grants } });
  const loaded = [...other.output().matchAll(/plugin loaded .*plugin=(\S+)/g)].map(([, name]) => name);
  const all = (await readdir(join(packageRoot, 'plugins'), { withFileTypes: true })).filter((one) => one.isDirectory());
  assert.equal(loaded.sort(), all.map(({ name }) => name).sort());
});

VideoChat.run();
