// The real ONNX Runtime with real weights and with graphs that are made here. A deployment runs it in a replica.
import { mkdtemp, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { ModelStore } from '../../../setup/models/index.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { unlessOffline } from '../../../test/helpers/media/clips.ts';
import { skip } from '../../../test/skip.ts';
import type { DeploymentHandle, DeploymentManager, DeploymentOptionsInput } from '../../deployments/index.ts';
import { cannotRun } from '../fixtures/cannot-run.ts';
import { deployed } from '../fixtures/real-models.ts';
import {
  attribute,
  externalTensor,
  type Graph,
  int64s,
  makeOnnx,
  tensor,
  type TYPES,
  type Value,
} from './fixtures/make-onnx.ts';
import { loadGraph } from './onnx.ts';
import type { OnnxTensor } from './runtime.ts';
import type { TensorAnswer } from './tensors.ts';

const Onnx = suite('a deployment for ONNX models');
const folder = await mkdtemp(join(tmpdir(), 'aana-onnx-'));
const store = new ModelStore({ cacheDir: process.env['AANA_CACHE_DIR'] ?? '', log: silentLogger });
const managers: DeploymentManager[] = [];

Onnx.after.each(async () => {
  for (const manager of managers.splice(0)) await manager.shutdown({ graceMs: 0 });
});
Onnx.after(() => rm(folder, { recursive: true, force: true }));

const value = (name: string, type: keyof typeof TYPES = 'float32', shape: Value['shape'] = ['n']): Value => ({
  name,
  type,
  shape,
});

async function write(name: string, graph: Graph | Buffer): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, Buffer.isBuffer(graph) ? graph : makeOnnx(graph));
  return file;
}

async function started(
  file: string,
  config: object = {},
  options: Partial<DeploymentOptionsInput> = {},
): Promise<DeploymentHandle> {
  const manager = deployed({
    ...options,
    type: 'OnnxDeployment',
    user_config: { model_id: file, threads: 1, ...config },
  });
  managers.push(manager);
  await manager.start();
  return manager.handle('model');
}

type Answer = { readonly outputs: Readonly<Record<string, TensorAnswer>> };
const run = async (model: DeploymentHandle, args: object, signal?: AbortSignal): Promise<Answer['outputs']> =>
  ((await model.call('run', args as Record<string, unknown>, { signal })) as Answer).outputs;

/** Passes a tensor of each type through. */
const TYPED = [
  ['float32', [0, 1.5, -3.25, 'NaN', 'Infinity', '-Infinity'], 4],
  ['float64', [0, 0.1, -1e300, 'NaN', 'Infinity', '-Infinity'], 8],
  ['int8', [-128, -1, 0, 1, 2, 127], 1],
  ['uint8', [0, 1, 2, 3, 4, 255], 1],
  ['int16', [-32_768, 0, 1, 2, 3, 32_767], 2],
  ['uint16', [0, 1, 2, 3, 4, 65_535], 2],
  ['int32', [-(2 ** 31), 0, 1, 2, 3, 2 ** 31 - 1], 4],
  ['uint32', [0, 1, 2, 3, 4, 2 ** 32 - 1], 4],
  ['int64', ['-9223372036854775808', -1, 0, 1, 2 ** 53 - 1, '9223372036854775807'], 8],
  ['uint64', [0, 1, 2, 3, '9007199254740993', '18446744073709551615'], 8],
  ['bool', [true, false, false, true, true, false], 1],
  ['string', ['', 'a', 'ü', '日本', '"\\', '\n'], 0],
] as const;

const passOn = (types: readonly (keyof typeof TYPES)[], shape: Value['shape']): Graph => ({
  nodes: types.map((type) => ({ operator: 'Identity', inputs: [`${type}_in`], outputs: [type] })),
  inputs: types.map((type) => value(`${type}_in`, type, shape)),
  outputs: types.map((type) => value(type, type, shape)),
});

Onnx('takes and answers tensors of each type in each form', async () => {
  const types = [...TYPED.map(([type]) => type), 'float16' as const];
  const model = await started(await write('types.onnx', passOn(types, ['rows', 3])));
  const half = { shape: [1, 3], base64: Buffer.from(Uint16Array.of(0x3c00, 0, 0xfc00).buffer).toString('base64') };
  const inputs = (form: (values: readonly unknown[]) => unknown): object => ({
    ...Object.fromEntries(TYPED.map(([type, values]) => [`${type}_in`, form(values)])),
    float16_in: half,
  });
  const nested = await run(model, { inputs: inputs((values) => [values.slice(0, 3), values.slice(3)]) });
  const flat = await run(model, { inputs: inputs((data) => ({ shape: [2, 3], data })) });
  assert.equal(nested, flat);
  for (const [type, data] of TYPED) assert.equal(nested[type], { type, shape: [2, 3], data: [...data] });
  assert.equal(nested['float16'], { type: 'float16', ...half });

  const packed = await run(model, { inputs: inputs((data) => ({ shape: [2, 3], data })), encoding: 'base64' });
  for (const [type, data, bytes] of TYPED)
    if (type === 'string') assert.equal(packed[type]?.data, data);
    else assert.is(Buffer.from(packed[type]?.base64 ?? '', 'base64').length, 6 * bytes, type);
  const again = Object.fromEntries(
    Object.entries(packed).map(([type, { shape, data, base64 }]) => [`${type}_in`, { shape, data, base64 }]),
  );
  assert.equal(await run(model, { inputs: again }), nested);

  const [one] = Object.entries(await run(model, { inputs: again, outputs: ['int8'] }));
  assert.is(one?.[0], 'int8');
  const declared = (await model.call('describe', {})) as { inputs: Value[] };
  assert.equal(declared.inputs[0], { name: 'float32_in', type: 'float32', shape: ['rows', 3] });
});

Onnx('refuses inputs that the graph does not declare like this, and names the place', async () => {
  const types = ['float32', 'int8', 'int64', 'bool', 'string', 'float16'] as const;
  const model = await started(await write('places.onnx', passOn(types, ['n', 2])));
  const right = {
    float32_in: [[1, 2]],
    int8_in: [[1, 2]],
    int64_in: [[1, 2]],
    bool_in: [[true, false]],
    string_in: [['a', 'b']],
    float16_in: { shape: [1, 2], base64: 'AAAAAA==' },
  };
  for (const [wrong, place] of [
    [{ float32_in: undefined }, /inputs\.float32_in: is missing/],
    [{ other: [1] }, /inputs: the model has no "other"; it has float32_in, /],
    [{ float32_in: 1 }, /inputs\.float32_in: has the shape \[\], but the model declares float32_in as \[n, 2\]/],
    [{ float32_in: [[1, 2, 3]] }, /inputs\.float32_in: has the shape \[1, 3\]/],
    [{ float32_in: [[[1], [2]]] }, /inputs\.float32_in: has the shape \[1, 2, 1\]/],
    [{ float32_in: [[1, 2], [3]] }, /inputs\.float32_in\.1: must be a list of 2 items/],
    [{ float32_in: [[1, 2], 3] }, /inputs\.float32_in\.1: must be a list of 2 items/],
    [{ float32_in: [[1, [2]]] }, /inputs\.float32_in\.0\.1: is a list/],
    [{ float32_in: [[1, 'nan']] }, /inputs\.float32_in\.0\.1: must be a number that float32 can hold/],
    [{ float32_in: [[1, 1e39]] }, /inputs\.float32_in\.0\.1: must be a number that float32 can hold/],
    [{ float32_in: [[1, null]] }, /inputs\.float32_in\.0\.1: must be a number/],
    [{ float32_in: null }, /inputs\.float32_in: has the shape \[\]/],
    [{ float32_in: { shape: [1, 2] } }, /inputs\.float32_in: is a value, nested lists/],
    [{ float32_in: { shape: [1, 2], data: [1, 2], dtype: 'f' } }, /inputs\.float32_in: is a value, nested lists/],
    [{ float32_in: { shape: [-1, 2], data: [] } }, /inputs\.float32_in\.shape: must be a list of whole numbers/],
    [{ float32_in: { shape: [2 ** 40, 2], data: [] } }, /inputs\.float32_in\.data: has 0 values, but the shape has/],
    [{ float32_in: { shape: [1, 2], data: [1, true] } }, /inputs\.float32_in\.data\.1: must be a number/],
    [{ float32_in: { shape: [1, 2], base64: 'AAAA' } }, /inputs\.float32_in\.base64: has 3 bytes, .* needs 8 bytes/],
    [{ float32_in: { shape: [1, 2], base64: '****' } }, /inputs\.float32_in\.base64: must be base64/],
    [{ int8_in: [[1, 128]] }, /inputs\.int8_in\.0\.1: must be a whole number from -128 to 127/],
    [{ int8_in: [[1, 0.5]] }, /inputs\.int8_in\.0\.1: must be a whole number/],
    [
      { int64_in: [[1, '9223372036854775808']] },
      /inputs\.int64_in\.0\.1: must be a whole number from -9223372036854775808/,
    ],
    [{ int64_in: [[1, 2 ** 53]] }, /inputs\.int64_in\.0\.1: .*beyond 2\^53 - 1 as a text/],
    [{ bool_in: [[1, 0]] }, /inputs\.bool_in\.0\.0: must be true or false/],
    [{ bool_in: { shape: [1, 2], base64: 'AgA=' } }, /inputs\.bool_in\.base64: a byte of bool must be 0 or 1/],
    [{ string_in: [['a', 'b\0c']] }, /inputs\.string_in\.0\.1: must be a text without NUL/],
    [{ string_in: [['\ud800', 'b']] }, /inputs\.string_in\.0\.0: must be a text without NUL and halves of surrogate/],
    [{ string_in: { shape: [1, 2], base64: 'AAA=' } }, /inputs\.string_in\.base64: texts can only be sent as lists/],
    [{ float16_in: [[1, 2]] }, /inputs\.float16_in\.0\.0: has 16-bit floats/],
  ] as const) {
    const error = await errorOf(run(model, { inputs: { ...right, ...wrong } }));
    assert.equal([error.name, error.kind], ['ValidationError', 'invalid-input'], error.message);
    assert.match(error.message, place);
  }
  const error = await errorOf(run(model, { inputs: right, outputs: ['nothing'] }));
  assert.match(error.message, /outputs: the model has no "nothing"/);
  assert.equal((await run(model, { inputs: right }))['int8']?.data, [1, 2]);
});

Onnx('takes tensors without values in each form', async () => {
  const types = ['float32', 'int64', 'bool', 'string', 'float16'] as const;
  const model = await started(await write('none.onnx', passOn(types, ['n'])));
  for (const form of [[], { shape: [0], data: [] }, { shape: [0], base64: '' }]) {
    const inputs = Object.fromEntries(
      types.map((type) => [`${type}_in`, type === 'string' && 'base64' in form ? [] : form]),
    );
    const outputs = await run(model, { inputs });
    for (const type of types) assert.equal(outputs[type]?.shape, [0], type);
  }
});

Onnx('refuses texts in an answer that are too many, even if they are empty', async () => {
  const graph: Graph = {
    nodes: [{ operator: 'Expand', inputs: ['x', 's'], outputs: ['y'] }],
    inputs: [value('x', 'string', [1]), value('s', 'int64', [1])],
    outputs: [value('y', 'string')],
  };
  const model = await started(await write('texts.onnx', graph));
  const error = await errorOf(run(model, { inputs: { x: [''], s: [2_500_001] } }));
  assert.equal([error.name, error.kind], ['MessageTooLarge', 'too-large']);
  assert.match(error.message, /the outputs have 2500001 values as lists, but an answer has room for/);
  assert.equal((await run(model, { inputs: { x: ['a'], s: [2] } }))['y']?.data, ['a', 'a']);
});

/** Models that do not start, with the reason. */
const add = (location: string): Graph => ({
  nodes: [{ operator: 'Add', inputs: ['x', 'w'], outputs: ['y'] }],
  inputs: [value('x')],
  outputs: [value('y')],
  tensors: [externalTensor('w', [2], location)],
});
const one = (operator: string, type: keyof typeof TYPES = 'float32'): Graph => ({
  nodes: [{ operator, inputs: ['x'], outputs: ['y'] }],
  inputs: [value('x', type)],
  outputs: [value('y', type)],
});
const BROKEN: Readonly<Record<string, readonly [Graph | Buffer, RegExp]>> = {
  'text.onnx': [Buffer.from('this is no model'), /text\.onnx: it is/],
  'empty.onnx': [Buffer.alloc(0), /empty\.onnx: it is not an ONNX model/],
  'cut.onnx': [makeOnnx(one('Neg')).subarray(0, 40), /cut\.onnx: it is truncated or not an ONNX model/],
  'operator.onnx': [one('Frobnicate'), /operator\.onnx cannot be used: .*No Op registered for Frobnicate/],
  'domain.onnx': [
    { ...one('Neg'), nodes: [{ operator: 'Foo', inputs: ['x'], outputs: ['y'], domain: 'com.example' }] },
    /domain\.onnx cannot be used: .*com\.example/,
  ],
  'complex.onnx': [one('Identity', 'complex64'), /complex\.onnx cannot be used: .*complex64/],
  'dangling.onnx': [{ ...one('Neg'), inputs: [] }, /dangling\.onnx cannot be used: .*'x'/],
  'parent.onnx': [add('../w.bin'), /parent\.onnx: it names the file of weights "\.\.\/w\.bin", which is outside/],
  'absolute.onnx': [add('/etc/passwd'), /absolute\.onnx: .* "\/etc\/passwd", which is outside of its folder/],
  'link.onnx': [add('link.bin'), /link\.onnx: .* "link\.bin", which is outside of its folder/],
  'memory.onnx': [add('*/_ORT_MEM_ADDR_/*'), /memory\.onnx: .*which is not in its folder/],
  'missing.onnx': [add('missing.bin'), /missing\.onnx: .* "missing\.bin", which is not in its folder/],
  'short.onnx': [add('short.bin'), /short\.onnx cannot be used: /],
};

Onnx('a file that is no usable model does not start, and the reason is told', async () => {
  await symlink('/etc/passwd', join(folder, 'link.bin'));
  await writeFile(join(folder, 'short.bin'), Buffer.alloc(4));
  for (const [name, [content, expected]] of Object.entries(BROKEN)) {
    const error = await errorOf(started(await write(name, content)));
    assert.match(error.message, expected);
  }
});

Onnx('takes a runtime of the operator, and says what it lacks to compute on a GPU', async () => {
  const file = await write('gpu.onnx', one('Neg'));
  const own = join(`${(await store.pull('onnxruntime')).path}.packages`, 'node_modules/onnxruntime-node');
  const wrong = async (num_gpus: number, config: object): Promise<string> =>
    (await errorOf(started(file, config, { ray_actor_options: { num_gpus } }))).message;
  assert.match(await wrong(1, {}), /num_gpus: OnnxDeployment needs user_config\.onnxruntime_path, an onnxruntime-node/);
  assert.match(await wrong(2, { onnxruntime_path: own }), /num_gpus: OnnxDeployment computes on one GPU at most/);
  for (const other of [join(folder, 'none'), folder])
    assert.match(await wrong(0, { onnxruntime_path: other }), /onnxruntime_path: .* is not the npm package/);
  const model = await started(file, { onnxruntime_path: own });
  assert.equal((await run(model, { inputs: { x: [1, -2] } }))['y']?.data, [-1, 2]);
  // The package of the catalogue lacks the provider.
  assert.match(
    await wrong(1, { onnxruntime_path: own }),
    /gpu\.onnx cannot be used: .*(_Cuda: |libonnxruntime_provid)/,
  );
});

Onnx('reads weights out of a file beside the model, and refuses it when it is cut', async () => {
  const weights = join(folder, 'weights.bin');
  await writeFile(weights, Buffer.from(Float32Array.of(10, 20).buffer));
  const file = await write('beside.onnx', add('weights.bin'));
  const model = await started(file);
  assert.equal((await run(model, { inputs: { x: [1, 2] } }))['y']?.data, [11, 22]);
  const error = await errorOf(run(model, { inputs: { x: [1, 2, 3] } }));
  assert.equal([error.name, error.kind], ['OnnxRunFailed', 'bad-request']);
  assert.match(error.message, /^beside\.onnx cannot compute with these inputs: .*broadcast/);
  assert.not.match(error.message, /onnxruntime_src/);
  await truncate(weights, 4);
  await errorOf(started(file));
});

/** Computes a cosine as many times as the caller wants. */
const REPEATED: Graph = {
  nodes: [
    {
      operator: 'Loop',
      inputs: ['times', '', 'x'],
      outputs: ['y'],
      attributes: [
        attribute.graph('body', {
          nodes: [
            { operator: 'Identity', inputs: ['go'], outputs: ['go_on'] },
            { operator: 'Cos', inputs: ['in'], outputs: ['out'] },
          ],
          inputs: [value('at', 'int64', []), value('go', 'bool', []), value('in', 'float32', [])],
          outputs: [value('go_on', 'bool', []), value('out', 'float32', [])],
        }),
      ],
    },
  ],
  inputs: [value('times', 'int64', []), value('x', 'float32', [])],
  outputs: [value('y', 'float32', [])],
};

const scalar = (type: string, data: OnnxTensor['data']): OnnxTensor => ({ type, dims: [], data });
const repeat = (times: number) => ({
  feeds: { times: scalar('int64', BigInt64Array.of(BigInt(times))), x: scalar('float32', Float32Array.of(1)) },
  outputs: ['y'],
});

Onnx('a call that is aborted while it waits is never computed, and one that runs ends for its caller', async () => {
  const runtime = (await store.pull('onnxruntime')).path;
  const file = await write('repeated.onnx', REPEATED);
  const thread = await loadGraph({ runtime, file, threads: 1 }, { name: file }, 2 ** 40);
  try {
    const running = new AbortController();
    const waiting = new AbortController();
    const first = errorOf(thread.run(repeat(1_000_000), running.signal), Error);
    const second = errorOf(thread.run(repeat(1), waiting.signal), Error);
    const third = thread.run(repeat(2), new AbortController().signal);
    await new Promise(setImmediate); // the first computation begins
    waiting.abort(new Error('the second caller left'));
    assert.is((await second).message, 'the second caller left');
    assert.ok(thread.isBusy);
    running.abort(new Error('the first caller left'));
    assert.is((await first).message, 'the first caller left');
    assert.ok(thread.isBusy, 'the computation goes on');
    assert.equal((await third).outputs['y']?.data, Float32Array.of(Math.cos(Math.fround(Math.cos(1)))));
    assert.is(thread.steps, 2);
  } finally {
    await thread.close();
  }
});

Onnx('a graph that never ends loses its replica and its call, and other calls are served', async () => {
  const file = await write('endless.onnx', REPEATED);
  const model = await started(file, {}, { health_check_period_s: 0.1, health_check_timeout_s: 1 });
  const endless = run(model, { inputs: { times: '9223372036854775807', x: 1 } });
  // The event loop answers while the thread computes.
  assert.ok(await model.call('describe', {}));
  assert.is((await errorOf(endless)).name, 'PoisonousCallError');
  const { y } = await run(model, { inputs: { times: 1, x: 0 } });
  assert.equal(y, { type: 'float32', shape: [], data: [1] });
});

Onnx('a graph that wants more memory than it may have loses its replica and its call', async () => {
  const zeros: Graph = {
    nodes: [{ operator: 'ConstantOfShape', inputs: ['s'], outputs: ['y'] }],
    inputs: [value('s', 'int64', [1])],
    outputs: [value('y')],
  };
  const model = await started(await write('zeros.onnx', zeros), { max_memory_bytes: 2 ** 29 });
  const impossible = await errorOf(run(model, { inputs: { s: [1e13] } }));
  assert.equal([impossible.name, impossible.kind], ['OnnxRunFailed', 'bad-request']);
  const tooLarge = await errorOf(run(model, { inputs: { s: [3_000_000] } }));
  assert.is(tooLarge.name, 'MessageTooLarge');
  const much = await errorOf(run(model, { inputs: { s: [500_000_000] } }));
  assert.is(much.name, 'PoisonousCallError');
  assert.equal((await run(model, { inputs: { s: [3] } }))['y']?.data, [0, 0, 0]);
});

Onnx('a graph that computes too much while it is loaded does not start', async () => {
  const folded: Graph = {
    nodes: [
      { operator: 'ConstantOfShape', inputs: ['s'], outputs: ['zeros'] },
      { operator: 'ReduceSum', inputs: ['zeros'], outputs: ['y'], attributes: [attribute.int('keepdims', 0)] },
    ],
    outputs: [value('y', 'float32', [])],
    // The runtime leaves constants of more than 1 GiB to the calls.
    tensors: [tensor('s', 'int64', [1], int64s(260_000_000))],
  };
  const error = await errorOf(started(await write('folded.onnx', folded), { max_memory_bytes: 2 ** 29 }));
  assert.match(error.message, /more than 536870912 bytes of memory \(max_memory_bytes\)/);
});

/** Tokens of real texts, and of none: [CLS], words of the vocabulary, [SEP]. */
const TOKENS: readonly (readonly number[])[] = [
  [101, 1996, 4248, 2829, 4419, 14523, 2058, 1996, 13971, 3899, 1012, 102],
  [101, 2129, 2003, 1996, 3500, 5377, 7594, 1029, 102],
  [101, 102],
  [101, ...Array.from({ length: 200 }, (_, at) => 1000 + ((at * 7919) % 28_000)), 102],
];

Onnx('MiniLM with 8-bit weights has the vectors of llama.cpp with 16-bit weights', async () => {
  const onnx = await started('all-minilm-l6-v2-onnx');
  const llama = deployed({ type: 'LlamaEmbeddingDeployment', user_config: { model_kwargs: { n_threads: 1 } } });
  managers.push(llama);
  await llama.start();
  const expected = (await llama.handle('model').call('embed_batch', { sentences: TOKENS })) as {
    embedding: number[][];
  };
  for (const [at, tokens] of TOKENS.entries()) {
    const fill = (number: number): number[][] => [tokens.map(() => number)];
    const inputs = { input_ids: [tokens], attention_mask: fill(1), token_type_ids: fill(0) };
    const { last_hidden_state: states } = await run(onnx, { inputs });
    assert.equal(states?.shape, [1, tokens.length, 384]);
    const mean = new Float64Array(384);
    for (const [index, number] of (states?.data ?? []).entries()) mean[index % 384]! += Number(number);
    const length = Math.hypot(...mean);
    const cosine = (expected.embedding[at] ?? []).reduce(
      (sum, number, axis) => sum + (number * mean[axis]!) / length,
      0,
    );
    process.stdout.write(`${tokens.length} tokens: cosine ${cosine.toFixed(4)}\n`);
    assert.ok(cosine > 0.97, `${cosine}`);
  }
  const unknown = { input_ids: [[99_999_999]], attention_mask: [[1]], token_type_ids: [[0]] };
  assert.match((await errorOf(run(onnx, { inputs: unknown }))).message, /out of data bounds/);
});

const offline =
  cannotRun ??
  (await unlessOffline(async () => {
    for (const id of ['all-minilm-l6-v2-onnx', 'onnxruntime']) await store.pull(id);
    return undefined;
  }));
if (typeof offline === 'string') skip('a deployment for ONNX models', offline);
else Onnx.run();
