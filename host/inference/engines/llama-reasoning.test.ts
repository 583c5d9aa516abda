// Reasoning and continued answers through deployments with a small real model, in replica processes of their own.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { drained } from '../../base/core/async/async-values.ts';
import type { DeploymentHandle, DeploymentManager } from '../deployments/index.ts';
import type { ChatOutputWithDetails, GenerationDetails, TextChunk } from '../../base/schemas/index.ts';
import { skip } from '../../test/skip.ts';
import { cannotRun } from './fixtures/cannot-run.ts';
import { deployed } from './fixtures/real-models.ts';
import { THINKING_TEMPLATE } from './fixtures/thinking-template.ts';

const Reasoning = suite('reasoning of a text generation deployment');

let manager: DeploymentManager;
let llm: DeploymentHandle;

Reasoning.before(async () => {
  manager = deployed({
    type: 'LlamaTextGenerationDeployment',
    user_config: {
      model_id: 'smollm2-135m-instruct',
      model_kwargs: { n_ctx: 512, n_threads: 1, chat_template: THINKING_TEMPLATE },
      default_sampling_params: { max_tokens: 12 },
    },
  });
  await manager.start();
  llm = manager.handle('model');
});

Reasoning.after(() => manager?.shutdown({ graceMs: 0 }));

const dialog = { messages: [{ role: 'user', content: 'Name three colours.' }] };

async function chat(args: Record<string, unknown> = {}): Promise<ChatOutputWithDetails> {
  return (await llm.call('chat', { dialog, details: true, ...args })) as ChatOutputWithDetails;
}

Reasoning('that the prompt begins is split off from the answer, and counted', async () => {
  const { message, details } = await chat();
  assert.is(message.content, '');
  assert.ok((message.reasoning_content ?? '').length > 5, JSON.stringify(message));
  assert.equal([details?.finish_reason, details?.usage.reasoning_tokens], ['length', 12]);
});

Reasoning('is a part of chunks of its own in a stream', async () => {
  const chunks: TextChunk[] = [];
  const details = (await drained(llm.stream('chat_stream', { dialog }), (batch) => {
    chunks.push(...(batch as TextChunk[]));
  })) as GenerationDetails;
  assert.ok(chunks.length > 3 && chunks.every(({ text }) => text === ''));
  const reasoning = chunks.map((chunk) => chunk.reasoning_content ?? '').join('');
  assert.is(reasoning, (await chat()).message.reasoning_content);
  assert.is(details.usage.reasoning_tokens, 12);
});

Reasoning('stays in the text on request', async () => {
  const { message, details } = await chat({ reasoning_format: 'none' });
  assert.ok(message.content.length > 5);
  assert.equal([message.reasoning_content, details?.usage.reasoning_tokens], [undefined, undefined]);
});

Reasoning('can be switched off', async () => {
  const { message, details } = await chat({ chat_template_kwargs: { enable_thinking: false } });
  assert.ok(message.content.length > 5);
  assert.equal([message.reasoning_content, details?.usage.reasoning_tokens], [undefined, undefined]);
});

Reasoning('is over where a prefix begins the answer', async () => {
  const { message } = await chat({ assistant_prefix: 'Three colours are' });
  assert.match(message.content, /^Three colours are.+Red/s, JSON.stringify(message));
  assert.is(message.reasoning_content, undefined);
});

Reasoning('comes before an answer in a given form, and is no part of the form', async () => {
  const format = { response_format: { type: 'json_object' } };
  const { message } = await chat(format);
  assert.is(message.content, '');
  assert.not.match(message.reasoning_content ?? '', /^\s*\{/);
  const plain = await chat({
    sampling_params: { structured_outputs: { json_object: true, close_json: true } },
    chat_template_kwargs: { enable_thinking: false },
  });
  assert.type(JSON.parse(plain.message.content), 'object', plain.message.content);
  assert.is(plain.message.reasoning_content, undefined);
});

Reasoning('of earlier answers goes back to the template', async () => {
  const count = async (reasoning: string | undefined): Promise<number> => {
    const messages = [...dialog.messages, { role: 'assistant', content: 'Red.', reasoning_content: reasoning }];
    return ((await llm.call('count_tokens', { dialog: { messages } })) as { tokens: number }).tokens;
  };
  assert.ok((await count('I like red. ')) > (await count(undefined)) + 6);
});

if (cannotRun === undefined) Reasoning.run();
else skip('reasoning of a text generation deployment', cannotRun);
