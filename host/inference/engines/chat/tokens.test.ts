// Tokens of texts, and prompts of tokens, with a real model.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { GeneratedText } from '../../../base/schemas/index.ts';
import { testModel } from '../../../test/helpers/models.ts';
import { skip } from '../../../test/skip.ts';
import type { DeploymentManager, DescribedHandle } from '../../deployments/index.ts';
import { cannotRun } from '../fixtures/cannot-run.ts';
import { deployed } from '../fixtures/real-models.ts';

const Tokens = suite('tokens of a language model');
let manager: DeploymentManager;
let llm: DescribedHandle;

interface Tokenized {
  readonly tokens: number[];
  readonly texts: string[];
  readonly max_tokens: number;
}

Tokens.before(async () => {
  manager = deployed({
    type: 'LlamaTextGenerationDeployment',
    user_config: {
      model_id: await testModel('smollm2-135m-instruct'),
      model_kwargs: { n_ctx: 512, n_threads: 1, n_seq_max: 2 },
    },
  });
  await manager.start();
  llm = manager.handle('model');
});
Tokens.after(async () => manager?.shutdown({ graceMs: 0 }));

const TEXTS = ['The capital of France is', 'Grüße 👋🏽\n\n', 'a\0b', '<|im_start|>user', ' '.repeat(20), ''];

for (const text of TEXTS)
  Tokens(`${JSON.stringify(text)} has tokens whose text it is`, async () => {
    const { tokens, texts, max_tokens: most } = (await llm.call('tokenize', { text })) as Tokenized;
    assert.is(texts.length, tokens.length);
    assert.is(most, 512);
    assert.equal(await llm.call('detokenize', { tokens }), { text });
    const counted = (await llm.call('count_tokens', { text })) as { tokens: number };
    assert.is(counted.tokens, tokens.length);
  });

Tokens('a dialog has the tokens of the template', async () => {
  const { tokens, texts } = (await llm.call('tokenize', {
    dialog: { messages: [{ role: 'user', content: 'Hello' }] },
  })) as Tokenized;
  assert.is(texts.filter((text) => text === '<|im_start|>').length, 3);
  const { text } = (await llm.call('detokenize', { tokens })) as { text: string };
  assert.ok(text.endsWith('<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n'), text);
});

Tokens('a prompt of tokens is continued like its text', async () => {
  const prompt = 'The capital of France is';
  const { tokens } = (await llm.call('tokenize', { text: prompt })) as Tokenized;
  const sampling = { max_tokens: 5 };
  const ofText = (await llm.call('generate', { prompt, sampling_params: sampling, details: true })) as GeneratedText;
  const ofTokens = (await llm.call('generate', {
    prompt: tokens,
    sampling_params: sampling,
    details: true,
  })) as GeneratedText;
  assert.match(ofText.text, 'Paris');
  assert.is(ofTokens.text, ofText.text);
  assert.is(ofTokens.details!.usage.prompt_tokens, tokens.length);
});

Tokens('numbers that are no tokens are refused, and the engine goes on', async () => {
  for (const [method, args] of [
    ['detokenize', { tokens: [1, 2_000_000_000] }],
    ['generate', { prompt: [2_000_000_000] }],
  ] as const) {
    const error = await llm.call(method, args).then(
      () => undefined,
      (thrown: unknown) => thrown as Error,
    );
    assert.match(error?.message ?? '', 'has no token 2000000000; the last one is 49151');
  }
  assert.ok(((await llm.call('tokenize', { text: 'still here' })) as Tokenized).tokens.length > 0);
});

if (cannotRun !== undefined) skip('tokens of a language model', cannotRun);
else Tokens.run();
