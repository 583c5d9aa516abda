// Records of usage of a real server with real models, compared with the usage that clients get.
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import OpenAI, { toFile } from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { writeTinyBert } from '../../native/lib/fixtures/tiny-embedding.ts';
import { loadConfig } from '../base/config/index.ts';
import { packageRoot } from '../base/core/package-root.ts';
import { cannotRun, readWav } from '../inference/engines/fixtures/cannot-run.ts';
import { jsonl, lineOf } from '../apis/openai/fixtures/batch-inputs.ts';
import { type OpenAiApp, registerEndless, startOpenAiApp } from '../apis/openai/fixtures/openai-app.ts';
import { makeFolder } from './fixtures/test-app.ts';
import { realtimePcm } from '../apis/openai/realtime/fixtures/realtime-client.ts';
import { SocketClient } from '../apis/http/sockets/fixtures/socket-client.ts';
import { LlamaEmbeddingDeployment, WhisperDeployment } from 'aana-host';
import { ffmpegPath, speakingVideo, speechPath } from '../test/helpers/media/media.ts';
import { until } from '../test/helpers/server.ts';
import { skip } from '../test/skip.ts';
import type { UsageRecord } from '../data/usage/index.ts';

interface CloudEvent {
  readonly specversion: string;
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly subject: string;
  readonly time: string;
  readonly data: Omit<UsageRecord, 'id' | 'time'>;
}

/** A system that bills. */
class Biller {
  readonly events: CloudEvent[] = [];
  readonly headers: IncomingHttpHeaders[] = [];
  /** Returns the status of the answer to a batch. */
  answer: (batch: readonly CloudEvent[]) => number = () => 204;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const batch = JSON.parse(Buffer.concat(chunks).toString()) as CloudEvent[];
        const status = this.answer(batch);
        if (status < 300) this.events.push(...batch);
        this.headers.push(request.headers);
        response.writeHead(status).end();
      });
    });
  }

  static async start(): Promise<Biller> {
    const biller = new Biller();
    await once(biller.#server.listen(0, '127.0.0.1'), 'listening');
    return biller;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/api/v1/events`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

const Usage = suite('records of usage');
let at: OpenAiApp;
let biller: Biller;
const folder = makeFolder();
const file = join(folder, 'records/usage.jsonl');
let key = '';
let ann: OpenAI;

Usage.before(async () => {
  biller = await Biller.start();
  at = await startOpenAiApp({
    config: {
      name: 'shop',
      api_service: { enabled: true },
      media: { ffmpeg_path: ffmpegPath(), temp_dir: folder },
      usage: {
        file: { path: file },
        http: { url: biller.url, interval_s: 0.1, headers: ['authorization=Bearer%20billing'] },
      },
    },
    prepare: (app, tiny) => {
      registerEndless(app, tiny);
      const bert = join(tiny, '../bert.gguf');
      writeTinyBert(bert);
      app.registerDeployment(
        'bert',
        LlamaEmbeddingDeployment.options({ user_config: { model_id: bert, model_kwargs: { n_threads: 1 } } }),
      );
      app.registerDeployment(
        'asr_deployment',
        WhisperDeployment.options({ user_config: { model_size: 'tiny.en', threads: 1 } }),
      );
      app.registerPlugins(join(packageRoot, 'plugins/video-transcribe'));
    },
  });
  key = (await at.app.apiKeys!.create({ user_id: 'ann', key_id: 'ann-1' })).apiKey;
  ann = new OpenAI({ baseURL: `${at.url}/v1`, apiKey: key, maxRetries: 0 });
});
Usage.after(async () => {
  await at?.[Symbol.asyncDispose]();
  biller?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Returns the records of the whole lines of the file. It is empty between its creation and its first record. */
const written = (): UsageRecord[] =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as UsageRecord)
    : [];

/** Returns the records that `work` adds, when `count` of them are in the file. */
async function recordsOf(count: number, work: () => Promise<unknown>): Promise<UsageRecord[]> {
  const before = written().length;
  await work();
  await until(async () => written().length >= before + count);
  return written().slice(before);
}

const MESSAGES = [{ role: 'user', content: 'Once upon a time there was a fox' }] as const;
const tokensOf = ({ prompt_tokens: prompt, cached_tokens: cached, completion_tokens: completion }: UsageRecord) => [
  prompt,
  cached,
  completion,
];
const usageOf = (usage: OpenAI.CompletionUsage | null | undefined) => [
  usage?.prompt_tokens,
  usage?.prompt_tokens_details?.cached_tokens,
  usage?.completion_tokens,
];

Usage('of a chat agree with the usage in the answer, and name the user, the key and the route', async () => {
  let answer: OpenAI.ChatCompletion | undefined;
  const [record, ...others] = await recordsOf(1, async () => {
    answer = await ann.chat.completions.create({
      model: 'tiny',
      messages: [...MESSAGES],
      max_tokens: 5,
      n: 2,
      temperature: 1,
    });
  });
  assert.equal(others, []);
  assert.equal(tokensOf(record!), usageOf(answer?.usage));
  assert.ok(record!.completion_tokens > 0 && record!.compute_seconds > 0 && record!.duration_seconds > 0);
  const { source, user_id, key_id, route, deployment, requests, calls, outcome, status, audio_seconds } = record!;
  assert.equal(
    [source, user_id, key_id, route, deployment, requests, calls, outcome, status, audio_seconds],
    ['request', 'ann', 'ann-1', '/v1/chat/completions', 'tiny', 1, 1, 'ok', 200, 0],
  );
});

Usage('of a streamed chat agree with its last event', async () => {
  let usage: OpenAI.CompletionUsage | null | undefined;
  const [record] = await recordsOf(1, async () => {
    const stream = await ann.chat.completions.create({
      ...{ model: 'tiny', messages: [...MESSAGES], max_tokens: 7, stream: true },
      stream_options: { include_usage: true },
    });
    for await (const chunk of stream) usage = chunk.usage ?? usage;
  });
  assert.equal(tokensOf(record!), usageOf(usage));
  assert.not.ok(record!.is_partial);
});

Usage('of a stream that its client leaves have the text that had come', async () => {
  const [record] = await recordsOf(1, async () => {
    const stream = await ann.chat.completions.create({ model: 'endless', messages: [...MESSAGES], stream: true });
    let count = 0;
    for await (const _ of stream) if ((count += 1) > 5) break;
    stream.controller.abort();
  });
  assert.equal([record!.is_partial, record!.deployment, record!.outcome], [true, 'endless', 'cancelled']);
  assert.ok(record!.completion_tokens >= 4 && record!.compute_seconds > 0);
});

Usage('of embeddings, of a failed request and of a request that nothing runs', async () => {
  let answer: OpenAI.CreateEmbeddingResponse | undefined;
  const [record] = await recordsOf(1, async () => {
    answer = await ann.embeddings.create({ model: 'bert', input: ['A cat.', 'Two dogs.'] });
  });
  assert.equal([record!.prompt_tokens, record!.completion_tokens], [answer?.usage.prompt_tokens, 0]);
  assert.is(record!.deployment, 'bert');

  const before = written().length;
  await ann.models.list();
  await ann.embeddings.create({ model: 'gone', input: 'a' }).catch(() => {});
  await fetch(`${at.url}/livez`);
  const [last] = await recordsOf(1, () => ann.embeddings.create({ model: 'bert', input: 'a' }));
  assert.is(written().length, before + 1);
  assert.is(last!.outcome, 'ok');
});

Usage('of a transcription agree with the seconds in the answer', async () => {
  let answer: OpenAI.Audio.Transcription | undefined;
  const [record, ...others] = await recordsOf(1, async () => {
    const speech = await toFile(readFileSync(speechPath()), 'speech.wav');
    answer = await ann.audio.transcriptions.create({ model: 'asr_deployment', file: speech });
  });
  assert.equal(others, []);
  const { usage } = answer as unknown as { usage: { seconds: number } };
  assert.is(Math.ceil(record!.audio_seconds), usage.seconds);
  assert.equal([record!.deployment, record!.completion_tokens], ['asr_deployment', 0]);
});

Usage('of a plugin, and of a deferred task of it', async () => {
  const upload = async (path: string): Promise<Response> => {
    const form = new FormData();
    form.set('clip', new Blob([(await speakingVideo()) as never]), 'a.mp4');
    form.set('body', '{"video":{"content":"clip"}}');
    const answer = await fetch(`${at.url}${path}`, { method: 'POST', body: form, headers: { 'x-api-key': key } });
    assert.ok(answer.ok, await answer.clone().text());
    return answer;
  };
  const [direct] = await recordsOf(1, () => upload('/video/transcribe').then((answer) => answer.text()));
  assert.equal(
    [direct!.source, direct!.route, direct!.deployment, direct!.key_id],
    ['request', '/video/transcribe', 'asr_deployment', 'ann-1'],
  );
  assert.ok(direct!.audio_seconds > 1 && direct!.plugin_cpu_seconds > 0);
  let task = '';
  const [deferred, ...others] = await recordsOf(1, async () => {
    const answer = await upload('/video/transcribe?defer=true');
    task = ((await answer.json()) as { task_id: string }).task_id;
  });
  assert.equal(others, []);
  assert.equal(
    [deferred!.source, deferred!.request_id, deferred!.user_id, deferred!.key_id, deferred!.route, deferred!.outcome],
    ['task', task, 'ann', null, '/video/transcribe', 'ok'],
  );
  assert.is(deferred!.audio_seconds, direct!.audio_seconds);
});

Usage('of a batch, one for each of its requests', async () => {
  const lines = [3, 4, 5].map((tokens) =>
    lineOf(`${tokens}`, { model: 'tiny', messages: MESSAGES, max_tokens: tokens }),
  );
  let total = 0;
  const records = await recordsOf(3, async () => {
    const input = await ann.files.create({
      file: await toFile(Buffer.from(jsonl(lines)), 'in.jsonl'),
      purpose: 'batch',
    });
    const { id } = await ann.batches.create({
      input_file_id: input.id,
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
    });
    await until(async () => (await ann.batches.retrieve(id)).status === 'completed');
    const output = await (await ann.files.content((await ann.batches.retrieve(id)).output_file_id!)).text();
    for (const line of output.trim().split('\n'))
      total += (JSON.parse(line) as { response: { body: OpenAI.ChatCompletion } }).response.body.usage!.total_tokens;
  });
  assert.is(records.length, 3);
  assert.equal(
    new Set(records.map(({ source, user_id: user, route }) => [source, user, route].join())),
    new Set(['batch,ann,/v1/chat/completions']),
  );
  assert.is(
    records.reduce((sum, one) => sum + one.prompt_tokens + one.completion_tokens, 0),
    total,
  );
});

Usage('of a response that is made in the background', async () => {
  let usage: OpenAI.Responses.ResponseUsage | undefined;
  const [record, ...others] = await recordsOf(1, async () => {
    const { id } = await ann.responses.create({ model: 'tiny', input: 'Once', background: true, max_output_tokens: 4 });
    await until(async () => {
      const made = await ann.responses.retrieve(id);
      ({ usage } = made);
      return made.status !== 'queued' && made.status !== 'in_progress';
    });
  });
  assert.equal(others, []);
  assert.equal(tokensOf(record!), [
    usage?.input_tokens,
    usage?.input_tokens_details.cached_tokens,
    usage?.output_tokens,
  ]);
  assert.equal([record!.source, record!.user_id, record!.route], ['task', 'ann', '/v1/responses']);
});

Usage('of a WebSocket, at its end', async () => {
  const [speech] = await readWav(speechPath());
  const samples = speech!.subarray(0, 32_000);
  const sound = Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength);
  const [record] = await recordsOf(1, async () => {
    const client = await SocketClient.open(`${at.url.replace('http', 'ws')}/asr/live?encoding=pcm_f32le`, {
      headers: { 'x-api-key': key },
    });
    await client.transcribe(sound);
  });
  assert.equal(
    [record!.source, record!.route, record!.deployment, record!.user_id, record!.outcome],
    ['socket', '/asr/live', 'asr_deployment', 'ann', 'ok'],
  );
  assert.ok(Math.abs(record!.audio_seconds - 2) < 0.1, `${record!.audio_seconds} s`);
});

Usage('of a realtime session agree with the seconds that it told', async () => {
  const [speech] = await readWav(speechPath());
  let told = 0;
  const [record, ...others] = await recordsOf(1, async () => {
    const url = `${at.url.replace('http', 'ws')}/v1/realtime?model=asr_deployment`;
    const client = await SocketClient.open(url, { headers: { authorization: `Bearer ${key}` } });
    const send = (event: object): void => client.socket.send(JSON.stringify(event));
    const input = { turn_detection: null };
    send({ type: 'session.update', session: { type: 'transcription', audio: { input } } });
    for (const seconds of [2, 3]) {
      const audio = realtimePcm(speech!.subarray(0, seconds * 16_000)).toString('base64');
      send({ type: 'input_audio_buffer.append', audio });
      send({ type: 'input_audio_buffer.commit' });
    }
    const completed = (): { usage: { seconds: number } }[] =>
      client.messages.filter(({ type }) => type === 'conversation.item.input_audio_transcription.completed');
    await until(async () => completed().length === 2);
    told = completed().reduce((sum, { usage }) => sum + usage.seconds, 0);
    client.socket.close(1000);
  });
  assert.equal(others, []);
  assert.equal(
    [record!.source, record!.route, record!.deployment, record!.user_id, record!.key_id, record!.calls],
    ['socket', '/v1/realtime', 'asr_deployment', 'ann', 'ann-1', 2],
  );
  assert.ok(Math.abs(record!.audio_seconds - told) < 0.2, `${record!.audio_seconds} and ${told} s`);
});

Usage('go to the other server as CloudEvents, once each, also after it was away and refused one', async () => {
  await until(async () => biller.events.length >= written().length);
  assert.is(biller.headers[0]?.['content-type'], 'application/cloudevents-batch+json; charset=utf-8');
  assert.is(biller.headers[0]?.authorization, 'Bearer billing');
  const byId = (records: readonly { id: string }[]) => [...records].sort((a, b) => a.id.localeCompare(b.id));
  const flat = (): object[] => biller.events.map(({ id, time, data }) => ({ id, time, ...data }));
  assert.equal(byId(flat() as UsageRecord[]), byId(written()));
  assert.equal(
    biller.events.map(({ specversion, source, type, subject }) => [specversion, source, type, subject].join()),
    biller.events.map(() => '1.0,/aana-host/shop,aana.usage,ann'),
  );
  let attempts = 0;
  biller.answer = () => ((attempts += 1) < 2 ? 503 : 204);
  await recordsOf(1, () => ann.embeddings.create({ model: 'bert', input: 'a' }));
  await until(async () => biller.events.length === written().length);
  assert.is(attempts, 2);

  biller.answer = (batch) => (batch.some(({ data }) => data.route === '/v1/completions') ? 422 : 204);
  const before = biller.events.length;
  await recordsOf(4, async () => {
    for (const text of ['a', 'b', 'c']) await ann.embeddings.create({ model: 'bert', input: text });
    await ann.completions.create({ model: 'tiny', prompt: 'a', max_tokens: 1 });
  });
  await until(async () => biller.events.length === before + 3);
  biller.answer = () => 204;
  await recordsOf(1, () => ann.embeddings.create({ model: 'bert', input: 'd' }));
  await until(async () => biller.events.length === before + 4);
});

Usage('are off by default, and a wrong configuration is refused with its place', () => {
  const load = (usage: object) => loadConfig({ cwd: '/', env: {}, content: JSON.stringify({ usage }) }).usage;
  assert.equal([load({}).file.path, load({}).http.url], [null, null]);
  for (const [given, message] of [
    [{ file: { path: '/proc/usage' } }, /"usage\.file\.path": is in \/proc or \/sys/],
    [{ file: { max_bytes: 10 } }, /"usage\.file\.max_bytes"/],
    [{ http: { url: 'ftp://billing' } }, /"usage\.http\.url": must be an address such as/],
    [{ http: { headers: ['authorization: Bearer secret'] } }, /"usage\.http\.headers\.0": must be name=value$/],
    [{ http: { batch_size: 0 } }, /"usage\.http\.batch_size"/],
    [{ lago: {} }, /unknown key "usage\.lago"/],
  ] as const)
    assert.throws(() => load(given), message);
});

if (cannotRun !== undefined) skip('records of usage', cannotRun);
else Usage.run();
