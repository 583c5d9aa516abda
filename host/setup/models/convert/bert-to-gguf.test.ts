import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { messageOf } from '../fixtures/message-of.ts';
import { type BertFiles, convertBert } from './bert-to-gguf.ts';
import { checkModelFile } from './check-model-file.ts';

const NAMES = { type: 'f16', name: 'tiny', licence: 'mit' } as const;
const CONFIG = {
  model_type: 'bert',
  hidden_act: 'gelu',
  vocab_size: 7,
  num_hidden_layers: 1,
  max_position_embeddings: 16,
  hidden_size: 8,
  intermediate_size: 16,
  num_attention_heads: 2,
  layer_norm_eps: 1e-12,
  type_vocab_size: 2,
};
const LAYER: readonly (readonly [name: string, shape: readonly number[]])[] = [
  ...['attention.self.query', 'attention.self.key', 'attention.self.value', 'attention.output.dense'].map(
    (name) => [name, [8, 8]] as const,
  ),
  ['attention.output.LayerNorm', [8]],
  ['intermediate.dense', [16, 8]],
  ['output.dense', [8, 16]],
  ['output.LayerNorm', [8]],
];
const SHAPES: readonly (readonly [name: string, shape: readonly number[]])[] = [
  ['embeddings.word_embeddings.weight', [7, 8]],
  ['embeddings.position_embeddings.weight', [16, 8]],
  ['embeddings.token_type_embeddings.weight', [2, 8]],
  ['embeddings.LayerNorm.weight', [8]],
  ['embeddings.LayerNorm.bias', [8]],
  ...LAYER.flatMap(([name, shape]) => [
    [`encoder.layer.0.${name}.weight`, shape] as const,
    [`encoder.layer.0.${name}.bias`, [shape[0] ?? 0]] as const,
  ]),
  ['pooler.dense.weight', [8, 8]],
];

/** Returns a safetensors file whose numbers count up in steps of 0.1. */
function safetensors(shapes: typeof SHAPES): Buffer {
  let end = 0;
  const header: Record<string, unknown> = { __metadata__: { format: 'pt' } };
  for (const [name, shape] of shapes) {
    const begin = end;
    end += 4 * shape.reduce((product, length) => product * length, 1);
    header[name] = { dtype: 'F32', shape, data_offsets: [begin, end] };
  }
  header['embeddings.position_ids'] = { dtype: 'I64', shape: [1], data_offsets: [end, end + 8] };
  const text = Buffer.from(JSON.stringify(header));
  const size = Buffer.alloc(8);
  size.writeBigUInt64LE(BigInt(text.length));
  const data = Float32Array.from({ length: end / 4 }, (_, at) => at / 10);
  return Buffer.concat([size, text, Buffer.from(data.buffer), Buffer.alloc(8)]);
}

const Convert = suite<{ dir: string; files: BertFiles; out: string }>('convertBert');

Convert.before.each(async (context) => {
  const dir = await mkdtemp(path.join(tmpdir(), 'aana-bert-'));
  const write = async (name: string, content: string | Buffer): Promise<string> => {
    await writeFile(path.join(dir, name), content);
    return path.join(dir, name);
  };
  context.dir = dir;
  context.out = path.join(dir, 'out', 'model.gguf');
  context.files = {
    weights: await write('model.safetensors', safetensors(SHAPES)),
    config: await write('config.json', JSON.stringify(CONFIG)),
    vocabulary: await write('vocab.txt', '[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ncat\n##s\n'),
    tokenizer: await write('tokenizer_config.json', '{"do_lower_case": true}'),
    pooling: await write('pooling.json', '{"pooling_mode_mean_tokens": true}'),
  };
});
Convert.after.each(async ({ dir }) => {
  await rm(dir, { recursive: true, force: true });
});

Convert('writes matrices in 16 bits and the other tensors in 32 bits', async ({ files, out }) => {
  const made = await convertBert(files, out, NAMES);
  assert.is(await checkModelFile(out), 'gguf');
  const bytes = await readFile(out);
  assert.is(bytes.length, made.bytes);
  for (const text of ['bert.pooling_type', '▁cat', 'blk.0.ffn_down.bias', 'tokenizer.ggml.seperator_token_id'])
    assert.ok(bytes.includes(text), text);
  assert.not.ok(bytes.includes('pooler'));
  // The first tensor has the numbers 0, 0.1, … as 16 bits; the second begins with 5.6 as 32 bits.
  const data = bytes.length - dataBytes(16);
  assert.is(bytes.readUInt16LE(data + 2), 0x2e66);
  assert.ok(Math.abs(bytes.readFloatLE(data + 128) - 5.6) < 1e-6);
  const exact = await convertBert(files, `${out}.f32`, { ...NAMES, type: 'f32' });
  assert.ok(exact.bytes > made.bytes);
});

/** Returns the bytes of all tensors when matrices have numbers of `bits` bits. */
function dataBytes(bits: number): number {
  const padded = (bytes: number): number => Math.ceil(bytes / 32) * 32;
  const sizes = SHAPES.slice(0, -1).map(([name, shape]) => {
    const isExact = shape.length < 2 || /position|token_type/.test(name);
    return padded((shape.reduce((product, length) => product * length, 1) * (isExact ? 32 : bits)) / 8);
  });
  return sizes.reduce((sum, size) => sum + size, 0);
}

const DAMAGES: readonly (readonly [what: string, damage: (files: BertFiles) => Promise<void>, pattern: RegExp])[] = [
  [
    'truncated weights',
    async ({ weights }) => writeFile(weights, (await readFile(weights)).subarray(0, -300)),
    /model\.safetensors: the file is truncated/,
  ],
  ['other weights', ({ weights }) => writeFile(weights, 'hello world, this is text'), /this is not a safetensors file/],
  ['empty weights', ({ weights }) => writeFile(weights, ''), /this is not a safetensors file/],
  [
    'a missing tensor',
    ({ weights }) => writeFile(weights, safetensors(SHAPES.slice(1))),
    /the model has no tensor embeddings\.word_embeddings\.weight/,
  ],
  [
    'another architecture',
    ({ config }) => writeFile(config, JSON.stringify({ ...CONFIG, model_type: 'gpt2', hidden_act: 'relu' })),
    /config\.json: it does not describe a BERT model that can be converted: model_type, hidden_act/,
  ],
  ['a file that is no JSON', ({ config }) => writeFile(config, '{'), /config\.json: .*: no JSON/],
  ['a short vocabulary', ({ vocabulary }) => writeFile(vocabulary, '[PAD]\n'), /it has 1 tokens instead of 7/],
  [
    'a vocabulary without a special token',
    ({ vocabulary }) => writeFile(vocabulary, 'a\nb\nc\nd\ne\nf\ng'),
    /it has no token \[CLS\]/,
  ],
  [
    'another pooling',
    ({ pooling }) => writeFile(pooling, '{"pooling_mode_max_tokens": true}'),
    /its pooling is not mean/,
  ],
];
for (const [what, damage, pattern] of DAMAGES) {
  Convert(`refuses ${what} and leaves no file`, async ({ files, out }) => {
    await damage(files);
    assert.match(await messageOf(convertBert(files, out, NAMES)), pattern);
    assert.equal(await readdir(path.dirname(out)).catch(() => []), []);
  });
}

Convert.run();
