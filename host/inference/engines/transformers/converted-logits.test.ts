// Converted models compute the logits of llama.cpp, which a program in C++ writes.
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { buildProgram, cannotBuild } from '../../../../native/lib/fixtures/test-program.ts';
import { nativeAddonPath } from '../../../../native/lib/index.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { packageRoot } from '../../../base/core/package-root.ts';
import type { GenerationDetails } from '../../../base/schemas/index.ts';
import { ggufToOnnx, ONNX_WEIGHTS } from '../../../setup/models/convert/text-onnx/gguf-to-onnx.ts';
import { writeTinyDecoder } from '../../../setup/models/convert/text-onnx/tiny-decoder.test.fixture.ts';
import { ModelStore } from '../../../setup/models/index.ts';
import { unlessOffline } from '../../../test/helpers/media/clips.ts';
import { skip } from '../../../test/skip.ts';
import { cannotRun } from '../fixtures/cannot-run.ts';
import { deployed } from '../fixtures/real-models.ts';
import { loadGraph } from '../onnx/onnx.ts';
import type { OnnxTensor } from '../onnx/runtime.ts';

const TITLE = 'the logits of converted models';
const Logits = suite(TITLE);
const folder = await mkdtemp(join(tmpdir(), 'aana-logits-'));
Logits.after(() => rm(folder, { recursive: true, force: true }));
const store = new ModelStore({ cacheDir: process.env['AANA_CACHE_DIR'] ?? '', log: silentLogger });
const SMOLLM = 'smollm2-135m-instruct';
const UNLIMITED = new AbortController().signal;

const PROMPTS = [
  ...['The capital of France is', 'Once upon a time there was a', 'def fibonacci(n):\n    if n <', 'I think that'],
  ...[
    'red, green, blue, red, green, blue, red, green,',
    '{"name": "Ada", "age":',
    'The quick brown fox',
    '1 2 3 4 5 6',
  ],
  ...['Water boils at', 'In 1969, humans', 'Le chat est', 'SELECT * FROM users WHERE', 'Dear Sir or Madam,'],
  ...['The derivative of x^2 is', 'To be or not to be, that', 'über die Brücke', 'She opened the door and'],
  ...['A recipe for bread: flour, water,', 'import numpy as np\n\ndef softmax(x):\n    return'],
  '<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n',
];

/** Returns the logits of llama.cpp after each prompt. */
async function expectedLogits(model: string, prompts: readonly (readonly number[])[]): Promise<Float32Array[]> {
  const file = join(folder, 'prompts');
  await writeFile(file, prompts.map((tokens) => `${tokens.join(' ')}\n`).join(''));
  const program = buildProgram(packageRoot, 'aana-record-logits');
  const bytes = execFileSync(program, [dirname(nativeAddonPath(packageRoot)), model, file], { maxBuffer: 2 ** 30 });
  const all = new Float32Array(Uint8Array.from(bytes).buffer);
  const columns = all.length / prompts.length;
  return prompts.map((_, row) => all.subarray(row * columns, (row + 1) * columns));
}

/** Returns the logits of a converted model after each prompt. With `atOnce` tokens, prompts are computed in parts. */
async function actualLogits(
  model: string,
  prompts: readonly (readonly number[])[],
  atOnce = Infinity,
): Promise<Float32Array[]> {
  const spec = { runtime: (await store.pull('onnxruntime')).path, threads: 1 };
  const graph = await loadGraph({ ...spec, file: join(model, 'onnx/converted.onnx') }, { name: model }, 2 ** 33);
  const empty = graph.loaded.inputs.flatMap(({ name, shape = [] }) =>
    name.startsWith('past_key_values')
      ? [
          [
            name,
            tensor(
              'float32',
              shape.map((length) => (typeof length === 'string' ? 0 : length)),
              [],
            ),
          ] as const,
        ]
      : [],
  );
  const outputs = graph.loaded.outputs.map(({ name }) => name);
  const all: Float32Array[] = [];
  for (const tokens of prompts) {
    let past: Readonly<Record<string, OnnxTensor>> = Object.fromEntries(empty);
    for (let at = 0; at < tokens.length; at += atOnce) {
      const part = tokens.slice(at, at + atOnce);
      const feeds = {
        ...past,
        input_ids: tensor('int64', [1, part.length], part),
        attention_mask: tensor('int64', [1, at + part.length], Array<number>(at + part.length).fill(1)),
      };
      const { outputs: computed } = await graph.run({ feeds, outputs }, UNLIMITED);
      if (at + atOnce >= tokens.length) all.push(computed['logits']?.data as Float32Array);
      past = Object.fromEntries(
        Object.entries(computed).map(([name, value]) => [name.replace('present', 'past_key_values'), value]),
      );
    }
  }
  await graph.close();
  return all;
}

function tensor(type: 'float32' | 'int64', dims: readonly number[], values: readonly number[]): OnnxTensor {
  return { type, dims, data: type === 'int64' ? BigInt64Array.from(values, BigInt) : Float32Array.from(values) };
}

/** Returns the cosine of logits around their mean, because what is added to all of them changes no probability. */
function cosine(a: Float32Array, b: Float32Array): number {
  assert.is(a.length, b.length);
  const mean = (values: Float32Array): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanA, meanB] = [mean(a), mean(b)];
  let [ab, aa, bb] = [0, 0, 0];
  for (const [at, value] of a.entries()) {
    const [x, y] = [value - meanA, (b[at] ?? NaN) - meanB];
    [ab, aa, bb] = [ab + x * y, aa + x * x, bb + y * y];
  }
  return ab / Math.sqrt(aa * bb);
}

const leastCosine = (a: readonly Float32Array[], b: readonly Float32Array[]): number =>
  Math.min(...a.map((logits, at) => cosine(logits, b[at] ?? new Float32Array())));

for (const architecture of ['llama', 'qwen2'])
  for (const [type, least] of [
    ['f16', 0.99999],
    ['q8_0', 0.995],
  ] as const)
    Logits(`are those of llama.cpp for a generated ${architecture} with ${type} weights`, async () => {
      const source = join(folder, `${architecture}-${type}.gguf`);
      writeTinyDecoder(source, { architecture, type });
      const target = join(folder, `${architecture}-${type}`);
      await ggufToOnnx(source, target, join(target, ONNX_WEIGHTS));
      const prompts = [1, 2, 3, 17, 40, 60].map((length) =>
        Array.from({ length }, (_, at) => (at * at * 31 + length * 7) % 260),
      );
      const expected = await expectedLogits(source, prompts);
      for (const atOnce of [Infinity, 8, 1]) {
        const worst = leastCosine(await actualLogits(target, prompts, atOnce), expected);
        assert.ok(worst >= least, `${worst} with ${atOnce} tokens at a time`);
      }
    });

Logits('are those of llama.cpp for SmolLM2 with the same weights, after 20 prompts', async () => {
  const { path: source } = await store.pull(SMOLLM, { weightType: 'f16' });
  const { path: weights } = await store.pull(source, { form: 'onnx_fp16' });
  const target = dirname(dirname(weights));
  const prompts = await tokensOf(target, PROMPTS);
  const worst = leastCosine(await actualLogits(target, prompts), await expectedLogits(source, prompts));
  process.stdout.write(`least cosine ${worst.toFixed(6)} `);
  assert.ok(prompts.length === 20 && worst >= 0.999, `${worst}`);
});

Logits('differ as much as those of llama.cpp itself where products have 8 bits', async () => {
  const { path: source } = await store.pull(SMOLLM);
  const { path: exact } = await store.pull(SMOLLM, { weightType: 'f16' });
  const { path: weights } = await store.pull(SMOLLM, { form: 'onnx_q8' });
  const target = dirname(dirname(weights));
  const prompts = await tokensOf(target, PROMPTS);
  const right = await expectedLogits(exact, prompts);
  const ofLlama = leastCosine(await expectedLogits(source, prompts), right);
  const ours = leastCosine(await actualLogits(target, prompts), right);
  process.stdout.write(`least cosine ${ours.toFixed(6)}, of llama.cpp ${ofLlama.toFixed(6)} `);
  assert.ok(1 - ours < 2 * (1 - ofLlama), `${ours}, ${ofLlama}`);
});

/** Logarithms of probabilities that are nearer may change places. */
const MARGIN = 0.02;

Logits('give the greedy texts of llama.cpp, up to a token that is nearly as likely', async () => {
  const default_sampling_params = { max_tokens: 16 };
  const llama = deployed({
    type: 'LlamaTextGenerationDeployment',
    user_config: {
      model_id: SMOLLM,
      model_kwargs: { n_threads: 1, n_ctx: 128, quantization_config: { weight_type: 'f16' } },
      default_sampling_params,
    },
  });
  const { path: model_id } = await store.pull(SMOLLM, { weightType: 'f16' });
  const ours = deployed({
    type: 'TransformersDeployment',
    user_config: { model_id, task: 'text-generation', dtype: 'fp16', threads: 1, default_sampling_params },
  });
  try {
    await Promise.all([llama.start(), ours.start()]);
    for (const prompt of PROMPTS.slice(0, 3)) {
      const args = { prompt, details: true };
      const expected = (await llama
        .handle('model')
        .call('generate', { ...args, sampling_params: { logprobs: 2 } })) as {
        text: string;
        details: GenerationDetails;
      };
      const { text } = (await ours.handle('model').call('generate', args)) as { text: string };
      const scores = expected.details.logprobs ?? [];
      const near = scores.findIndex(({ top_logprobs: [a, b] }) => (a?.logprob ?? 0) - (b?.logprob ?? -1) < MARGIN);
      const sure = scores.slice(0, near < 0 ? undefined : near).map(({ token }) => token);
      assert.ok(sure.length > 0 && text.startsWith(sure.join('')), JSON.stringify([text, expected.text]));
    }
  } finally {
    await Promise.all([llama, ours].map((one) => one.shutdown({ graceMs: 0 })));
  }
});

/** Returns the tokens of texts, by the tokenizer of the converted model. */
async function tokensOf(model: string, texts: readonly string[]): Promise<number[][]> {
  const { createRequire } = await import('node:module');
  const library = createRequire(import.meta.url)((await store.pull('transformers')).path) as {
    PreTrainedTokenizer: new (
      tokenizer: unknown,
      config: unknown,
    ) => { encode(text: string, options: object): number[] };
  };
  const read = async (name: string): Promise<unknown> => JSON.parse(await readFile(join(model, name), 'utf8'));
  const tokenizer = new library.PreTrainedTokenizer(await read('tokenizer.json'), await read('tokenizer_config.json'));
  return texts.map((text) => tokenizer.encode(text, { add_special_tokens: false }));
}

const cannot =
  cannotRun ??
  cannotBuild(packageRoot) ??
  (await unlessOffline(async () => {
    for (const id of [SMOLLM, 'onnxruntime', 'transformers']) await store.pull(id);
    return undefined;
  }));
if (typeof cannot === 'string') skip(TITLE, cannot);
else Logits.run();
