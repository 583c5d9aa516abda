// The deployment over a real llama-server, beside the deployment that computes the same model itself.
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { drained } from '../../../base/core/async/async-values.ts';
import type { DeploymentHandle, DeploymentManager, DeploymentOptionsInput } from '../../deployments/index.ts';
import type { GenerationDetails, TextChunk } from '../../../base/schemas/index.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { type LlamaServer, noLlamaServer, startLlamaServer } from '../../../test/helpers/llama-server.ts';
import { testModel } from '../../../test/helpers/models.ts';
import { skip } from '../../../test/skip.ts';
import { cannotRun } from '../fixtures/cannot-run.ts';
import { deployed } from '../fixtures/real-models.ts';

const Remote = suite('text generation by llama-server');

const MODEL = 'smollm2-135m-instruct';
const CONTEXT = 512;
const SLOTS = 2;
const dialog = { messages: [{ role: 'user', content: 'Name three colours.' }] };
const defaults = { default_sampling_params: { max_tokens: 24 } };

let server: LlamaServer;
let managers: DeploymentManager[];
let remote: DeploymentHandle;
let local: DeploymentHandle;

Remote.before(async () => {
  server = await startLlamaServer(await testModel(MODEL), ['-c', String(CONTEXT * SLOTS), '-np', String(SLOTS)]);
  const options: DeploymentOptionsInput[] = [
    { type: 'OpenAITextGenerationDeployment', user_config: { base_url: server.baseUrl, ...defaults } },
    {
      type: 'LlamaTextGenerationDeployment',
      user_config: { model_id: MODEL, model_kwargs: { n_ctx: CONTEXT, n_threads: 1 }, ...defaults },
    },
  ];
  managers = options.map((each) => deployed(each));
  await Promise.all(managers.map((manager) => manager.start()));
  [remote, local] = managers.map((manager) => manager.handle('model')) as unknown as [
    DeploymentHandle,
    DeploymentHandle,
  ];
});

Remote.after(async () => {
  await Promise.all((managers ?? []).map((manager) => manager.shutdown({ graceMs: 0 })));
  await server?.[Symbol.asyncDispose]();
});

/**
 * Where the two best log-probabilities are closer than this, the servers may choose different tokens: the deployment's
 * own products of matrices and llama-server's round differently, and each rounds differently in other batches. Between
 * processors with and without AMX, llama-server's own gaps differ by 0.4.
 */
const MARGIN = 1;

/** Returns whether both answers have the same tokens, up to the first that is open by `MARGIN`. Throws otherwise. */
function sameTokens(far: GenerationDetails, near: GenerationDetails): boolean {
  const [left = [], right = []] = [far.logprobs, near.logprobs];
  assert.ok(left.length > 0);
  for (const [at, token] of left.entries()) {
    const other = right[at];
    assert.ok(other, `${left.length} and ${right.length} tokens`);
    if (token.id === other.id) {
      assert.ok(Math.abs(token.logprob - other.logprob) < MARGIN, `${token.logprob} and ${other.logprob} at ${at}`);
      continue;
    }
    for (const { top_logprobs: best } of [token, other]) {
      assert.is(best.length, 2);
      const gap = (best[0]?.logprob ?? 0) - (best[1]?.logprob ?? 0);
      assert.ok(gap < MARGIN, `${token.token} and ${other.token} at ${at}, ${gap} before the next`);
    }
    return false;
  }
  assert.is(left.length, right.length);
  return true;
}

const contentOf = (value: unknown): string => (value as { message: { content: string } }).message.content;
const detailsOf = (value: unknown): GenerationDetails => (value as { details: GenerationDetails }).details;

for (const [method, args] of [
  ['chat', { dialog }],
  ['chat', { dialog, assistant_prefix: 'Three colours are' }],
  ['chat', { dialog, sampling_params: { max_tokens: 5 } }],
  ['generate', { prompt: 'The capital of France is' }],
  ['generate', { prompt: 'One, two, three,', sampling_params: { stop: ['seven'] } }],
] as const) {
  Remote(`answers ${method} ${JSON.stringify(args)} like the deployment that computes it`, async () => {
    const scored = {
      ...args,
      sampling_params: { ...('sampling_params' in args && args.sampling_params), logprobs: 2 },
    };
    const [far, near] = await Promise.all([remote, local].map((llm) => llm.call(method, { ...scored, details: true })));
    const [farDetails, nearDetails] = [detailsOf(far), detailsOf(near)];
    assert.is(farDetails.usage.prompt_tokens, nearDetails.usage.prompt_tokens);
    assert.ok((farDetails.timings?.completion_ms ?? 0) > 0);
    if (!sameTokens(farDetails, nearDetails)) return;
    assert.equal({ ...(far as object), details: 0 }, { ...(near as object), details: 0 });
    assert.is(farDetails.finish_reason, nearDetails.finish_reason);
    // llama-server counts the token that ends an answer.
    const extra = farDetails.usage.completion_tokens - nearDetails.usage.completion_tokens;
    assert.ok(extra === 0 || (extra === 1 && farDetails.finish_reason === 'stop'), String(extra));
  });
}

Remote('stops at a stop string and leaves it out', async () => {
  const { text, details } = (await remote.call('generate', {
    prompt: 'One, two, three,',
    sampling_params: { structured_outputs: { grammar: 'root ::= " four, five, six"' }, stop: [' five'] },
    details: true,
  })) as { text: string; details: GenerationDetails };
  assert.is(text, ' four,');
  assert.is(details.finish_reason, 'stop');
});

Remote('repeats no token under a high penalty for repetition', async () => {
  const distinct = async (penalty: number): Promise<number> => {
    const sampling = { repetition_penalty: penalty, max_tokens: 40, ignore_eos: true, logprobs: 0 };
    const answer = await remote.call('generate', {
      prompt: 'One, two, three,',
      sampling_params: sampling,
      details: true,
    });
    return new Set(detailsOf(answer).logprobs?.map(({ id }) => id)).size;
  };
  assert.ok((await distinct(1)) < 40);
  assert.is(await distinct(5), 40);
});

Remote('streams pieces, answers a batch and counts tokens like it', async () => {
  const chunks: TextChunk[] = [];
  const scored = { dialog, sampling_params: { logprobs: 2, max_tokens: 24 } };
  const end = await drained(remote.stream('chat_stream', scored), (batch) => {
    chunks.push(...(batch as TextChunk[]));
  });
  assert.ok(chunks.length > 5);
  const near = await local.call('chat', { ...scored, details: true });
  const far = { ...(end as GenerationDetails), logprobs: chunks.flatMap(({ logprobs = [] }) => logprobs) };
  if (sameTokens(far, detailsOf(near))) assert.is(chunks.map(({ text }) => text).join(''), contentOf(near));
  assert.is(far.usage.completion_tokens, 24);
  // Only one text fits, so no rounding can change it.
  const args = {
    prompts: ['One, two,', 'The sun'],
    sampling_params: { structured_outputs: { grammar: 'root ::= " three, four"' } },
  };
  assert.equal(await remote.call('generate_batch', args), { texts: [' three, four', ' three, four'] });
  assert.equal(await local.call('generate_batch', args), { texts: [' three, four', ' three, four'] });
  for (const what of [{ dialog }, { text: 'One, two, three' }])
    assert.equal(await remote.call('count_tokens', what), await local.call('count_tokens', what));
});

Remote('tells the same tokens and texts of tokens', async () => {
  const texts = ['One, two, three', 'Zürich 漢字 🙂', '', ' x\n\n  y'];
  for (const what of [{ dialog }, ...texts.map((text) => ({ text })), { text: 'a b', add_special_tokens: false }]) {
    const far = await remote.call('tokenize', what);
    assert.equal(far, await local.call('tokenize', what));
    const { tokens } = far as { tokens: number[] };
    if ('text' in what) assert.equal(await remote.call('detokenize', { tokens }), { text: what.text });
  }
  const { name } = await errorOf(remote.call('detokenize', { tokens: [2_000_000_000] }));
  assert.ok(['RemoteRequestRefused', 'RemoteServerUnavailable', 'InferenceException'].includes(name), name);
  assert.is(((await remote.call('tokenize', { text: 'One' })) as { tokens: number[] }).tokens.length, 1);
});

Remote('continues a prompt of tokens as the text that they are', async () => {
  const prompt = 'One, two, three,';
  const { tokens } = (await local.call('tokenize', { text: prompt })) as { tokens: number[] };
  const sampling = { sampling_params: { max_tokens: 4, logprobs: 2 }, details: true };
  const [far, near] = await Promise.all([
    remote.call('generate', { prompt: tokens, ...sampling }),
    local.call('generate', { prompt: tokens, ...sampling }),
  ]);
  sameTokens(detailsOf(far), detailsOf(near));
  assert.is(detailsOf(far).usage.prompt_tokens, tokens.length);
});

Remote('takes every parameter that it does not refuse', async () => {
  const sampling = {
    ...{ temperature: 1, top_p: 0.9, top_k: 50, min_p: 0.01, typical_p: 0.99, seed: 7, max_tokens: 4, stop: ['x'] },
    ...{ repetition_penalty: 1.1, presence_penalty: 0.1, frequency_penalty: 0.1, logit_bias: { '5': -1 } },
    ...{ dry_multiplier: 0.5, dry_base: 1.8, dry_allowed_length: 3, dry_penalty_last_n: -1 },
    ...{ dry_sequence_breakers: ['.'], xtc_probability: 0.1, xtc_threshold: 0.2, ignore_eos: true },
    ...{ mirostat: 2, mirostat_tau: 5, mirostat_eta: 0.1, logprobs: 1 },
  };
  assert.ok(contentOf(await remote.call('chat', { dialog, sampling_params: sampling })).length > 0);
});

Remote('gives answers a form', async () => {
  const schema = {
    type: 'object',
    properties: { ok: { type: 'boolean' } },
    required: ['ok'],
    additionalProperties: false,
  };
  const answered = async (form: object): Promise<string> => {
    const sampling = { structured_outputs: form, max_tokens: 40 };
    return contentOf(await remote.call('chat', { dialog, sampling_params: sampling }));
  };
  assert.type((JSON.parse(await answered({ json: schema })) as { ok: unknown }).ok, 'boolean');
  assert.ok(['red', 'say "green"'].includes(await answered({ choice: ['red', 'say "green"'] })));
  assert.is(await answered({ grammar: 'root ::= "blue"' }), 'blue');
});

Remote('throws the same error for a prompt that is too long', async () => {
  const args = { prompt: 'word '.repeat(CONTEXT + 10) };
  for (const llm of [remote, local]) {
    const { name, data } = await errorOf(llm.call('generate', args));
    assert.is(name, 'PromptTooLongException');
    assert.is((data as { max_len: number }).max_len, CONTEXT);
  }
});

Remote(
  'shortens a prompt in its middle, and a dialog by its oldest turns, like the deployment that computes it',
  async () => {
    const shortened = { overflow: 'truncate_middle', details: true, sampling_params: { max_tokens: 4 } };
    const turn = (at: number): object[] => [
      { role: 'user', content: `Question ${at}: ${'why is the sky blue? '.repeat(8)}` },
      { role: 'assistant', content: `Answer ${at}: ${'because of the light. '.repeat(8)}` },
    ];
    const system = { role: 'system', content: 'You are brief.' };
    const last = { role: 'user', content: 'Name three colours.' };
    const turns = [0, 1, 2, 3, 4, 5].flatMap((at) => turn(at));
    for (const [method, args] of [
      ['generate', { prompt: 'word '.repeat(CONTEXT + 10) }],
      ['chat', { dialog: { messages: [system, ...turns, last] } }],
      ['chat', { dialog: { messages: [system, ...turns, { ...last, content: 'Name colours. '.repeat(400) }] } }],
    ] as const) {
      const [far, near] = await Promise.all([remote, local].map((llm) => llm.call(method, { ...args, ...shortened })));
      const [farDetails, nearDetails] = [detailsOf(far), detailsOf(near)];
      assert.ok((farDetails.dropped?.tokens ?? 0) > 0, JSON.stringify(farDetails));
      assert.is(farDetails.dropped?.messages, nearDetails.dropped?.messages);
      // Texts are cut at places that differ by a few tokens.
      const { usage } = nearDetails;
      assert.ok(Math.abs(farDetails.usage.prompt_tokens - usage.prompt_tokens) <= 8, JSON.stringify([far, near]));
      assert.ok(farDetails.usage.prompt_tokens <= CONTEXT - 4);
    }
    const { details } = (await remote.call('chat', { dialog, ...shortened })) as { details: GenerationDetails };
    assert.is(details.dropped, undefined);
  },
);

Remote('the server stops computing when a call is cancelled', async () => {
  const controller = new AbortController();
  const long = { dialog, sampling_params: { max_tokens: 400, ignore_eos: true } };
  const reading = (async () => {
    for await (const _ of remote.stream('chat_stream', long, { signal: controller.signal })) controller.abort();
  })();
  await reading.catch(() => {});
  for (let tries = 0; ; tries += 1) {
    const slots = (await server.get('/slots')) as { is_processing: boolean }[];
    if (slots.every((slot) => !slot.is_processing)) break;
    assert.ok(tries < 40, 'the server still computes');
    await sleep(50);
  }
});

const reason = cannotRun ?? noLlamaServer();
if (reason === undefined) Remote.run();
else skip('text generation by llama-server', reason);
