// Tests /image/chat with a real server, the real component, and a tiny model that sees.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cannotRun } from '../../inference/engines/fixtures/cannot-run.ts';
import { dataUrl, imageUrl, testPng, writeSeeing } from '../../apis/openai/fixtures/images.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import { concatenatedJson } from '../../base/core/json/concatenated-json.ts';
import { post, type RunningServer, serve } from '../helpers/server.ts';
import { skip } from '../skip.ts';

const PROMPT = 'Once upon a time';
const SAMPLING = { temperature: 0, max_tokens: 12 };

const Chat = suite('chats about images');
const folder = await mkdtemp(join(tmpdir(), 'aana-image-chat-'));
let server: RunningServer;
let pictures: readonly [Buffer, Buffer];

Chat.before(async () => {
  pictures = [await testPng(1), await testPng(2)];
  const { model, mmproj } = writeSeeing(folder);
  server = await serve({
    plugins: [join(packageRoot, 'plugins/image-chat')],
    config: {
      deployments: {
        vision_deployment: {
          type: 'LlamaTextGenerationDeployment',
          user_config: { model_id: model, model_kwargs: { n_ctx: 512, n_threads: 1, mmproj } },
        },
      },
    },
  });
});
Chat.after(async () => {
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

const ask = (path: string, files: readonly Buffer[], more: object = {}): Promise<Response> =>
  post(
    server.url + path,
    { images: files.map((_, n) => ({ content: `image${n}` })), prompt: PROMPT, sampling_params: SAMPLING, ...more },
    Object.fromEntries(files.map((data, n) => [`image${n}`, { data }])),
  );

/** What the model answers to the same images and text through another interface. */
async function expected(files: readonly Buffer[]): Promise<string> {
  const content = [...files.map((file) => imageUrl(dataUrl(file))), { type: 'text', text: PROMPT }];
  const response = await fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'vision_deployment', messages: [{ role: 'user', content }], ...SAMPLING }),
  });
  const { choices } = (await response.json()) as { choices: [{ message: { content: string } }] };
  return choices[0].message.content;
}

for (const count of [1, 2])
  Chat(`see ${count} of them, whole and in pieces`, async () => {
    const files = pictures.slice(0, count);
    const response = await ask('/image/chat', files);
    const text = await response.text();
    assert.is(response.status, 200, text);
    assert.equal(JSON.parse(text), { completion: await expected(files) });
    const pieces: string[] = [];
    for await (const piece of concatenatedJson((await ask('/image/chat_stream', files)).body!))
      pieces.push((piece as { completion: string }).completion);
    assert.ok(pieces.length > 1, pieces.join('|'));
    assert.is(pieces.join(''), await expected(files));
  });

Chat('have one answer, also where several are asked for', async () => {
  const sampling = { sampling_params: { ...SAMPLING, n: 3 } };
  const [lions] = pictures;
  const pieces: string[] = [];
  for await (const piece of concatenatedJson((await ask('/image/chat_stream', [lions], sampling)).body!))
    pieces.push((piece as { completion: string }).completion);
  assert.is(pieces.join(''), await expected([lions]));
});

Chat('depend on the images and their order', async () => {
  const [lions, boats] = pictures;
  const answers = await Promise.all(
    [[lions], [boats], [lions, boats], [boats, lions]].map(async (files) => (await ask('/image/chat', files)).text()),
  );
  assert.is(new Set(answers).size, answers.length, answers.join());
});

Chat('refuse what is none', async () => {
  const words = await ask('/image/chat', [Buffer.from('words')]);
  assert.equal([words.status, ((await words.json()) as { error: string }).error], [400, 'ImageReadingException']);
  for (const input of [{ images: [] }, { prompt: '' }, { prompt: undefined }, { images: [{}] }, { images: undefined }])
    assert.is((await ask('/image/chat', [pictures[0]], input)).status, 422, JSON.stringify(input));
  const absent = await ask('/image/chat', [], { images: [{ content: 'gone' }] });
  assert.ok(absent.status >= 400 && absent.status < 500);
});

if (cannotRun !== undefined) skip('chats about images', cannotRun);
else Chat.run();
