// Images that could vanish, be taken for others or reach other users.
import { dirname } from 'node:path';
import type OpenAI from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { IMAGE_TOKENS } from '../../../../native/lib/fixtures/tiny-projector.ts';
import { cannotRun } from '../../../inference/engines/fixtures/cannot-run.ts';
import { ffmpegPath } from '../../../test/helpers/media/media.ts';
import { skip } from '../../../test/skip.ts';
import { chatOf, refused } from '../fixtures/chats.ts';
import { dataUrl, imageUrl, testPng, writeSeeing } from '../fixtures/images.ts';
import { llamaOptions, type OpenAiApp, startOpenAiApp } from '../fixtures/openai-app.ts';

/** A template that writes messages of the user only. */
const USERS_ONLY = "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% endif %}{% endfor %}";

const Attacks = suite('images that could vanish or reach others');
let at: OpenAiApp;
let lions: Buffer;
let keys: { readonly ann: string; readonly bob: string };

Attacks.before(async () => {
  lions = await testPng(1);
  at = await startOpenAiApp({
    config: { api_service: { enabled: true }, media: { ffmpeg_path: ffmpegPath() } },
    prepare: (app, tiny) => {
      const { model, mmproj } = writeSeeing(dirname(tiny));
      const kwargs = { n_ctx: 512, n_threads: 1, n_seq_max: 4, mmproj };
      app.registerDeployment('seeing', llamaOptions(model, { model_kwargs: kwargs }));
      const losing = { ...kwargs, chat_template: USERS_ONLY };
      app.registerDeployment('users_only', llamaOptions(model, { model_kwargs: losing }));
    },
  });
  const keyOf = async (user: string): Promise<string> => (await at.app.apiKeys!.create({ user_id: user })).apiKey;
  keys = { ann: await keyOf('ann'), bob: await keyOf('bob') };
});
Attacks.after(async () => at?.[Symbol.asyncDispose]());

const question = { type: 'text' as const, text: 'Once upon a time' };
const send = (body: object, user: 'ann' | 'bob' = 'ann', path = '/v1/chat/completions'): Promise<Response> =>
  at.post(path, body, { 'x-api-key': keys[user] });

async function answerOf(response: Response): Promise<OpenAI.ChatCompletion & { readonly usage: Usage }> {
  const text = await response.text();
  assert.is(response.status, 200, text);
  return JSON.parse(text) as OpenAI.ChatCompletion & { readonly usage: Usage };
}
type Usage = OpenAI.CompletionUsage & { readonly prompt_tokens_details: { readonly image_tokens?: number } };

Attacks('an image is seen, or the template that leaves it out is an error: in no role it vanishes', async () => {
  const lost: string[] = [];
  for (const role of ['system', 'developer', 'user', 'assistant', 'tool']) {
    const call = { id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } };
    const messages = [
      ...(role === 'tool' ? [{ role: 'assistant', content: null, tool_calls: [call] }] : []),
      { role, content: [imageUrl(dataUrl(lions))], ...(role === 'tool' && { tool_call_id: 'c' }) },
      { role: 'user', content: [question] },
    ];
    const body = { model: 'users_only', messages, max_tokens: 2 };
    const response = await send(body);
    if (response.status === 200) {
      const { usage } = await answerOf(response);
      assert.is(usage.prompt_tokens_details.image_tokens, IMAGE_TOKENS, role);
      continue;
    }
    lost.push(role);
    await refused(response, 400, null, /chat template leaves out an image/);
    await refused(await send({ ...body, stream: true }), 400, null, /chat template leaves out an image/);
  }
  // The engine moves what a template has no system role for into the message of the user.
  assert.ok(lost.includes('assistant') && !lost.includes('user'), lost.join());
});

Attacks('an image in the beginning of an answer is refused with its place', async () => {
  const messages = [
    { role: 'user', content: 'Look.' },
    { role: 'assistant', content: [question, imageUrl(dataUrl(lions))] },
  ];
  const continued = { model: 'seeing', messages, continue_final_message: true, add_generation_prompt: false };
  await refused(await send(continued), 400, 'messages[1].content', /only with text/);
});

Attacks('an image is what its bytes are, whatever its data URL says', async () => {
  const of = (url: string) => send(chatOf('seeing', [imageUrl(url), question]));
  const honest = await answerOf(await of(dataUrl(lions)));
  for (const type of ['image/jpeg', 'image/svg+xml', 'image/gif;name=a.png', 'IMAGE/X-UNKNOWN']) {
    const lied = await answerOf(await of(dataUrl(lions, type)));
    assert.is(lied.choices[0]!.message.content, honest.choices[0]!.message.content, type);
  }
  const param = 'messages[0].content[0].image_url.url';
  for (const type of ['text/html', 'video/mp4', 'application/octet-stream'])
    await refused(await of(dataUrl(lions, type)), 400, param, /begins like data:image/);
  await refused(await of(dataUrl(Buffer.from('<svg/>'), 'image/png')), 400, param, /not an image/);
});

Attacks('a hundred images are refused before one of them is opened, and the server goes on', async () => {
  const images = Array.from({ length: 100 }, () => imageUrl('http://127.0.0.1:1/a.png'));
  await refused(
    await send(chatOf('seeing', images)),
    400,
    'messages[0].content[16].image_url.url',
    /may have 16 images/,
  );
  assert.is((await send(chatOf('seeing', [imageUrl(dataUrl(lions)), question]))).status, 200);
});

Attacks('several answers count their images once', async () => {
  const content = [imageUrl(dataUrl(lions)), imageUrl(dataUrl(await testPng(2))), question];
  const one = await answerOf(await send(chatOf('seeing', content)));
  const three = await answerOf(await send(chatOf('seeing', content, { n: 3, temperature: 1 })));
  assert.is(three.choices.length, 3);
  assert.equal(
    [three.usage.prompt_tokens, three.usage.prompt_tokens_details.image_tokens],
    [one.usage.prompt_tokens, 2 * IMAGE_TOKENS],
  );
});

Attacks('what was computed for an image of one user is not reused for another one', async () => {
  const body = chatOf('seeing', [imageUrl(dataUrl(await testPng(9))), question]);
  const cached = async (user: 'ann' | 'bob'): Promise<number> =>
    (await answerOf(await send(body, user))).usage.prompt_tokens_details.cached_tokens!;
  assert.is(await cached('ann'), 0);
  assert.ok((await cached('ann')) >= IMAGE_TOKENS);
  assert.is(await cached('bob'), 0);
  assert.ok((await cached('bob')) >= IMAGE_TOKENS);
});

Attacks('an image in the output of a call is refused with its place', async () => {
  const call = { type: 'function_call', call_id: 'c', name: 'look', arguments: '{}' };
  const output = [{ type: 'input_image', image_url: dataUrl(Buffer.from('words')) }];
  const input = [{ role: 'user', content: 'Look.' }, call, { type: 'function_call_output', call_id: 'c', output }];
  const response = await send({ model: 'seeing', input }, 'ann', '/v1/responses');
  await refused(response, 400, 'input[2].output[0].image_url', /not an image/);
});

if (cannotRun !== undefined) skip('images that could vanish or reach others', cannotRun);
else Attacks.run();
