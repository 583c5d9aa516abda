// Images in dialogs of the three APIs, with the official client, a tiny model and its vision projector.
import { createServer, type Server } from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, sep } from 'node:path';
import { deflateSync } from 'node:zlib';
import Anthropic from '@anthropic-ai/sdk';
import type OpenAI from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { IMAGE_TOKENS } from '../../../../native/lib/fixtures/tiny-projector.ts';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { ffmpegPath } from '../../../test/helpers/media/media.ts';
import { skip } from '../../../test/skip.ts';
import { eventually, pathsBelow } from '../../http/fixtures/eventually.ts';
import { chatOf, refused } from '../fixtures/chats.ts';
import { dataUrl, imageUrl, testPng, writeSeeing } from '../fixtures/images.ts';
import { llamaOptions, type OpenAiApp, startOpenAiApp } from '../fixtures/openai-app.ts';

const MAX_JSON_BYTES = 50_000;
const MAX_IMAGE_BYTES = 200_000;
const MAX_IMAGES = 4;

const Images = suite('images in dialogs');
const media = mkdtempSync(join(tmpdir(), 'aana-images-'));
let at: OpenAiApp;
let client: OpenAI;
let lions: Buffer;
let boats: Buffer;
/** What the site answers, by path. */
const site = new Map<string, { readonly type: string; readonly body: Buffer; readonly control?: string }>();
let server: Server;
let origin = '';
let connections = 0;

/** Starts an application with the models `tiny`, which takes no images, and `seeing`. */
const start = (images: object = {}, guards: object = { allow_private_urls: true }): Promise<OpenAiApp> =>
  startOpenAiApp({
    config: {
      openai: {
        image_input: { max_images: MAX_IMAGES, max_bytes: MAX_IMAGE_BYTES, ...images },
        aliases: {
          shared: {
            deployments: [
              { name: 'tiny', weight: 1000 },
              { name: 'seeing', weight: 1 },
            ],
          },
        },
      },
      limits: { max_json_bytes: MAX_JSON_BYTES },
      media: { temp_dir: media, ffmpeg_path: ffmpegPath(), ...guards },
    },
    prepare: (app, tiny) => {
      const { model, mmproj } = writeSeeing(dirname(tiny));
      app.registerDeployment(
        'seeing',
        llamaOptions(model, { model_kwargs: { n_ctx: 512, n_threads: 1, n_seq_max: 4, mmproj } }),
      );
    },
  });

Images.before(async () => {
  [lions, boats] = await Promise.all([testPng(1), testPng(2)]);
  server = createServer((request, response) => {
    const found = site.get(request.url ?? '');
    const control = { 'cache-control': found?.control ?? 'no-store', 'content-length': found?.body.length ?? 0 };
    response.writeHead(found ? 200 : 404, { 'content-type': found?.type ?? 'text/plain', ...control }).end(found?.body);
  }).on('connection', () => (connections += 1));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  site.set('/lions.png', { type: 'image/png', body: lions });
  site.set('/large.png', { type: 'image/png', body: Buffer.concat([lions, Buffer.alloc(MAX_IMAGE_BYTES)]) });
  site.set('/page', { type: 'text/html', body: Buffer.from('<p>lions</p>') });
  at = await start();
  client = at.client;
});
Images.after(async () => {
  await at?.[Symbol.asyncDispose]();
  server?.close();
  rmSync(media, { recursive: true, force: true });
});
Images.after.each(() =>
  eventually(() => pathsBelow(media).every((name) => !name.includes(sep)), 'the files of the request are gone'),
);

const question = { type: 'text' as const, text: 'Once upon a time' };
const chat = (content: unknown, more?: object) => chatOf('seeing', content, more);

const send = (content: unknown, more?: object): Promise<Response> =>
  at.post('/v1/chat/completions', chat(content, more));

Images('of all parts of a dialog choose a model of an alias that sees', async () => {
  const image = { type: 'input_image', image_url: dataUrl(lions), detail: 'auto' };
  const call = { type: 'function_call', call_id: 'c', name: 'look', arguments: '{}' };
  const answer = await at.post('/v1/responses', {
    ...{ model: 'shared', max_output_tokens: 16 },
    input: [{ role: 'user', content: 'Hi' }, call, { type: 'function_call_output', call_id: 'c', output: [image] }],
  });
  assert.equal([answer.status, answer.headers.get('x-aana-deployment')], [200, 'seeing'], await answer.text());
  const sound = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } };
  const spoken = await at.post('/v1/chat/completions', chatOf('shared', [imageUrl(dataUrl(lions)), sound]));
  await refused(spoken, 400, 'messages[0].content[1].type', /not transcribed here/);
});

Images('a chat sees its images, and tells how many tokens they have', async () => {
  const seen = await client.chat.completions.create(chat([imageUrl(dataUrl(lions)), question]));
  const other = await client.chat.completions.create(chat([imageUrl(dataUrl(boats)), question]));
  const blind = await client.chat.completions.create(chat([question]));
  const texts = [seen, other, blind].map(({ choices }) => choices[0]!.message.content);
  assert.is(new Set(texts).size, 3, JSON.stringify(texts));
  assert.ok(seen.usage!.prompt_tokens >= blind.usage!.prompt_tokens + IMAGE_TOKENS);
  const again = await client.chat.completions.create(
    chat([{ type: 'image_url', image_url: { url: dataUrl(lions), detail: 'low' } }, question]),
  );
  assert.is(again.choices[0]!.message.content, texts[0]);
  assert.ok(again.usage!.prompt_tokens_details!.cached_tokens! >= IMAGE_TOKENS);
  let streamed = '';
  for await (const chunk of await client.chat.completions.create({
    ...chat([imageUrl(dataUrl(lions)), question]),
    stream: true,
  }))
    streamed += chunk.choices[0]?.delta.content ?? '';
  assert.is(streamed, texts[0]);
  const fetched = await client.chat.completions.create(chat([imageUrl(`${origin}/lions.png`), question]));
  assert.is(fetched.choices[0]!.message.content, texts[0]);
});

Images('an image that its server allows to keep is fetched once, for chats, responses and messages', async () => {
  site.set('/kept.png', { type: 'image/png', body: lions, control: 'max-age=600' });
  const url = `${origin}/kept.png`;
  connections = 0;
  const content = [{ type: 'input_image', image_url: url, detail: 'auto' }];
  const messages = [{ role: 'user', content: [{ type: 'image', source: { type: 'url', url } }] }];
  const answers = await Promise.all([
    ...[1, 2].map(() => send([imageUrl(url), question])),
    at.post('/v1/responses', { model: 'seeing', max_output_tokens: 16, input: [{ role: 'user', content }] }),
    at.post('/v1/messages', { model: 'seeing', max_tokens: 2, messages }),
  ]);
  for (const answer of answers) assert.is(answer.status, 200, await answer.text());
  assert.is((await send([imageUrl(url), question])).status, 200);
  assert.is(connections, 1);
});

Images('responses and messages see the same', async () => {
  const wanted = (await client.chat.completions.create(chat([imageUrl(dataUrl(lions)), question]))).choices[0]!.message
    .content;
  const content = [
    { type: 'input_image' as const, image_url: dataUrl(lions), detail: 'auto' as const },
    { type: 'input_text' as const, text: question.text },
  ];
  const first = await client.responses.create({
    model: 'seeing',
    input: [{ role: 'user', content }],
    temperature: 0,
    max_output_tokens: 16,
  });
  assert.ok(first.output_text.startsWith(wanted!), `${first.output_text} begins with ${wanted}`);
  const { data } = await client.responses.inputItems.list(first.id);
  assert.equal((data[0] as { content: unknown[] }).content[0], content[0]);
  const next = await client.responses.create({
    model: 'seeing',
    input: 'And then?',
    previous_response_id: first.id,
    max_output_tokens: 16,
  });
  assert.ok(next.usage!.input_tokens > first.usage!.input_tokens);
  const anthropic = new Anthropic({ baseURL: at.url, apiKey: 'none', maxRetries: 0 });
  for (const source of [
    { type: 'base64' as const, media_type: 'image/png' as const, data: lions.toString('base64') },
    { type: 'url' as const, url: `${origin}/lions.png` },
  ]) {
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: [{ type: 'image', source }, question] }];
    const message = await anthropic.messages.create({ model: 'seeing', messages, max_tokens: 12 });
    assert.is((message.content[0] as { text: string }).text, wanted);
    const { input_tokens: counted } = await anthropic.messages.countTokens({ model: 'seeing', messages });
    assert.is(counted, message.usage.input_tokens + (message.usage.cache_read_input_tokens ?? 0));
  }
  let streamed = '';
  const source = { type: 'base64' as const, media_type: 'image/png' as const, data: lions.toString('base64') };
  for await (const event of anthropic.messages.stream({
    model: 'seeing',
    messages: [{ role: 'user', content: [{ type: 'image', source }, question] }],
    max_tokens: 12,
  }))
    if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') streamed += event.delta.text;
  assert.is(streamed, wanted);
});

Images('a model sees the image in the result of a tool of Anthropic’s API', async () => {
  const anthropic = new Anthropic({ baseURL: at.url, apiKey: 'none', maxRetries: 0 });
  const counted = async (bytes: Buffer | undefined): Promise<number> => {
    const data = bytes?.toString('base64');
    const messages: Anthropic.MessageParam[] = [
      { role: 'user', content: 'Take a picture.' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'camera', input: {} }] },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'a',
            content: [
              { type: 'text', text: 'here' },
              ...(data === undefined
                ? []
                : [
                    {
                      type: 'image' as const,
                      source: { type: 'base64' as const, media_type: 'image/png' as const, data },
                    },
                  ]),
            ],
          },
          question,
        ],
      },
    ];
    const { input_tokens: tokens } = await anthropic.messages.countTokens({ model: 'seeing', messages });
    const message = await anthropic.messages.create({ model: 'seeing', messages, max_tokens: 2 });
    assert.is(message.usage.input_tokens + (message.usage.cache_read_input_tokens ?? 0), tokens);
    return tokens;
  };
  assert.ok((await counted(lions)) >= (await counted(undefined)) + IMAGE_TOKENS);
});

Images('a model without a vision projector says what it needs, and no address is opened', async () => {
  const before = connections;
  const message = /the model takes no images\. .*model_kwargs\.mmproj/;
  const parts = [question, imageUrl(`${origin}/lions.png`)];
  await refused(await send(parts, { model: 'tiny' }), 400, 'messages[0].content[1].type', message);
  const input = [{ role: 'user', content: [{ type: 'input_image', image_url: `${origin}/lions.png` }] }];
  await refused(await at.post('/v1/responses', { model: 'tiny', input }), 400, 'input[0].content[0].type', message);
  const messages = [
    { role: 'user', content: [{ type: 'image', source: { type: 'url', url: `${origin}/lions.png` } }] },
  ];
  const anthropic = await at.post('/v1/messages', { model: 'tiny', max_tokens: 2, messages });
  assert.is(anthropic.status, 400);
  assert.match(await anthropic.text(), message);
  assert.is(connections, before);
});

/** A PNG of so many pixels, all of them black, which has few bytes. */
function bomb(width: number, height: number): Buffer {
  const png = Buffer.from(lions);
  png.writeUInt32BE(width, 16);
  png.writeUInt32BE(height, 20);
  const data = deflateSync(Buffer.alloc(1_000_000));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  return Buffer.concat([png.subarray(0, 33), length, Buffer.from('IDAT'), data, Buffer.alloc(4)]);
}

Images('hostile images are refused with their place', async () => {
  const param = 'messages[0].content[0].image_url.url';
  const inline = async (file: Buffer, status: number, message: RegExp): Promise<void> =>
    refused(await send([imageUrl(dataUrl(file))]), status, param, message);
  await inline(lions.subarray(0, 60), 400, /cannot be/);
  await inline(lions.subarray(0, 16), 400, /cannot be/);
  await inline(bomb(50_000, 50_000), 413, /too large to decode/);
  await inline(bomb(10_000, 10_000), 413, /too large to decode/);
  await inline(bomb(8000, 20), 400, /longer side is at most 200 times/);
  await inline(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'), 400, /not an image/);
  await inline(Buffer.from('words'), 400, /not an image/);
  await inline(Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(500)]), 400, /cannot be/);
  for (const url of ['', 'lions', 'file:///etc/passwd', 'ftp://a/b.png', 'javascript:1'])
    await refused(await send([imageUrl(url)]), 400, param, /neither an http or https address nor a data URL/);
  for (const url of ['data:image/png;base64,', 'data:image/png;base64,not base64!', 'data:image/png;base64,A'])
    await refused(await send([imageUrl(url)]), 400, param, /not the base64 of a file/);
  for (const url of ['data:,lions', 'data:text/html;base64,AAAA', 'data:image/png,AAAA', `data:${'x'.repeat(5000)}`])
    await refused(await send([imageUrl(url)]), 400, param, /begins like data:image/);
  await refused(await send([imageUrl(`${origin}/absent.png`)]), 400, param, /404/);
  await refused(await send([imageUrl(`${origin}/page`)]), 400, param, /web page/);
  await refused(await send([imageUrl(`${origin}/large.png`)]), 413, param, /more than 200000 bytes/);
  await refused(await send([imageUrl('http://127.0.0.1:1/a.png')]), 400, param, /./);
  const five = Array.from({ length: MAX_IMAGES + 1 }, () => imageUrl(dataUrl(lions)));
  await refused(await send(five), 400, 'messages[0].content[4].image_url.url', /may have 4 images/);
  const many = await client.chat.completions.create(chat([...five.slice(1), question]));
  assert.ok(many.usage!.prompt_tokens >= MAX_IMAGES * IMAGE_TOKENS);
  const long = Buffer.concat([lions, Buffer.alloc(MAX_IMAGE_BYTES)]);
  await refused(await send([imageUrl(dataUrl(long))]), 413, null, /too large/);
  await refused(
    await send([{ type: 'text', text: 'x'.repeat(MAX_JSON_BYTES + 1) }]),
    413,
    null,
    /limit is 50000 bytes/,
  );
  await refused(await send([imageUrl(dataUrl(lions))], { overflow: 'shift' }), 400, null, /cannot be shortened/);
  const stored = [{ role: 'user', content: [{ type: 'input_image', file_id: 'file_1' }] }];
  const response = await at.post('/v1/responses', { model: 'seeing', input: stored });
  await refused(response, 404, 'input[0].content[0].file_id', /No such File/);
  assert.is((await send([question])).status, 200);
});

Images('images are read in messages of every role', async () => {
  const told = new Set<number>();
  for (const role of ['system', 'developer', 'user', 'assistant', 'tool']) {
    const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } };
    const asking = role === 'tool' ? [{ role: 'assistant', content: null, tool_calls: [call] }] : [];
    const given = (content: unknown): object => ({
      messages: [
        ...asking,
        { role, content, ...(role === 'tool' && { tool_call_id: 'call_1' }) },
        { role: 'user', content: [question] },
      ],
    });
    const promptOf = async (content: unknown): Promise<number> => {
      const response = await send('', given(content));
      const text = await response.text();
      assert.is(response.status, 200, `${role}: ${text}`);
      return (JSON.parse(text) as { usage: { prompt_tokens: number } }).usage.prompt_tokens;
    };
    told.add((await promptOf([question, imageUrl(dataUrl(lions))])) - (await promptOf([question])));
  }
  assert.ok(Math.min(...told) >= IMAGE_TOKENS, [...told].join(', '));
});

Images('private addresses are refused, and addresses at all where they are not fetched', async () => {
  const param = 'messages[0].content[0].image_url.url';
  const before = connections;
  const url = `${origin}/lions.png`;
  {
    await using closed = await start({}, { allow_private_urls: false });
    for (const address of [url, url.replace('127.0.0.1', 'localhost'), url.replace('127.0.0.1', '[::1]')]) {
      const response = await closed.post('/v1/chat/completions', chat([imageUrl(address)]));
      await refused(response, 403, param, /private/);
    }
  }
  {
    await using closed = await start({ fetch: false });
    const response = await closed.post('/v1/chat/completions', chat([imageUrl(url)]));
    await refused(response, 400, param, /not fetched here/);
    const inline = await closed.post('/v1/chat/completions', chat([imageUrl(dataUrl(lions))]));
    assert.is(inline.status, 200, await inline.text());
  }
  assert.is(connections, before);
});

Images('clients that leave end the work for their images', async () => {
  for (let round = 0; round < 3; round += 1) {
    const leaving = new AbortController();
    const large = dataUrl(await testPng(round, 150, 140));
    const left = client.chat.completions
      .create(chat([imageUrl(large), imageUrl(large), question], { max_tokens: 300 }), { signal: leaving.signal })
      .catch(() => {});
    setTimeout(() => leaving.abort(), 30 * round);
    await left;
  }
  assert.is((await send([imageUrl(dataUrl(lions)), question])).status, 200);
});

Images('texts beside images are the same as alone', async () => {
  const alone = (await client.chat.completions.create(chat('Once upon a time'))).choices[0]!.message.content;
  const [text] = await Promise.all([
    client.chat.completions.create(chat('Once upon a time')),
    ...[3, 4, 5].map(async (seed) =>
      client.chat.completions.create(chat([imageUrl(dataUrl(await testPng(seed))), question])),
    ),
  ]);
  assert.is(text!.choices[0]!.message.content, alone);
});

if (cannotRun !== undefined) skip('images in dialogs', cannotRun);
else Images.run();
