// Videos in dialogs of OpenAI's API, with real videos, a tiny model and its vision projector.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, sep } from 'node:path';
import { type OpenAI, toFile } from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { IMAGE_TOKENS } from '../../../../native/lib/fixtures/tiny-projector.ts';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { ffmpegPath } from '../../../test/helpers/media/media.ts';
import { until } from '../../../test/helpers/server.ts';
import { skip } from '../../../test/skip.ts';
import { eventually, pathsBelow } from '../../http/fixtures/eventually.ts';
import { jsonl, lineOf } from '../fixtures/batch-inputs.ts';
import { chatOf, refused } from '../fixtures/chats.ts';
import { dataUrl, imageUrl, testPng, writeSeeing } from '../fixtures/images.ts';
import { llamaOptions, type OpenAiApp, startOpenAiApp } from '../fixtures/openai-app.ts';

const CONTEXT = 512;
const MAX_FRAMES = 40;

const Videos = suite('videos in dialogs');
const folder = mkdtempSync(join(tmpdir(), 'aana-video-input-'));
const temporary = mkdtempSync(join(tmpdir(), 'aana-video-files-'));
let at: OpenAiApp;
let site: Server;
let origin = '';
let connections = 0;
/** Four seconds of a moving picture. */
let moving: Buffer;
/** Four seconds: three scenes. */
let scenes: Buffer;
/** A second of silence without a picture. */
let silence: Buffer;

/** Makes a file with ffmpeg. */
function made(name: string, args: readonly string[]): Buffer {
  const file = join(folder, name);
  execFileSync(ffmpegPath(), ['-nostdin', '-v', 'error', '-y', ...args, file]);
  return readFileSync(file);
}

const colour = (name: string, seconds: number): readonly string[] => [
  ...['-f', 'lavfi', '-t', String(seconds), '-i', `color=${name}:size=128x96:rate=10`],
];

const start = (openai: object = {}, guards: object = { allow_private_urls: true }): Promise<OpenAiApp> =>
  startOpenAiApp({
    config: {
      openai: { video_input: { max_frames: MAX_FRAMES }, image_input: { max_bytes: 400_000 }, ...openai },
      media: { temp_dir: temporary, ffmpeg_path: ffmpegPath(), ...guards },
    },
    prepare: (app, tiny) => {
      const { model, mmproj } = writeSeeing(dirname(tiny));
      const kwargs = { n_ctx: CONTEXT, n_threads: 1, n_seq_max: 4, mmproj };
      app.registerDeployment('seeing', llamaOptions(model, { model_kwargs: kwargs }));
    },
  });

Videos.before(async () => {
  moving = made('moving.mp4', ['-f', 'lavfi', '-t', '4', '-i', 'testsrc=size=128x96:rate=10', '-c:v', 'mpeg4']);
  const inputs = [...colour('red', 1), ...colour('blue', 2), ...colour('white', 1)];
  scenes = made('scenes.mp4', [...inputs, '-filter_complex', 'concat=n=3', '-c:v', 'mpeg4']);
  silence = made('silence.m4a', ['-f', 'lavfi', '-t', '1', '-i', 'anullsrc', '-c:a', 'aac']);
  site = createServer((request, response) => {
    const isThere = request.url === '/moving.mp4';
    response.writeHead(isThere ? 200 : 404, { 'content-type': 'video/mp4' }).end(isThere ? moving : '');
  }).on('connection', () => (connections += 1));
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  at = await start();
});
Videos.after(async () => {
  await at?.[Symbol.asyncDispose]();
  site?.close();
  for (const one of [folder, temporary]) rmSync(one, { recursive: true, force: true });
});
Videos.after.each(() =>
  eventually(() => pathsBelow(temporary).every((name) => !name.includes(sep)), 'the files of the request are gone'),
);

const question = { type: 'text', text: 'Once upon a time' };
const videoUrl = (url: string) => ({ type: 'video_url', video_url: { url } });
const inline = (file: Buffer) => videoUrl(dataUrl(file, 'video/mp4'));
const sampled = (video: object): object => ({ media_io_kwargs: { video } });

interface Details {
  readonly image_tokens?: number;
  readonly dropped_frames?: number;
  readonly cached_tokens: number;
}
interface Answer {
  readonly text: string;
  readonly tokens: number;
  readonly details: Details;
}

async function answerTo(content: unknown, more: object = {}, app = at): Promise<Answer> {
  const response = await app.post('/v1/chat/completions', chatOf('seeing', content, more));
  const body = await response.text();
  assert.is(response.status, 200, body.slice(0, 500));
  const { choices, usage } = JSON.parse(body) as OpenAI.ChatCompletion;
  return {
    text: choices[0]!.message.content!,
    tokens: usage!.prompt_tokens,
    details: usage!.prompt_tokens_details as Details,
  };
}

const framesIn = ({ details }: Answer): number => (details.image_tokens ?? 0) / IMAGE_TOKENS;

Videos('are frames at even distances, each behind its time', async () => {
  const seen = await answerTo([inline(moving), question], sampled({ num_frames: 4 }));
  assert.is(framesIn(seen), 4);
  const still = imageUrl(dataUrl(await testPng(1)));
  const written = [0, 1, 2, 3].flatMap((time) => [{ type: 'text', text: `<${time}.0 seconds>` }, still]);
  assert.is(seen.tokens, (await answerTo([...written, question])).tokens);
  assert.is((await answerTo([inline(moving), question], sampled({ num_frames: 4 }))).text, seen.text);
  assert.is.not((await answerTo([inline(scenes), question], sampled({ num_frames: 4 }))).text, seen.text);
});

Videos('are sampled by rate and by scenes, as the request says it', async () => {
  for (const [more, frames] of [
    [sampled({ fps: 2 }), 8],
    [{ mm_processor_kwargs: { fps: 0.5 } }, 2],
    [sampled({ fps: 2, num_frames: 3 }), 3],
    [sampled({ fps: -1, num_frames: 2 }), 2],
    [{ ...sampled({ fps: 1 }), mm_processor_kwargs: { fps: 2, do_sample_frames: true } }, 4],
  ] as const)
    assert.is(framesIn(await answerTo([inline(moving), question], { ...more })), frames, JSON.stringify(more));
  assert.is(framesIn(await answerTo([inline(scenes), question], sampled({ scenes: 0.2 }))), 3);
  assert.is(framesIn(await answerTo([inline(scenes), question], sampled({ scenes: 0.2, num_frames: 2 }))), 2);
  // No more than the server allows, and fewer where the context has no room for them.
  const many = await answerTo([inline(moving), question], sampled({ num_frames: -1 }));
  assert.is(framesIn(many) + (many.details.dropped_frames ?? 0), MAX_FRAMES);
  assert.ok(many.details.dropped_frames! > 0 && many.tokens < CONTEXT);
  const usual = await answerTo([inline(moving), question]);
  assert.is(framesIn(usual) + (usual.details.dropped_frames ?? 0), 32);
});

Videos('of which nobody knows the duration are frames at a rate, thinned evenly', async () => {
  const file = inline(made('unknown.m4v', ['-i', join(folder, 'moving.mp4'), '-c:v', 'mpeg4', '-f', 'm4v']));
  for (const [video, frames] of [
    [{}, 4],
    [{ fps: 2 }, 8],
    [{ num_frames: 2 }, 2],
    [{ fps: 5, num_frames: 10 }, 10],
  ] as const)
    assert.is(framesIn(await answerTo([file, question], sampled(video))), frames, JSON.stringify(video));
});

Videos('share the frames of a request, and are reused in the next turn', async () => {
  const both = await answerTo([inline(moving), question, inline(scenes)], sampled({ num_frames: -1 }));
  assert.is(framesIn(both) + (both.details.dropped_frames ?? 0), MAX_FRAMES);
  const few = sampled({ num_frames: 3 });
  const twice = await answerTo([inline(moving), question, inline(moving)], few);
  assert.is.not((await answerTo([inline(moving), question, inline(scenes)], few)).text, twice.text);
  const turn = [inline(moving), question];
  const first = await answerTo(turn, sampled({ num_frames: 5 }));
  const messages = [
    { role: 'user', content: turn },
    { role: 'assistant', content: first.text },
    { role: 'user', content: 'And then?' },
  ];
  const next = await answerTo('', { messages, ...sampled({ num_frames: 5 }) });
  assert.ok(next.details.cached_tokens >= 5 * IMAGE_TOKENS, JSON.stringify(next));
});

Videos('are fetched under the guards of media', async () => {
  const fetched = await answerTo([videoUrl(`${origin}/moving.mp4`), question], sampled({ num_frames: 3 }));
  assert.is(fetched.text, (await answerTo([inline(moving), question], sampled({ num_frames: 3 }))).text);
  const param = 'messages[0].content[0].video_url.url';
  const content = [videoUrl(`${origin}/moving.mp4`)];
  await refused(
    await at.post('/v1/chat/completions', chatOf('seeing', [videoUrl(`${origin}/gone.mp4`)])),
    400,
    param,
    /404/,
  );
  const before = connections;
  {
    await using closed = await start({}, { allow_private_urls: false });
    await refused(await closed.post('/v1/chat/completions', chatOf('seeing', content)), 403, param, /private/);
  }
  {
    await using closed = await start({ image_input: { fetch: false }, video_input: { max_frames: 2 } });
    const response = await closed.post('/v1/chat/completions', chatOf('seeing', content));
    await refused(response, 400, param, /videos are not fetched here/);
    assert.is(framesIn(await answerTo([inline(moving)], {}, closed)), 2);
    const three = await closed.post('/v1/chat/completions', chatOf('seeing', Array(3).fill(inline(moving))));
    await refused(three, 400, 'messages[0].content[2].video_url.url', /may have 2 videos/);
  }
  const nine = await at.post('/v1/chat/completions', chatOf('seeing', Array(9).fill(inline(moving))));
  await refused(nine, 400, 'messages[0].content[8].video_url.url', /may have 8 videos/);
  {
    await using closed = await start({ video_input: { max_frames: 0 } });
    const response = await closed.post('/v1/chat/completions', chatOf('seeing', content));
    await refused(response, 400, param, /videos are not taken here/);
  }
  assert.is(connections, before);
});

Videos('can be lists of pictures, as vLLM takes them', async () => {
  const pictures = [await testPng(1), await testPng(2)];
  const list = `data:video/jpeg;base64,${pictures.map((file) => file.toString('base64')).join(',')}`;
  const images = pictures.map((file) => imageUrl(dataUrl(file)));
  const [seen, same] = [await answerTo([videoUrl(list), question]), await answerTo([...images, question])];
  assert.equal([seen.text, seen.tokens], [same.text, same.tokens]);
  const listOf = (many: number): object =>
    videoUrl(`data:video/jpeg;base64,${Array(many).fill(pictures[0]!.toString('base64')).join(',')}`);
  const param = 'messages[0].content[0].video_url.url';
  const send = (content: unknown): Promise<Response> => at.post('/v1/chat/completions', chatOf('seeing', content));
  await refused(await send([listOf(MAX_FRAMES + 1)]), 400, param, /more than 40 pictures/);
  await refused(await send([listOf(21), inline(moving)]), 400, param, /more than 20 pictures/);
  // Those beyond are not decoded, because a request has room for millions of them.
  await refused(await send([videoUrl(`data:video/jpeg;base64,${'!,'.repeat(41)}`)]), 400, param, /more than 40/);
});

Videos('are seen in requests of a batch', async () => {
  const body = chatOf('seeing', [inline(moving), question], sampled({ num_frames: 3 }));
  const { client } = at;
  const file = await client.files.create({
    file: await toFile(Buffer.from(jsonl([lineOf('a', body)])), 'in.jsonl'),
    purpose: 'batch',
  });
  const { id } = await client.batches.create({
    input_file_id: file.id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
  });
  let batch!: OpenAI.Batch;
  await until(async () => ['completed', 'failed'].includes((batch = await client.batches.retrieve(id)).status));
  const line = JSON.parse(await (await client.files.content(batch.output_file_id!)).text()) as {
    response: { body: OpenAI.ChatCompletion };
  };
  const seen = await answerTo([inline(moving), question], sampled({ num_frames: 3 }));
  assert.is(line.response.body.choices[0]!.message.content, seen.text);
});

Videos('that are none are refused with their place, and the server goes on', async () => {
  const param = 'messages[0].content[0].video_url.url';
  const send = (url: string, more: object = {}, model = 'seeing'): Promise<Response> =>
    at.post('/v1/chat/completions', chatOf(model, [videoUrl(url), question], more));
  const file = (bytes: Buffer): string => dataUrl(bytes, 'video/mp4');
  await refused(await send(file(Buffer.from('words'))), 400, param, /./);
  await refused(await send(file(moving.subarray(0, 500))), 400, param, /./);
  await refused(await send(file(silence)), 400, param, /no pictures|no video/);
  await refused(await send(file(Buffer.alloc(400_001))), 413, null, /too large/);
  await refused(await send(dataUrl(await testPng(1))), 400, param, /begins like data:video/);
  for (const url of ['', 'moving', 'file:///etc/passwd', 'ftp://a/b.mp4'])
    await refused(await send(url), 400, param, /neither an http or https address nor a data URL of a video/);
  for (const url of ['data:video/mp4;base64,', 'data:video/mp4;base64,not!', 'data:video/jpeg;base64,AAAA,,AAAA'])
    await refused(await send(url), 400, param, /not the base64 of a file/);
  await refused(await send(file(moving), {}, 'tiny'), 400, 'messages[0].content[0].type', /takes no videos/);
  for (const [video, name] of [
    [{ num_frames: 0 }, 'num_frames'],
    [{ num_frames: 1.5 }, 'num_frames'],
    [{ fps: 0 }, 'fps'],
    [{ fps: -2 }, 'fps'],
    [{ fps: 1e-9 }, 'fps'],
    [{ fps: 1e9 }, 'fps'],
    [{ fps: 'fast' }, 'fps'],
    [{ scenes: 0 }, 'scenes'],
    [{ scenes: 2 }, 'scenes'],
  ] as const)
    await refused(await send(file(moving), sampled(video)), 400, `media_io_kwargs.video.${name}`, /./);
  assert.is((await send(file(moving), sampled({ num_frames: 2 }))).status, 200);
});

Videos('end with their client', async () => {
  for (let round = 0; round < 3; round += 1) {
    const leaving = new AbortController();
    const body = JSON.stringify(chatOf('seeing', [inline(moving), question], { max_tokens: 300 }));
    const headers = { 'content-type': 'application/json' };
    const left = fetch(`${at.url}/v1/chat/completions`, { method: 'POST', headers, body, signal: leaving.signal });
    setTimeout(() => leaving.abort(), 100 * round);
    await left.catch(() => {});
  }
  assert.is(framesIn(await answerTo([inline(moving), question], sampled({ num_frames: 2 }))), 2);
});

if (cannotRun !== undefined) skip('videos in dialogs', cannotRun);
else Videos.run();
