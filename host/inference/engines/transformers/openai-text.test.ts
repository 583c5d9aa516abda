// Text generation with Transformers.js behind OpenAI's API, over a tiny converted decoder.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TransformersDeployment } from 'aana-host';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type OpenAiApp, startOpenAiApp } from '../../../apis/openai/fixtures/openai-app.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { writeTinyDecoder } from '../../../setup/models/convert/text-onnx/tiny-decoder.test.fixture.ts';
import { ModelStore } from '../../../setup/models/index.ts';
import { unlessOffline } from '../../../test/helpers/media/clips.ts';
import { skip } from '../../../test/skip.ts';
import { cannotRun } from '../fixtures/cannot-run.ts';

const TITLE = 'OpenAI’s API over text generation with Transformers.js';
const Text = suite(TITLE);
const folder = await mkdtemp(join(tmpdir(), 'aana-openai-text-'));
const model = 'onnx';
const messages = [{ role: 'user' as const, content: 'Hi' }];
const file = join(folder, 'decoder.gguf');
const store = new ModelStore({ cacheDir: process.env['AANA_CACHE_DIR'] ?? '', log: silentLogger });
let at: OpenAiApp;

Text.before(async () => {
  writeTinyDecoder(file, { type: 'q8_0' });
  const template = '{% for message in messages %}<|start|>{{ message.content }}{% endfor %}';
  at = await startOpenAiApp({
    prepare: (app) =>
      app.registerDeployment(
        model,
        TransformersDeployment.options({
          user_config: {
            ...{ model_id: file, task: 'text-generation' as const, threads: 1 },
            model_kwargs: { chat_template: template },
            default_sampling_params: { ignore_eos: true },
          },
        }),
      ),
  });
});
Text.after(async () => {
  await at?.[Symbol.asyncDispose]();
  await store.remove(`${file}@onnx_q8`);
  await rm(folder, { recursive: true });
});

Text('answers chats and completions, whole and in pieces', async () => {
  const request = { model, messages, max_tokens: 12 };
  const { choices, usage } = await at.client.chat.completions.create(request);
  assert.equal([choices[0]?.finish_reason, usage?.prompt_tokens, usage?.completion_tokens], ['length', 3, 12]);
  let text = '';
  for await (const chunk of await at.client.chat.completions.create({ ...request, stream: true }))
    text += chunk.choices[0]?.delta.content ?? '';
  assert.is(text, choices[0]?.message.content);
  const whole = await at.client.completions.create({ model, prompt: ['a', 'b'], max_tokens: 4, n: 2 });
  assert.is(whole.choices.length, 4);
});

Text('answers of one request are generated one after the other, with their own seeds', async () => {
  const request = { model, messages, max_tokens: 6, n: 3, temperature: 1, seed: 5, stream: true } as const;
  const texts = ['', '', ''];
  const order: number[] = [];
  for await (const { choices } of await at.client.chat.completions.create(request))
    for (const { index, delta } of choices) {
      if (!delta.content) continue;
      texts[index] += delta.content;
      if (order.at(-1) !== index) order.push(index);
    }
  assert.equal(order, [0, 1, 2]);
  for (const [index, text] of texts.entries()) {
    const alone = await at.client.chat.completions.create({
      ...{ model, messages, max_tokens: 6, temperature: 1, seed: 5 + index },
    });
    assert.is(alone.choices[0]?.message.content, text);
  }
});

Text('names what the runtime lacks as the request does', async () => {
  const tool = { type: 'function', function: { name: 'f', parameters: {} } };
  for (const [path, more, param] of [
    ['chat/completions', { messages, logprobs: true }, 'logprobs'],
    ['chat/completions', { messages, logprobs: true, top_logprobs: 2 }, 'top_logprobs'],
    ['chat/completions', { messages, response_format: { type: 'json_object' } }, 'response_format'],
    ['chat/completions', { messages, tools: [tool] }, 'tools'],
    ['chat/completions', { messages, logit_bias: { 100_000: 1 } }, 'logit_bias'],
    ['chat/completions', { messages, stop_token_ids: [100_000] }, 'stop_token_ids'],
    ['chat/completions', { messages, min_tokens: 9, max_tokens: 8 }, 'min_tokens'],
    ['completions', { prompt: 'a', logprobs: 1 }, 'logprobs'],
    ['completions', { prompt: 'a', best_of: 3 }, 'best_of'],
    ['completions', { prompt: [100_000] }, 'prompt'],
    ['completions', { prompt: 'a'.repeat(1000) }, 'prompt'],
    ['responses', { input: 'a', include: ['message.output_text.logprobs'] }, 'include'],
    ['responses', { input: 'a', text: { format: { type: 'json_object' } } }, 'text.format'],
  ] as const) {
    const response = await at.post(`/v1/${path}`, { model, ...more });
    const { error } = (await response.json()) as { error: { param: string | null; message: string } };
    assert.equal([response.status, error.param], [400, param], error.message);
  }
});

const cannot =
  cannotRun ??
  (await unlessOffline(async () => {
    for (const id of ['onnxruntime', 'transformers']) await store.pull(id);
    return undefined;
  }));
if (typeof cannot === 'string') skip(TITLE, cannot);
else Text.run();
