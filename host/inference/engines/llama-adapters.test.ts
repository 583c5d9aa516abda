// LoRA adapters of a deployment, by name, over a tiny real model.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { writeAdapter } from '../../../native/lib/fixtures/tiny-adapter.ts';
import { writeTinyLlama } from '../../../native/lib/fixtures/tiny-llama.ts';
import type { DeploymentHandle, DeploymentManager, DeploymentOptionsInput } from '../deployments/index.ts';
import { errorOf } from '../../test/helpers/error-of.ts';
import { skip } from '../../test/skip.ts';
import { cannotRun } from './fixtures/cannot-run.ts';
import { deployed } from './fixtures/real-models.ts';

const Adapters = suite('LoRA adapters of a deployment');

const folder = mkdtempSync(join(tmpdir(), 'aana-adapters-'));
const model = join(folder, 'tiny.gguf');
const formal = join(folder, 'formal.gguf');
const other = join(folder, 'other.gguf');
let manager: DeploymentManager;
let llm: DeploymentHandle;

const options = (adapters: object): DeploymentOptionsInput => ({
  type: 'LlamaTextGenerationDeployment',
  user_config: {
    model_id: model,
    model_kwargs: { n_ctx: 128, n_threads: 1 },
    default_sampling_params: { max_tokens: 16 },
    adapters,
  },
});

Adapters.before(async () => {
  writeTinyLlama(model);
  writeAdapter(formal, model, { seed: 1, spread: 0.4 });
  writeAdapter(other, model, { seed: 2, spread: 0.4, architecture: 'qwen2' });
  manager = deployed(
    options({
      formal: { model_id: formal },
      less: { model_id: formal, scale: 0.5 },
      none: { model_id: formal, scale: 0 },
    }),
  );
  await manager.start();
  llm = manager.handle('model');
});

Adapters.after(async () => {
  await manager?.shutdown({ graceMs: 0 });
  rmSync(folder, { recursive: true });
});

const prompt = 'Once upon a time';

async function textOf(adapter?: string): Promise<string> {
  const dialog = { messages: [{ role: 'user', content: prompt }] };
  const answer = await llm.call('chat', { dialog, ...(adapter && { adapter }) });
  return (answer as { message: { content: string } }).message.content;
}

Adapters('change the text of requests that name them, and of no other request', async () => {
  const base = await textOf();
  const [one, two, three, four] = await Promise.all([textOf('formal'), textOf(), textOf('less'), textOf('none')]);
  assert.is(two, base);
  assert.is(four, base);
  assert.is(new Set([base, one, three]).size, 3);
  assert.is(await textOf('formal'), one);
});

Adapters('work for all methods', async () => {
  const args = { adapter: 'formal', sampling_params: { max_tokens: 8 } };
  const { text } = (await llm.call('generate', { prompt, ...args })) as { text: string };
  assert.is.not(text, ((await llm.call('generate', { prompt, ...args, adapter: null })) as { text: string }).text);
  const batch = (await llm.call('generate_batch', { prompts: [prompt, prompt], ...args })) as { texts: string[] };
  assert.equal(batch.texts, [text, text]);
  let streamed = '';
  for await (const chunks of llm.stream('generate_stream', { prompt, ...args }))
    for (const chunk of chunks as { text: string }[]) streamed += chunk.text;
  assert.is(streamed, text);
});

Adapters('a name that there is not is refused with the names that there are', async () => {
  const { name, message } = await errorOf(llm.call('generate', { prompt, adapter: 'casual' }));
  assert.is(name, 'UnknownAdapter');
  assert.match(message, /has no adapter casual; its adapters are: formal, less, none$/);
});

Adapters('a deployment whose adapter does not fit the model does not start, and says why', async () => {
  const broken = deployed(options({ other: { model_id: other } }));
  const { message } = await errorOf(broken.start());
  assert.match(message, /other\.gguf is for a model of the architecture qwen2, not llama/);
  await broken.shutdown({ graceMs: 0 });
});

if (cannotRun === undefined) Adapters.run();
else {
  skip('LoRA adapters of a deployment', cannotRun);
  rmSync(folder, { recursive: true });
}
