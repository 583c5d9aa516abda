// Prompts and answers that do not fit into the context, through a deployment in a replica process of its own.
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { writeTinyLlama } from '../../../native/lib/fixtures/tiny-llama.ts';
import { drained } from '../../base/core/async/async-values.ts';
import type { ChatOutputWithDetails, GeneratedText, GenerationDetails } from '../../base/schemas/index.ts';
import { errorOf } from '../../test/helpers/error-of.ts';
import { skip } from '../../test/skip.ts';
import { cannotRun } from './fixtures/cannot-run.ts';
import { deployed } from './fixtures/real-models.ts';
import { tinyTexts } from './fixtures/tiny-texts.ts';

const Overflow = suite('the overflow of a text generation deployment');
const tiny = tinyTexts(Overflow, {
  model_kwargs: { n_ctx: 64, n_seq_max: 2 },
  default_sampling_params: { ignore_eos: true },
});

const story = 'Once upon a time there was a little girl who had a red ball and a big dog. ';
const dialog = {
  messages: [
    { role: 'system', content: 'Lily said yes' },
    ...Array.from({ length: 4 }, () => [
      { role: 'user', content: story },
      { role: 'assistant', content: 'The end' },
    ]).flat(),
    { role: 'user', content: 'And then' },
  ],
};

Overflow('"shift" lets an answer go on, with a stream and with several answers', async () => {
  const args = { prompt: story, overflow: 'shift', sampling_params: { max_tokens: 200 } };
  const { details } = (await tiny.llm.call('generate', { ...args, details: true })) as GeneratedText;
  assert.equal([details?.finish_reason, details?.usage.completion_tokens], ['length', 200]);
  assert.ok((details?.dropped?.tokens ?? 0) > 140, JSON.stringify(details));
  const several = { ...args, sampling_params: { max_tokens: 100, n: 2, temperature: 1 } };
  const end = (await drained(tiny.llm.stream('generate_stream', several), () => {})) as GenerationDetails;
  for (const choice of end.choices ?? []) assert.ok((choice.dropped?.tokens ?? 0) > 40, JSON.stringify(choice));
});

Overflow('"truncate_middle" drops the oldest turns of a dialog', async () => {
  const args = { dialog, overflow: 'truncate_middle', sampling_params: { max_tokens: 8 }, details: true };
  const { details } = (await tiny.llm.call('chat', args)) as ChatOutputWithDetails;
  assert.ok((details?.usage.prompt_tokens ?? 99) <= 56, JSON.stringify(details));
  assert.ok((details?.dropped?.tokens ?? 0) > 20);
  assert.ok([4, 6, 8].includes(details?.dropped?.messages ?? 0), JSON.stringify(details));
  const batch = { prompts: [story.repeat(9)], overflow: 'truncate_middle', sampling_params: { max_tokens: 8 } };
  await tiny.llm.call('generate_batch', batch);
});

Overflow('"error" is the default, and others are refused', async () => {
  for (const overflow of [undefined, null, 'error']) {
    const { name, data } = await errorOf(
      tiny.llm.call('chat', { dialog, ...(overflow !== undefined && { overflow }) }),
    );
    assert.is(name, 'PromptTooLongException');
    assert.is((data as { max_len: number }).max_len, 64);
    assert.ok((data as { prompt_len: number }).prompt_len >= 64);
  }
  const { kind } = await errorOf(tiny.llm.call('generate', { prompt: 'Once', overflow: 'truncate_left' }));
  assert.is(kind, 'invalid-input');
});

Overflow('"shift" is refused for a model whose context cannot be moved', async () => {
  const path = join(tiny.folder, 'images.gguf');
  writeTinyLlama(path, { hasImagePositions: true });
  const images = deployed({
    type: 'LlamaTextGenerationDeployment',
    user_config: { model_id: path, model_kwargs: { n_ctx: 64, n_threads: 1 } },
  });
  await images.start();
  try {
    const { name, kind, message } = await errorOf(
      images.handle('model').call('generate', { prompt: 'Once', overflow: 'shift' }),
    );
    assert.equal([name, kind], ['OverflowNotSupported', 'bad-request']);
    assert.match(message, 'overflow cannot be "shift"; "truncate_middle" shortens the prompt');
  } finally {
    await images.shutdown({ graceMs: 0 });
  }
});

if (cannotRun === undefined) Overflow.run();
else skip('the overflow of a text generation deployment', cannotRun);
