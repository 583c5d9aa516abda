// Transformers.js in a replica: MiniLM with its real tokenizer, and models for the other tasks that are made here.
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { packageRoot } from '../../../base/core/package-root.ts';
import { ModelStore } from '../../../setup/models/index.ts';
import { startFileServer } from '../../../setup/models/sources/file-server.test.fixture.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { unlessOffline } from '../../../test/helpers/media/clips.ts';
import { skip } from '../../../test/skip.ts';
import { type DeploymentHandle, DeploymentManager } from '../../deployments/index.ts';
import { deployed } from '../fixtures/real-models.ts';
import {
  attribute,
  externalTensor,
  type Graph,
  int64s,
  makeOnnx,
  tensor,
  type Value,
} from '../onnx/fixtures/make-onnx.ts';
import type { TensorAnswer } from '../onnx/tensors.ts';
import { writeMiniLm } from '../fixtures/mini-lm.ts';

const Transformers = suite('a deployment for pipelines of Transformers.js');
const folder = await mkdtemp(join(tmpdir(), 'aana-transformers-'));
const cacheDir = process.env['AANA_CACHE_DIR'] ?? '';
const store = new ModelStore({ cacheDir, log: silentLogger });
const managers: DeploymentManager[] = [];
/** Numbers of the words of MiniLM's vocabulary. */
let words: ReadonlyMap<string, number>;

Transformers.after.each(async () => {
  for (const manager of managers.splice(0)) await manager.shutdown({ graceMs: 0 });
});
Transformers.after(() => rm(folder, { recursive: true, force: true }));

async function started(model: string, task: string, config: object = {}): Promise<DeploymentHandle> {
  const user_config = { model_id: join(folder, model), task, threads: 1, ...config };
  const manager = deployed({ type: 'TransformersDeployment', user_config });
  managers.push(manager);
  await manager.start();
  return manager.handle('model');
}

const value = (name: string, type: Value['type'], shape: Value['shape']): Value => ({ name, type, shape });
const IDS = value('input_ids', 'int64', ['batch', 'tokens']);

/** Returns a table with the given numbers for some words, and zeros for all others. */
function table(name: string, columns: number, scores: Readonly<Record<string, readonly number[]>>): Buffer {
  const numbers = new Float32Array(words.size * columns);
  for (const [word, row] of Object.entries(scores)) numbers.set(row, (words.get(word) ?? NaN) * columns);
  return tensor(name, 'float32', [words.size, columns], Buffer.from(numbers.buffer));
}

/** Writes a model of BERT's form with MiniLM's tokenizer. */
async function write(name: string, architecture: string, labels: readonly string[], graph: Graph): Promise<void> {
  const target = join(folder, name);
  await mkdir(join(target, 'onnx'), { recursive: true });
  for (const file of ['tokenizer.json', 'tokenizer_config.json'])
    await copyFile(join(folder, 'minilm', file), join(target, file));
  const id2label = Object.fromEntries(labels.entries());
  const label2id = Object.fromEntries(labels.map((label, index) => [label, index]));
  const config = { model_type: 'bert', architectures: [architecture], id2label, label2id };
  await writeFile(join(target, 'config.json'), JSON.stringify(config));
  await writeFile(join(target, 'onnx', 'model.onnx'), makeOnnx(graph));
}

/** Adds up the scores of the words of a text. */
const sums = (labels: number, scores: Readonly<Record<string, readonly number[]>>): Graph => ({
  nodes: [
    { operator: 'Gather', inputs: ['table', 'input_ids'], outputs: ['rows'] },
    {
      operator: 'ReduceSum',
      inputs: ['rows', 'axis'],
      outputs: ['logits'],
      attributes: [attribute.int('keepdims', 0)],
    },
  ],
  inputs: [IDS],
  outputs: [value('logits', 'float32', ['batch', labels])],
  tensors: [table('table', labels, scores), tensor('axis', 'int64', [1], int64s(1))],
});

const softmax = (logits: readonly number[]): number[] => {
  const powers = logits.map(Math.exp);
  const sum = powers.reduce((total, power) => total + power, 0);
  return powers.map((power) => power / sum);
};
const isClose = (actual: number | undefined, expected: number | undefined): void =>
  assert.ok(Math.abs((actual ?? NaN) - (expected ?? NaN)) < 1e-5, `${actual} is not ${expected}`);

interface Label {
  readonly label: string;
  readonly score: number;
}

Transformers('feature-extraction with MiniLM has the vectors of sentence-transformers', async () => {
  const minilm = await started('minilm', 'feature-extraction', { dtype: 'q8' });
  const reference = join(packageRoot, 'host/inference/engines/fixtures/minilm-vectors.json');
  const { texts, vectors } = JSON.parse(await readFile(reference, 'utf8')) as { texts: string[]; vectors: number[][] };
  const args = { pooling: 'mean', normalize: true };
  const answers = (await minilm.call('call', { inputs: texts, ...args })) as TensorAnswer[];
  assert.is(answers.length, texts.length);
  for (const [at, { type, shape, data = [] }] of answers.entries()) {
    assert.equal([type, shape], ['float32', [384]]);
    const cosine = data.reduce<number>((sum, number, axis) => sum + Number(number) * (vectors[at]?.[axis] ?? NaN), 0);
    process.stdout.write(`cosine ${cosine.toFixed(4)} `);
    assert.ok(cosine > 0.998, `${texts[at]}: ${cosine}`);
  }
  // A text has the same vector alone, and each token has one without pooling.
  assert.equal(await minilm.call('call', { inputs: texts[0], ...args }), answers[0]);
  const tokens = (await minilm.call('call', { inputs: 'A spring.' })) as TensorAnswer;
  assert.equal(tokens.shape, [5, 384]);
  // Empty texts have the tokens of the beginning and the end; long ones are cut where the tokenizer says.
  assert.equal(((await minilm.call('call', { inputs: '' })) as TensorAnswer).shape, [2, 384]);
  const long = 'word '.repeat(2000);
  assert.equal(((await minilm.call('call', { inputs: long })) as TensorAnswer).shape, [512, 384]);
  const many = Array.from({ length: 2000 }, () => long);
  assert.is((await errorOf(minilm.call('call', { inputs: many }))).name, 'MessageTooLarge');
});

Transformers('text-classification has the labels of the sums of a model that is made here', async () => {
  const scores = { good: [-1, 2, 0], bad: [2, -1, 0], so: [0, 0, 1] };
  await write('sentiment', 'BertForSequenceClassification', ['NEGATIVE', 'POSITIVE', 'NEUTRAL'], sums(3, scores));
  const model = await started('sentiment', 'text-classification');
  const [good, bad] = (await model.call('call', { inputs: ['good good', 'A bad day'], top_k: 3 })) as Label[][];
  const expected = softmax([-2, 4, 0]);
  assert.equal(
    good?.map(({ label }) => label),
    ['POSITIVE', 'NEUTRAL', 'NEGATIVE'],
  );
  for (const [at, index] of [1, 2, 0].entries()) isClose(good?.[at]?.score, expected[index]);
  assert.equal(bad?.[0]?.label, 'NEGATIVE');
  const [best, ...others] = (await model.call('call', { inputs: 'so' })) as Label[];
  assert.equal([best?.label, others.length], ['NEUTRAL', 0]);
});

Transformers('token-classification names the words of a model that is made here', async () => {
  const graph: Graph = {
    nodes: [{ operator: 'Gather', inputs: ['table', 'input_ids'], outputs: ['logits'] }],
    inputs: [IDS],
    outputs: [value('logits', 'float32', ['batch', 'tokens', 3])],
    tensors: [table('table', 3, { zurich: [-5, 5, 0], anna: [-5, 0, 5] })],
  };
  await write('names', 'BertForTokenClassification', ['O', 'LOC', 'PER'], graph);
  const model = await started('names', 'token-classification');
  const found = (await model.call('call', { inputs: 'Anna lives in Zurich.' })) as { entity: string; word: string }[];
  assert.equal(
    found.map(({ entity, word }) => [entity, word]),
    [
      ['PER', 'anna'],
      ['LOC', 'zurich'],
    ],
  );
  assert.equal(await model.call('call', { inputs: ['', 'nobody'] }), [[], []]);
  const kept = (await model.call('call', { inputs: 'Anna', ignore_labels: ['PER'] })) as object[];
  assert.equal(kept, []);
});

Transformers('zero-shot-classification sorts the labels by a model that is made here', async () => {
  const labels = ['contradiction', 'neutral', 'entailment'];
  const scores = { sport: [0, 0, 3], music: [0, 0, 1], politics: [0, 0, -2] };
  await write('entailment', 'BertForSequenceClassification', labels, sums(3, scores));
  const model = await started('entailment', 'zero-shot-classification');
  const args = { inputs: 'The match ended.', candidate_labels: ['music', 'politics', 'sport'] };
  const answer = (await model.call('call', args)) as { sequence: string; labels: string[]; scores: number[] };
  assert.equal([answer.sequence, answer.labels], [args.inputs, ['sport', 'music', 'politics']]);
  for (const [at, score] of softmax([3, 1, -2]).entries()) isClose(answer.scores[at], score);
  const several = (await model.call('call', { ...args, multi_label: true })) as { scores: number[] };
  isClose(several.scores[0], softmax([0, 3])[1]);
});

Transformers('question-answering finds the words that a model that is made here points to', async () => {
  const graph: Graph = {
    nodes: ['start', 'end'].flatMap((name) => [
      { operator: 'Gather', inputs: [name, 'input_ids'], outputs: [`${name}_rows`] },
      {
        operator: 'ReduceSum',
        inputs: [`${name}_rows`, 'axis'],
        outputs: [`${name}_logits`],
        attributes: [attribute.int('keepdims', 0)],
      },
    ]),
    inputs: [IDS],
    outputs: ['start_logits', 'end_logits'].map((name) => value(name, 'float32', ['batch', 'tokens'])),
    tensors: [
      table('start', 1, { blue: [9] }),
      table('end', 1, { whale: [9] }),
      tensor('axis', 'int64', [1], int64s(2)),
    ],
  };
  await write('answers', 'BertForQuestionAnswering', [], graph);
  const model = await started('answers', 'question-answering');
  const args = { inputs: 'What is the largest animal?', context: 'It is the blue whale of the oceans.' };
  const { answer, score } = (await model.call('call', args)) as { answer: string; score: number };
  assert.is(answer, 'blue whale');
  assert.ok(score > 0.9 && score <= 1);
});

Transformers('a repository of the hub is pulled once, with the file of weights that its model names', async () => {
  const graph: Graph = {
    nodes: [
      { operator: 'Gather', inputs: ['scores', 'input_ids'], outputs: ['rows'] },
      { operator: 'ReduceSum', inputs: ['rows', 'axis'], outputs: ['sum'], attributes: [attribute.int('keepdims', 0)] },
      { operator: 'Add', inputs: ['sum', 'bias'], outputs: ['logits'] },
    ],
    inputs: [IDS],
    outputs: [value('logits', 'float32', ['batch', 2])],
    tensors: [
      table('scores', 2, { good: [0, 1] }),
      tensor('axis', 'int64', [1], int64s(1)),
      externalTensor('bias', [2], 'model_int8.onnx_data'),
    ],
  };
  await write('hub', 'BertForSequenceClassification', ['no', 'yes'], graph);
  await using hub = await startFileServer();
  const at = '/owner/repo/resolve/main';
  for (const name of ['config.json', 'tokenizer.json', 'tokenizer_config.json'])
    hub.files.set(`${at}/${name}`, await readFile(join(folder, 'hub', name)));
  hub.files.set(`${at}/onnx/model_int8.onnx`, await readFile(join(folder, 'hub/onnx/model.onnx')));
  const config = {
    type: 'TransformersDeployment',
    user_config: { model_id: 'owner/repo', task: 'text-classification' },
  };
  const int8 = { ...config, user_config: { ...config.user_config, dtype: 'int8', threads: 1 } };
  const start = async (options: typeof config): Promise<DeploymentHandle> => {
    const cache = new ModelStore({ cacheDir: join(folder, 'cache'), log: silentLogger, hfEndpoint: hub.url });
    // Programs come out of the cache of all tests.
    const models = { pull: (id: string, pull: object) => (id.includes('/') ? cache : store).pull(id, pull) };
    const manager = new DeploymentManager({ log: silentLogger, models, env: process.env });
    managers.push(manager);
    manager.register('model', options);
    await manager.start();
    return manager.handle('model');
  };
  assert.match((await errorOf(start(config))).message, /owner\/repo\/onnx\/model\.onnx/);
  assert.match((await errorOf(start(int8))).message, /model_int8\.onnx_data/);
  hub.files.set(`${at}/onnx/model_int8.onnx_data`, Buffer.from(Float32Array.of(0, 2).buffer));
  const label = async (model: DeploymentHandle): Promise<unknown> => model.call('call', { inputs: 'good', top_k: 2 });
  const [best] = (await label(await start(int8))) as Label[];
  assert.is(best?.label, 'yes');
  isClose(best?.score, softmax([0, 3])[1]);
  hub.files.clear();
  assert.equal(((await label(await start(int8))) as Label[])[0], best);
});

Transformers('arguments of other tasks, missing ones and wrong ones are refused by name', async () => {
  await write('refusing', 'BertForSequenceClassification', ['no', 'yes'], sums(2, {}));
  const noEntailment = await errorOf(started('refusing', 'zero-shot-classification'));
  assert.match(noEntailment.message, /inference with refusing failed: it answers numbers that are not finite/);
  const labels = await started('refusing', 'text-classification');
  for (const [args, place] of [
    [{ inputs: 'a', pooling: 'mean' }, /pooling: is not an argument of text-classification/],
    [{ inputs: 'a', context: 'b' }, /context: is not an argument/],
    [{ inputs: 'a', top_k: 0 }, /top_k/],
    [{ inputs: [] }, /inputs/],
    [{ inputs: 5 }, /inputs/],
    [{ inputs: 'a', temperature: 1 }, /temperature/],
    [{}, /inputs/],
  ] as const) {
    const error = await errorOf(labels.call('call', args));
    assert.equal([error.name, error.kind], ['ValidationError', 'invalid-input'], JSON.stringify(args));
    assert.match(error.message, place);
  }
  const noMethod = await errorOf(labels.call('embed', { text: 'a' }));
  assert.is(noMethod.message, 'deployment model has no method embed; its methods are: call');
  const answers = await started('answers', 'question-answering');
  assert.match((await errorOf(answers.call('call', { inputs: 'Who?' }))).message, /context: is missing/);
});

Transformers('numbers that are not finite, and folders that are no model, are told', async () => {
  await write('nan', 'BertForSequenceClassification', ['no', 'yes'], sums(2, { bad: [NaN, NaN] }));
  const model = await started('nan', 'text-classification');
  assert.ok(await model.call('call', { inputs: 'good' }));
  const error = await errorOf(model.call('call', { inputs: 'bad' }));
  assert.equal([error.name, error.kind], ['InferenceException', 'internal']);

  for (const [name, file, content, expected] of [
    ['no-config', 'config.json', undefined, /there is no file .*no-config\/config\.json/],
    ['no-weights', 'onnx/model.onnx', undefined, /there is no file .*no-weights\/onnx\/model\.onnx/],
    ['other-config', 'config.json', '[', /other-config cannot be used for text-classification/],
    ['other-tokenizer', 'tokenizer.json', '{}', /other-tokenizer cannot be used for text-classification/],
    ['other-weights', 'onnx/model.onnx', 'no model', /model\.onnx: it is/],
    ['no-tokenizer', 'tokenizer_config.json', undefined, /there is no file .*tokenizer_config\.json/],
    ['other-type', 'config.json', '{"model_type":"none"}', /other-type cannot be used for text-classification/],
  ] as const) {
    await write(name, 'BertForSequenceClassification', ['no', 'yes'], sums(2, {}));
    const place = join(folder, name, file);
    await (content === undefined ? rm(place) : writeFile(place, content));
    assert.match((await errorOf(started(name, 'text-classification'))).message, expected);
  }
});

const offline = await unlessOffline(async () => {
  for (const id of ['all-minilm-l6-v2-onnx', 'onnxruntime', 'transformers']) await store.pull(id);
  words = await writeMiniLm(join(folder, 'minilm'));
  return undefined;
});
if (typeof offline === 'string') skip('a deployment for pipelines of Transformers.js', offline);
else Transformers.run();
