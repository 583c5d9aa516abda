import { mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { messageOf } from '../../fixtures/message-of.ts';
import { checkModelFile } from '../check-model-file.ts';
import { convertCtranslate2 } from '../ctranslate2-to-ggml.ts';
import { type MadeTensor, type TransformersForm, writeTinyTransformers } from './make-transformers.test.fixture.ts';
import { VOCABULARY, WIDTH, writeTinyWhisper } from '../make-whisper.test.fixture.ts';
import { convertTransformers } from './transformers-to-ggml.ts';

const Convert = suite<{ dir: string; out: string }>('convertTransformers');

Convert.before.each(async (context) => {
  context.dir = await mkdtemp(path.join(tmpdir(), 'aana-transformers-'));
  context.out = path.join(context.dir, 'out', 'model.bin');
});
Convert.after.each(async ({ dir }) => {
  await rm(dir, { recursive: true, force: true });
});

const converted = async (dir: string, out: string, form: TransformersForm): Promise<string> =>
  (await convertTransformers(await writeTinyTransformers(dir, form), out)).sha256;

const copyOf = (name: string, to: string) => (tensors: Map<string, MadeTensor>) =>
  void tensors.set(to, tensors.get(name)!);
const EMBEDDINGS = 'model.decoder.embed_tokens.weight';

for (const [what, form] of [
  ['in one file', {}],
  ['in three files', { shards: 3 }],
  ['without a head for text', { prefix: '' }],
  ['with the embeddings a second time', { change: copyOf(EMBEDDINGS, 'proj_out.weight') }],
  [
    'with the embeddings only as the last layer',
    {
      change: (tensors: Map<string, MadeTensor>) => {
        copyOf(EMBEDDINGS, 'proj_out.weight')(tensors);
        tensors.delete(EMBEDDINGS);
      },
    },
  ],
] as const)
  Convert(`a model ${what} becomes the same bytes as the model of CTranslate2`, async ({ dir, out }) => {
    const { model, tokenizer } = await writeTinyWhisper(dir);
    const expected = await convertCtranslate2({ model: [model], tokenizer }, path.join(dir, 'expected.bin'));
    assert.is(await converted(dir, out, { type: 'F16', ...form }), expected.sha256);
    assert.ok((await readFile(out)).equals(await readFile(expected.path)));
    assert.is(await checkModelFile(out), 'whisper');
  });

Convert('32-bit floats and bfloat16 are rounded to 16 bits', async ({ dir, out }) => {
  const fine = await converted(dir, out, { type: 'F32' });
  const coarse = await converted(dir, `${out}2`, { type: 'F32', isCoarse: true });
  assert.is.not(fine, coarse);
  assert.is(await converted(dir, `${out}3`, { type: 'BF16' }), coarse);
});

const refusals: readonly [what: string, form: Partial<TransformersForm>, message: RegExp][] = [
  ['of another kind', { config: { model_type: 'bert' } }, /config\.json: .*model_type/],
  ['without a number of layers', { config: { encoder_layers: 'two' } }, /config\.json: .*encoder_layers/],
  ['with too many layers', { config: { decoder_layers: 1e9 } }, /config\.json: .*decoder_layers/],
  ['with scaled embeddings', { config: { scale_embedding: true } }, /config\.json: .*scale_embedding/],
  [
    'whose last layer is another one',
    { config: { tie_word_embeddings: false } },
    /config\.json: .*tie_word_embeddings/,
  ],
  ['with more layers than tensors', { config: { encoder_layers: 2 } }, /no tensor encoder\.layers\.1\./],
  [
    'without a tensor',
    { change: (tensors) => void tensors.delete('model.encoder.conv2.bias') },
    /no tensor encoder\.conv2\.bias of 16 or 32-bit floats/,
  ],
  [
    'with a tensor of another shape',
    {
      change: (tensors) => {
        const { data } = tensors.get('model.decoder.layer_norm.bias')!;
        tensors.set('model.decoder.layer_norm.bias', { shape: [2, WIDTH / 2], data });
      },
    },
    /decoder\.layer_norm\.bias has the shape \[2, 32\], but config\.json asks for \[64\]/,
  ],
  [
    'of another width',
    { config: { d_model: 2 * WIDTH } },
    /has the shape \[4, 64\], but config\.json asks for \[4, 128\]/,
  ],
  [
    'with two different embeddings',
    {
      change: (tensors) => {
        const shape = [VOCABULARY, WIDTH];
        tensors.set('proj_out.weight', { shape, data: Buffer.alloc(2 * VOCABULARY * WIDTH) });
      },
    },
    /proj_out\.weight differs from decoder\.embed_tokens\.weight/,
  ],
];
for (const [what, form, message] of refusals)
  Convert(`refuses a model ${what}, and leaves no file`, async ({ dir, out }) => {
    const error = await messageOf(converted(dir, out, { type: 'F16', ...form }));
    assert.match(error, /^ModelFormatError: /);
    assert.match(error, message);
    assert.equal(await readdir(path.dirname(out)).catch(() => []), []);
  });

for (const share of [0, 0.00001, 0.5, 0.999999])
  Convert(`refuses weights that are cut off after ${share * 100} %`, async ({ dir, out }) => {
    const files = await writeTinyTransformers(dir, { type: 'F16', shards: 2 });
    const last = files.weights.at(-1)!;
    await truncate(last, Math.floor((await stat(last)).size * share));
    assert.match(
      await messageOf(convertTransformers(files, out)),
      /^ModelFormatError: model-00002-of-00002\.safetensors/,
    );
    assert.equal(await readdir(path.dirname(out)).catch(() => []), []);
  });

Convert('refuses damaged files beside the weights, and names them', async ({ dir, out }) => {
  const files = await writeTinyTransformers(dir, { type: 'F16' });
  for (const [file, text, message] of [
    [files.tokenizer, '{', /^ModelFormatError: vocab\.json: it is not JSON/],
    [files.tokenizer, '[]', /^ModelFormatError: vocab\.json: /],
    [files.tokenizer, '{"!": 0}', /^ModelFormatError: vocab\.json: it has no token 1/],
    [files.config, 'null', /^ModelFormatError: config\.json: /],
  ] as const) {
    const whole = await readFile(file);
    await writeFile(file, text);
    assert.match(await messageOf(convertTransformers(files, out)), message);
    await writeFile(file, whole);
  }
  await rm(files.tokenizer);
  assert.match(
    await messageOf(convertTransformers(files, out)),
    /^ModelFormatError: vocab\.json: it cannot be read; a Whisper/,
  );
});

Convert.run();
