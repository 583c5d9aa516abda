// Which GGUF files become ONNX models, and what is said of the others. That the models compute the same is tested in
// host/inference/engines/transformers/converted-logits.test.ts.
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, truncate, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ggufPair } from '../../../../../native/lib/gguf.ts';
import { silentLogger } from '../../../../base/core/log/logger.ts';
import { readExternalFiles } from '../../../../base/core/model-files/onnx.ts';
import { errorOf } from '../../../../test/helpers/error-of.ts';
import { ModelStore } from '../../store.ts';
import { PartedFile } from '../formats/parted-file.ts';
import { ggufToOnnx, ONNX_FILES, ONNX_WEIGHTS } from './gguf-to-onnx.ts';
import { type TinyDecoder, writeTinyDecoder } from './tiny-decoder.test.fixture.ts';

const Convert = suite<{ dir: string; source: string; target: string }>('GGUF models in ONNX form');

Convert.before.each(async (context) => {
  context.dir = await mkdtemp(path.join(tmpdir(), 'aana-onnx-form-'));
  context.source = path.join(context.dir, 'tiny.gguf');
  context.target = path.join(context.dir, 'made');
});
Convert.after.each(({ dir }) => rm(dir, { recursive: true, force: true }));

const convert = (source: string, target: string, signal?: AbortSignal): ReturnType<typeof ggufToOnnx> =>
  ggufToOnnx(source, target, path.join(target, ONNX_WEIGHTS), { signal });

Convert('have all their files, whose sizes are those of the weights', async ({ source, target }) => {
  for (const type of ['f16', 'q8_0'] as const) {
    writeTinyDecoder(source, { type });
    const { bytes } = await convert(source, target);
    assert.is((await stat(path.join(target, ONNX_WEIGHTS))).size, bytes);
    for (const file of ONNX_FILES) assert.ok(existsSync(path.join(target, file)), file);
    await using graph = await PartedFile.open([path.join(target, 'onnx/converted.onnx')]);
    assert.equal(await readExternalFiles(graph), ['converted.onnx_data']);
    assert.ok(Math.abs(bytes - (await stat(source)).size) < 0.2 * bytes);
  }
});

Convert('are written once by the store, listed, found again and removed', async ({ dir, source }) => {
  const store = new ModelStore({ cacheDir: path.join(dir, 'cache'), log: silentLogger, offline: true });
  writeTinyDecoder(source, { type: 'q8_0' });
  const made = await store.pull(source, { form: 'onnx_q8' });
  assert.is(made.id, `${source}@onnx_q8`);
  assert.equal(await store.pull(source, { form: 'onnx_q8' }), made);
  assert.is((await store.resolve(made.id))?.path, made.path);
  assert.is((await store.list()).find(({ id }) => id === made.id)?.state, 'present');
  writeTinyDecoder(source, { type: 'q8_0', architecture: 'qwen2' });
  const other = await store.pull(source, { form: 'onnx_q8' });
  assert.is.not(other.path, made.path);
  assert.ok((await store.remove(other.id)) > other.bytes);
  assert.equal(await readdir(path.join(dir, 'cache/models/requantized')), [
    path.basename(path.dirname(path.dirname(made.path))),
  ]);
});

Convert('are not left behind by a conversion that is cancelled', async ({ source, target }) => {
  writeTinyDecoder(source, {});
  assert.is((await errorOf(convert(source, target, AbortSignal.abort()), DOMException)).name, 'AbortError');
  assert.equal(await readdir(path.join(target, 'onnx')), ['converted.onnx']);
});

type Change = NonNullable<TinyDecoder['change']>;
const without =
  (name: string): Change =>
  (tensors) =>
    tensors.filter((tensor) => tensor.name !== name);
const changed =
  (name: string, change: object): Change =>
  (tensors) =>
    tensors.map((tensor) => (tensor.name === name ? { ...tensor, ...change } : tensor));
type Pairs = NonNullable<TinyDecoder['pairs']>;
const text = (key: string, value: string): Pairs => ({ [key]: ggufPair.text(key, value) });
const number = (key: string, value: number): Pairs => ({ [key]: ggufPair.uint32(key, value) });

const REFUSED: Readonly<Record<string, readonly [TinyDecoder, RegExp]>> = {
  'another architecture': [{ architecture: 'mamba' }, /its architecture is mamba, but only llama and qwen2 are known/],
  'a vocabulary of another kind': [
    { pairs: text('tokenizer.ggml.model', 'llama') },
    /its vocabulary is of the kind llama/,
  ],
  'another way to cut texts': [{ pairs: text('tokenizer.ggml.pre', 'toString') }, /cut as by toString/],
  'no vocabulary': [{ pairs: { 'tokenizer.ggml.tokens': undefined } }, /it has no texts tokenizer\.ggml\.tokens/],
  'no merges': [{ pairs: { 'tokenizer.ggml.merges': undefined } }, /it has no texts tokenizer\.ggml\.merges/],
  'no number of layers': [{ pairs: { 'llama.block_count': undefined } }, /does not state llama\.block_count/],
  'no layers': [{ pairs: number('llama.block_count', 0) }, /does not state llama\.block_count/],
  'more layers than it has': [{ pairs: number('llama.block_count', 3) }, /has no tensor blk\.2\.attn_norm\.weight/],
  'fewer layers than it has': [{ pairs: number('llama.block_count', 1) }, /nothing is known of its tensor blk\.1\./],
  'heads of another size': [{ pairs: number('llama.attention.head_count', 8) }, /rotate only a part of each head/],
  'heads of no whole size': [{ pairs: number('llama.attention.head_count', 3) }, /rotate only a part of each head/],
  'positions that are scaled': [{ pairs: text('llama.rope.scaling.type', 'yarn') }, /positions are scaled \(yarn\)/],
  'a missing tensor': [{ change: without('blk.1.ffn_up.weight') }, /has no tensor blk\.1\.ffn_up\.weight/],
  'a tensor of another shape': [
    { change: changed('output_norm.weight', { dimensions: [32], bytes: 128 }) },
    /output_norm\.weight has the shape 32, not 64/,
  ],
  'a tensor of another type': [
    { change: changed('blk.0.attn_q.weight', { type: 14 }) },
    /blk\.0\.attn_q\.weight with rows of 64 has the type 14 of ggml/,
  ],
  'a tensor that is not known': [
    { change: (tensors) => [...tensors, { ...tensors[1]!, name: 'rope_freqs.weight' }] },
    /nothing is known of its tensor rope_freqs\.weight/,
  ],
};
for (const [what, [options, message]] of Object.entries(REFUSED))
  Convert(`are not made of a file with ${what}`, async ({ source, target }) => {
    writeTinyDecoder(source, options);
    const error = await errorOf(convert(source, target));
    assert.equal([error.name, error.kind], ['ModelFormatError', 'bad-request']);
    assert.match(error.message, message);
    assert.ok(error.message.startsWith('tiny.gguf: '), error.message);
    assert.not(existsSync(target), 'nothing is written');
  });

Convert('are not made of a file that ends early, wherever it ends', async ({ source, target }) => {
  writeTinyDecoder(source, {});
  const { size } = await stat(source);
  for (let part = 19; part >= 0; part -= 1) {
    await truncate(source, Math.floor((size * part) / 20));
    assert.is((await errorOf(convert(source, target))).name, 'ModelFormatError');
    assert.not(existsSync(path.join(target, ONNX_WEIGHTS)));
  }
});

Convert('have at most as many positions as a table of them has', async ({ source, target }) => {
  writeTinyDecoder(source, { pairs: number('llama.context_length', 4_000_000_000) });
  await convert(source, target);
  const config = JSON.parse(await readFile(path.join(target, 'config.json'), 'utf8')) as Record<string, number>;
  assert.is(config['max_position_embeddings'], 131_072);
});

Convert('have a tokenizer that begins texts where the GGUF file says so', async ({ source, target }) => {
  const begins = { add: ggufPair.bool('tokenizer.ggml.add_bos_token', true) };
  writeTinyDecoder(source, { pairs: begins });
  await convert(source, target);
  const { post_processor: processor } = JSON.parse(await readFile(path.join(target, 'tokenizer.json'), 'utf8')) as {
    post_processor: { special_tokens: Record<string, { ids: number[] }> };
  };
  assert.equal(processor.special_tokens['<|start|>']?.ids, [0]);
});

Convert.run();
