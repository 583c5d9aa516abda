// Which GGUF files become ONNX models, and what is said of the others. That the models compute the same is tested in
// host/inference/engines/transformers/converted-logits.test.ts.
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, stat, truncate } from 'node:fs/promises';
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

const headsOf = (size: number): Pairs => ({
  ...number('llama.attention.key_length', size),
  ...number('llama.rope.dimension_count', size),
});

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
  'heads without keys': [{ pairs: number('llama.attention.head_count_kv', 0) }, /4 heads for 0 heads of keys/],
  'heads that share no whole number of keys': [
    { pairs: number('llama.attention.head_count_kv', 3) },
    /4 heads for 3 heads of keys/,
  ],
  'heads without numbers': [{ pairs: headsOf(0) }, /its heads have the size 0/],
  // Tables of their positions would take the memory of the host.
  'huge heads': [{ pairs: headsOf(2 ** 20) }, /its heads have the size 1048576/],
  'an epsilon that is no number': [
    { pairs: { epsilon: ggufPair.float32('llama.attention.layer_norm_rms_epsilon', NaN) } },
    /layer_norm_rms_epsilon is NaN/,
  ],
  'no speed of positions': [
    { pairs: { base: ggufPair.float32('llama.rope.freq_base', 0) } },
    /its llama\.rope\.freq_base is 0/,
  ],
  'an empty vocabulary': [
    { pairs: { 'tokenizer.ggml.tokens': ggufPair.texts('tokenizer.ggml.tokens', []) } },
    /it has no tokens/,
  ],
  // Each would be written, so a small file could fill the disk.
  'tensors that lie over each other': [
    {
      change: (tensors) =>
        tensors.map((tensor, at) => {
          const bytes = at === tensors.length - 1 ? 2 ** 16 : 0;
          return { ...tensor, bytes, content: () => [Buffer.alloc(bytes)] };
        }),
    },
    /its tensors lie over each other/,
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
    assert.not(existsSync(target), 'nothing is written');
  }
});

Convert('have at most as many positions as a table of them has', async ({ source, target }) => {
  writeTinyDecoder(source, { pairs: number('llama.context_length', 4_000_000_000) });
  await convert(source, target);
  const config = JSON.parse(await readFile(path.join(target, 'config.json'), 'utf8')) as Record<string, number>;
  assert.is(config['max_position_embeddings'], 131_072);
});

Convert('are made of files of any alignment, whatever it is', async ({ source, target }) => {
  for (const alignment of [NaN, 0.1, -1, Infinity]) {
    writeTinyDecoder(source, { pairs: { alignment: ggufPair.float32('general.alignment', alignment) } });
    await convert(source, target);
  }
});

Convert('are refused under the name of the source, before llama.cpp writes other weights', async ({ dir, source }) => {
  const store = new ModelStore({ cacheDir: path.join(dir, 'cache'), log: silentLogger, offline: true });
  writeTinyDecoder(source, { type: 'f16', architecture: 'mamba' });
  const stages = new Set<string | undefined>();
  const onProgress = (_bytes: number, _total: number | undefined, stage?: string): void => void stages.add(stage);
  const error = await errorOf(store.pull(source, { form: 'onnx_q8', onProgress }));
  assert.match(error.message, /^tiny\.gguf: it cannot be converted to ONNX: its architecture is mamba/);
  assert.equal([...stages], ['hashing']);
  writeTinyDecoder(source, {});
  await convert(source, path.join(dir, 'made'));
  const onnx = path.join(dir, 'made/onnx/converted.onnx');
  const other = await errorOf(store.pull(onnx, { form: 'onnx_q8' }));
  assert.equal(
    [other.name, other.message],
    ['ModelFormatError', `${onnx} is no GGUF model of texts, so it has no ONNX form`],
  );
});

Convert('end answers with the tokens with which llama.cpp ends them', async ({ source, target }) => {
  const ends = async (pairs: Pairs): Promise<unknown> => {
    writeTinyDecoder(source, { pairs });
    await convert(source, target);
    const { eos_token_id: ids } = JSON.parse(
      await readFile(path.join(target, 'generation_config.json'), 'utf8'),
    ) as Record<string, unknown>;
    return ids;
  };
  assert.is(await ends({}), 1);
  // `<|end|>` ends answers whatever the file says.
  assert.equal(await ends({ eos: ggufPair.uint32('tokenizer.ggml.eos_token_id', 5) }), [5, 1]);
  const turn = { turn: ggufPair.uint32('tokenizer.ggml.eot_token_id', 7) };
  assert.equal(await ends(turn), [1, 7]);
  for (const outside of [1e9, 260])
    assert.is(await ends({ eos: number('tokenizer.ggml.eos_token_id', outside)['tokenizer.ggml.eos_token_id'] }), 1);
});

Convert('have a tokenizer that begins texts where the GGUF file says so, or llama.cpp does', async (context) => {
  const { source, target } = context;
  const begins = async (pairs: Pairs): Promise<readonly number[] | undefined> => {
    writeTinyDecoder(source, { pairs });
    await convert(source, target);
    const { post_processor: processor } = JSON.parse(await readFile(path.join(target, 'tokenizer.json'), 'utf8')) as {
      post_processor: { special_tokens?: Record<string, { ids: number[] }> };
    };
    return processor.special_tokens?.['<|start|>']?.ids;
  };
  const add = (value: boolean): Pairs => ({ add: ggufPair.bool('tokenizer.ggml.add_bos_token', value) });
  const llama3 = text('tokenizer.ggml.pre', 'llama-bpe');
  assert.equal(await begins(add(true)), [0]);
  assert.equal(await begins(llama3), [0]);
  for (const pairs of [{}, add(false), { ...llama3, ...add(false) }]) assert.is(await begins(pairs), undefined);
});

Convert.run();
