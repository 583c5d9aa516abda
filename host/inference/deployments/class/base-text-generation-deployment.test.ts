import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { DeploymentManager } from '../manager/deployment-manager.ts';
import { EchoTextGeneration } from '../fixtures/echo-text-generation.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import type { HandleOf } from '../handle/typed-handle.ts';

const Base = suite('a text model over BaseTextGenerationDeployment');

let manager: DeploymentManager;
let llm: HandleOf<typeof EchoTextGeneration>;

Base.before(async () => {
  manager = new DeploymentManager({
    log: silentLogger,
    models: { pull: async () => ({ path: '' }) },
    env: process.env,
  });
  manager.register('llm', EchoTextGeneration.options());
  await manager.start();
  llm = manager.handle('llm') as typeof llm;
});
Base.after(() => manager.shutdown({ graceMs: 0 }));

const dialog = { messages: [{ role: 'user' as const, content: 'say it' }] };
const PROMPT = '<|im_start|>user\nsay it<|im_end|>\n<|im_start|>assistant\n';

async function joined(stream: AsyncIterable<{ readonly text: string }>): Promise<string> {
  let all = '';
  for await (const { text } of stream) all += text;
  return all;
}

Base('generates', async () => {
  assert.equal(await llm.generate({ prompt: 'one two three', sampling_params: { max_tokens: 2 } }), {
    text: 'one two ',
  });
});

Base('gives one answer', async () => {
  const sampling = { n: 2, temperature: 1 };
  for (const answer of [
    () => llm.generate({ prompt: 'one', sampling_params: sampling }),
    () => llm.generate_batch({ prompts: ['one'], sampling_params: sampling }),
    () => llm.chat({ dialog, sampling_params: sampling }),
  ])
    assert.match((await errorOf(answer())).message, 'sampling_params.n: this text model gives one answer');
  assert.is((await llm.generate({ prompt: 'one', sampling_params: { n: 1 } })).text, 'one');
});

Base('streams', async () => {
  const pieces: string[] = [];
  for await (const { text } of llm.generate_stream({ prompt: 'one two' })) pieces.push(text);
  assert.equal(pieces, ['one ', 'two']);
});

Base('says why a text ended and its tokens, where the class returns them', async () => {
  const details = (finish_reason: string, prompt_tokens: number, completion_tokens: number): object => ({
    finish_reason,
    usage: { prompt_tokens, cached_tokens: 0, completion_tokens },
  });
  const two = { sampling_params: { max_tokens: 2 } };
  assert.equal(await llm.generate({ prompt: 'a b c', ...two, details: true }), {
    text: 'a b ',
    details: details('length', 3, 2),
  });
  assert.equal(await llm.generate_batch({ prompts: ['a b c', 'd'], ...two, details: true }), {
    texts: ['a b ', 'd'],
    details: [details('length', 3, 2), details('stop', 1, 1)],
  });
  assert.equal(await llm.chat({ dialog, details: true }), {
    message: { role: 'assistant', content: PROMPT },
    details: details('stop', 2, 2),
  });
  const stream = llm.generate_stream({ prompt: 'a' });
  await stream.next();
  assert.equal(await stream.next(), { done: true, value: details('stop', 1, 1) });
});

Base('applies the chat template to a dialog', async () => {
  assert.equal(await llm.chat({ dialog }), { message: { role: 'assistant', content: PROMPT } });
  assert.is(await joined(llm.chat_stream({ dialog })), PROMPT);
});

Base('begins an answer with the prefix, which is part of the prompt', async () => {
  const { message } = await llm.chat({ dialog, assistant_prefix: 'Well,' });
  assert.is(message.content, `Well,${PROMPT}Well,`);
});

Base('generates several texts at the same time and keeps their order', async () => {
  assert.equal(await llm.generate_batch({ prompts: ['b a', 'c', ''] }), { texts: ['b a', 'c', ''] });
});

Base('cancels the other texts when one fails', async () => {
  const error = await llm.generate_batch({ prompts: ['wait', 'fail'] }).catch((thrown: unknown) => thrown);
  assert.is((error as Error).name, 'InferenceException');
  while ((await llm.cancelled()) === 0);
});

Base('can have further methods', () => {
  assert.equal(Object.keys(llm.methods), [
    'chat',
    'chat_stream',
    'generate',
    'generate_stream',
    'generate_batch',
    'cancelled',
  ]);
});

Base('refuses images', async () => {
  const pixels = { id: 'folder/pixels', bytes: 3, sha256: 'a'.repeat(64) };
  const content = [{ type: 'image' as const, image: { width: 1, height: 1, pixels } }];
  const { name, kind } = await errorOf(llm.chat({ dialog: { messages: [{ role: 'user' as const, content }] } }));
  assert.equal([name, kind], ['ImagesNotSupported', 'bad-request']);
});

Base('takes contents in parts, and refuses tools', async () => {
  const parts = { messages: [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'say it' }] }] };
  assert.is((await llm.chat({ dialog: parts })).message.content, PROMPT);
  const tools = [{ function: { name: 'weather' } }];
  const { kind, message } = await errorOf(llm.chat({ dialog, tools }));
  assert.equal([kind, message], ['invalid-input', 'tools: this text model calls no tools']);
  assert.is((await llm.chat({ dialog, tools, tool_choice: 'none' })).message.content, PROMPT);
});

Base.run();
