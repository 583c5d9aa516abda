// Pipelines that generate texts, in a replica, with models that are made here: they translate word by word.
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../../../base/core/log/logger.ts';
import type { ImageReference } from '../../../../base/schemas/index.ts';
import { artifactOf } from '../../../../io/artifacts/index.ts';
import { ModelStore } from '../../../../setup/models/index.ts';
import { errorOf } from '../../../../test/helpers/error-of.ts';
import { unlessOffline } from '../../../../test/helpers/media/clips.ts';
import { skip } from '../../../../test/skip.ts';
import type { DeploymentHandle, DeploymentManager } from '../../../deployments/index.ts';
import { deployed } from '../../fixtures/real-models.ts';
import { attribute, type Graph, int64s, makeOnnx, tensor, type Value } from '../../onnx/fixtures/make-onnx.ts';
import { PipelineModel } from '../pipeline-model.ts';

const Seq2Seq = suite('pipelines of Transformers.js that generate texts');
// Artifacts of these deployments lie below the folder for temporary files.
const folder = await mkdtemp(join(tmpdir(), 'aana-seq2seq-'));
const store = new ModelStore({ cacheDir: process.env['AANA_CACHE_DIR'] ?? '', log: silentLogger });
const managers: DeploymentManager[] = [];

Seq2Seq.after.each(async () => {
  for (const manager of managers.splice(0)) await manager.shutdown({ graceMs: 0 });
});
Seq2Seq.after(() => rm(folder, { recursive: true }));

const END = '</s>';
const LANGUAGES = ['deu_Latn', 'eng_Latn'] as const;
const SPECIAL = [END, '[UNK]', ...LANGUAGES];
const DICTIONARY = { hello: 'hallo', the: 'die', cat: 'katze', sees: 'sieht', red: 'rot', green: 'grün', broken: 'x' };
// A word of the dictionary comes first among those that are equally likely, except the end.
const WORDS = [END, ...Object.entries(DICTIONARY).flat(), ...SPECIAL.slice(1)];
const idOf = (word: string): number => WORDS.indexOf(word);

const value = (name: string, type: Value['type'], shape: Value['shape']): Value => ({ name, type, shape });
const floats = (name: string, shape: readonly number[], numbers: Float32Array): Buffer =>
  tensor(name, 'float32', shape, Buffer.from(numbers.buffer));

/** Returns logits for each word: those of its translation, which is itself for what is no word. */
function dictionary(): Buffer {
  const logits = new Float32Array(WORDS.length ** 2);
  for (const [row, word] of WORDS.entries())
    logits[row * WORDS.length + idOf(DICTIONARY[word as keyof typeof DICTIONARY] ?? word)] = 9;
  logits.fill(NaN, idOf('broken') * WORDS.length, (idOf('broken') + 1) * WORDS.length);
  return floats('table', [WORDS.length, WORDS.length], logits);
}

/** The state of a token is the logits of its translation. */
const TEXT_ENCODER: Graph = {
  nodes: [{ operator: 'Gather', inputs: ['table', 'input_ids'], outputs: ['last_hidden_state'] }],
  inputs: [value('input_ids', 'int64', ['batch', 'tokens']), value('attention_mask', 'int64', ['batch', 'tokens'])],
  outputs: [value('last_hidden_state', 'float32', ['batch', 'tokens', WORDS.length])],
  tensors: [dictionary()],
};

/** Answers the states one after the other, and the last one ever after. The length of its past is the place. */
const DECODER: Graph = {
  nodes: [
    { operator: 'Shape', inputs: ['past_key_values.0.decoder.key'], outputs: ['past'] },
    { operator: 'Gather', inputs: ['past', 'second'], outputs: ['place'] },
    { operator: 'Shape', inputs: ['encoder_hidden_states'], outputs: ['states'] },
    { operator: 'Gather', inputs: ['states', 'first'], outputs: ['length'] },
    { operator: 'Sub', inputs: ['length', 'first'], outputs: ['last'] },
    { operator: 'Min', inputs: ['place', 'last'], outputs: ['at'] },
    {
      operator: 'Gather',
      inputs: ['encoder_hidden_states', 'at'],
      outputs: ['logits'],
      attributes: [attribute.int('axis', 1)],
    },
    {
      operator: 'Concat',
      inputs: ['past_key_values.0.decoder.key', 'zero'],
      outputs: ['present.0.decoder.key'],
      attributes: [attribute.int('axis', 2)],
    },
  ],
  inputs: [
    value('input_ids', 'int64', ['batch', 'tokens']),
    value('encoder_hidden_states', 'float32', ['batch', 'states', WORDS.length]),
    value('past_key_values.0.decoder.key', 'float32', ['batch_size', 1, 'past', 1]),
  ],
  outputs: [
    value('logits', 'float32', ['batch', 1, WORDS.length]),
    value('present.0.decoder.key', 'float32', ['batch_size', 1, 'all', 1]),
  ],
  tensors: [
    tensor('first', 'int64', [1], int64s(1)),
    tensor('second', 'int64', [1], int64s(2)),
    floats('zero', [1, 1, 1, 1], new Float32Array(1)),
  ],
};

/** Sees one state: the word of the colour of which an image has most. */
const IMAGE_ENCODER: Graph = {
  nodes: [
    {
      operator: 'ReduceSum',
      inputs: ['pixel_values', 'sides'],
      outputs: ['colours'],
      attributes: [attribute.int('keepdims', 0)],
    },
    { operator: 'MatMul', inputs: ['colours', 'words'], outputs: ['word'] },
    { operator: 'Unsqueeze', inputs: ['word', 'first'], outputs: ['seen'] },
    {
      operator: 'Concat',
      inputs: ['seen', 'end'],
      outputs: ['last_hidden_state'],
      attributes: [attribute.int('axis', 1)],
    },
  ],
  inputs: [value('pixel_values', 'float32', ['batch', 3, 'height', 'width'])],
  outputs: [value('last_hidden_state', 'float32', ['batch', 2, WORDS.length])],
  tensors: [
    tensor('sides', 'int64', [2], int64s(2, 3)),
    tensor('first', 'int64', [1], int64s(1)),
    floats(
      'words',
      [3, WORDS.length],
      Float32Array.from(['red', 'green', 'hallo'].flatMap((word) => WORDS.map((other) => Number(other === word)))),
    ),
    floats(
      'end',
      [1, 1, WORDS.length],
      Float32Array.from(WORDS, (word) => Number(word === END)),
    ),
  ],
};

const HEADS = {
  ...{ encoder_layers: 1, decoder_layers: 1, encoder_attention_heads: 1, decoder_attention_heads: 1, d_model: 1 },
  vocab_size: WORDS.length,
};
const ENDS = { eos_token_id: 0, pad_token_id: 0, decoder_start_token_id: 0 };
const MARIAN = { model_type: 'marian', architectures: ['MarianMTModel'], is_encoder_decoder: true, ...HEADS, ...ENDS };

interface Files {
  readonly config?: object;
  readonly tokenizer?: object;
  readonly generation?: object;
  readonly encoder?: Graph;
}

/** Writes a model for the task, and returns its folder. */
async function write(name: string, { config, tokenizer, generation, encoder = TEXT_ENCODER }: Files): Promise<string> {
  const target = join(folder, name);
  await mkdir(join(target, 'onnx'), { recursive: true });
  const special = SPECIAL.map((content) => ({
    ...{ id: idOf(content), content, special: true },
    ...{ single_word: false, lstrip: false, rstrip: false, normalized: false },
  }));
  const json = {
    'config.json': { ...MARIAN, ...config },
    'generation_config.json': { ...ENDS, ...generation },
    'tokenizer_config.json': {
      tokenizer_class: 'PreTrainedTokenizerFast',
      unk_token: '[UNK]',
      eos_token: END,
      ...tokenizer,
    },
    'tokenizer.json': {
      version: '1.0',
      added_tokens: special,
      normalizer: null,
      pre_tokenizer: { type: 'Whitespace' },
      post_processor: {
        type: 'TemplateProcessing',
        single: [{ Sequence: { id: 'A', type_id: 0 } }, { SpecialToken: { id: END, type_id: 0 } }],
        pair: [],
        special_tokens: Object.fromEntries(
          SPECIAL.map((word) => [word, { id: word, ids: [idOf(word)], tokens: [word] }]),
        ),
      },
      decoder: { type: 'WordPiece', prefix: '##', cleanup: false },
      model: {
        type: 'WordPiece',
        unk_token: '[UNK]',
        continuing_subword_prefix: '##',
        max_input_chars_per_word: 100,
        vocab: Object.fromEntries(WORDS.map((word, id) => [word, id])),
      },
    },
    'preprocessor_config.json': {
      image_processor_type: 'ViTImageProcessor',
      size: { height: 4, width: 4 },
      ...{ do_resize: true, resample: 2, do_rescale: true, rescale_factor: 1 / 255, do_normalize: false },
    },
  };
  for (const [file, content] of Object.entries(json)) await writeFile(join(target, file), JSON.stringify(content));
  await writeFile(join(target, 'onnx', 'encoder_model.onnx'), makeOnnx(encoder));
  await writeFile(join(target, 'onnx', 'decoder_model_merged.onnx'), makeOnnx(DECODER));
  return target;
}

async function started(task: string, model: string, more: object = {}): Promise<DeploymentHandle> {
  const manager = deployed({
    type: 'TransformersDeployment',
    user_config: { model_id: model, task, threads: 1, ...more },
  });
  managers.push(manager);
  await manager.start();
  return manager.handle('model');
}

const call = (model: DeploymentHandle, inputs: unknown, more: object = {}): Promise<unknown> =>
  model.call('call', { inputs, ...more });
const translated = (text: string): object[] => [{ translation_text: text }];

Seq2Seq(
  'translation gives the words that the weights were made for, alone, in a list, and two calls at once',
  async () => {
    const model = await started('translation', await write('marian', { config: { max_position_embeddings: 12 } }));
    assert.equal(await call(model, 'the cat sees the cat'), translated('die katze sieht die katze'));
    const list = ['hello', 'the red cat'];
    const expected = ['hallo', 'die rot katze'].map(translated);
    assert.equal(await call(model, list), expected);
    assert.equal(await Promise.all(Array.from({ length: 6 }, () => call(model, list))), Array(6).fill(expected));
  },
);

Seq2Seq('summarization and image-to-text have their own results', async () => {
  const summaries = await started('summarization', await write('summaries', { config: { prefix: 'hello ' } }));
  assert.equal(await call(summaries, 'the cat'), [{ summary_text: 'hallo die katze' }]);
  const decoder = { ...HEADS, model_type: 'trocr', ...ENDS };
  const captions = await started(
    'image-to-text',
    await write('captions', {
      config: {
        ...{ model_type: 'vision-encoder-decoder', architectures: ['VisionEncoderDecoderModel'] },
        ...{ encoder: { model_type: 'vit' }, decoder },
      },
      encoder: IMAGE_ENCODER,
    }),
  );
  const red = await image([255, 0, 0]);
  const green = await image([0, 255, 0]);
  assert.equal(await call(captions, green), [{ generated_text: 'green' }]);
  assert.equal(await call(captions, [red, green]), [[{ generated_text: 'red' }], [{ generated_text: 'green' }]]);
  const text = await errorOf(call(captions, 'the cat'));
  assert.match(text.message, /inputs: image-to-text reads images/);
  const cut = await errorOf(call(captions, red, { truncation: true }));
  assert.match(cut.message, /truncation: is not an argument of image-to-text/);
});

Seq2Seq('languages of a model with several are needed, checked, and kept apart', async () => {
  const config = { model_type: 'm2m_100', architectures: ['M2M100ForConditionalGeneration'] };
  const nllb = await write('nllb', {
    config,
    tokenizer: { tokenizer_class: 'NllbTokenizer', additional_special_tokens: LANGUAGES },
  });
  const model = await started('translation', nllb, { generation_kwargs: { src_lang: 'eng_Latn' } });
  // The language to translate into is the first token of the answer, in the place of its first word.
  assert.equal(await call(model, 'the cat', { tgt_lang: 'deu_Latn' }), translated('katze'));
  const missing = await errorOf(call(model, 'the cat'));
  assert.match(missing.message, /tgt_lang: is missing; the languages of nllb are deu_Latn, eng_Latn/);
  const wrong = await errorOf(call(model, 'the cat', { tgt_lang: 'x'.repeat(64) }));
  assert.equal([wrong.name, wrong.kind], ['ValidationError', 'invalid-input']);
  assert.match(wrong.message, /tgt_lang: "x+" is no language of the model/);
});

Seq2Seq('bounds of answers are those of the call, the configuration and the model', async () => {
  const model = await started('translation', await write('bounds', { config: { max_position_embeddings: 8 } }), {
    generation_kwargs: { max_new_tokens: 2, truncation: null },
  });
  const text = 'the cat sees the cat';
  assert.equal(await call(model, text), translated('die katze'));
  assert.equal(await call(model, text, { max_new_tokens: null }), translated('die katze'));
  assert.equal(
    await call(model, text, { max_new_tokens: 3, num_beams: 1, do_sample: false }),
    translated('die katze sieht'),
  );
  const words = async (more: object): Promise<number> => {
    const [{ translation_text: answer }] = (await call(model, text, more)) as [{ translation_text: string }];
    return answer.split(' ').length;
  };
  assert.is(await words({ max_new_tokens: 4096, min_new_tokens: 4096 }), 8);
  const once = await call(model, 'the the cat', { max_new_tokens: 3, no_repeat_ngram_size: 1 });
  assert.equal(once, translated('die hello katze'));
});

Seq2Seq('texts that a model cannot read whole are refused before anything is computed, or cut', async () => {
  const model = await started('translation', await write('limited', { config: { max_position_embeddings: 6 } }));
  const long = 'the cat sees the cat sees the cat';
  for (const [inputs, name, place] of [
    [long, 'PromptTooLongException', /the text at index 0 has 9 tokens, the limit is 6; truncation: true/],
    [['the cat', long], 'PromptTooLongException', /the text at index 1/],
    ['', 'EmptyPrompt', /the text at index 0 is empty; limited/],
    [['the', ' \n\t'], 'EmptyPrompt', /index 1/],
    ['cat '.repeat(200_000), 'PromptTooLongException', /has 200001 tokens/],
  ] as const) {
    const error = await errorOf(call(model, inputs));
    assert.equal([error.name, error.kind], [name, 'bad-request']);
    assert.match(error.message, place);
  }
  assert.equal(await call(model, long, { truncation: true }), translated('die katze sieht die katze'));
});

Seq2Seq('wrong arguments are refused by name, and the model serves on', async () => {
  const model = await started('translation', await write('refusing', {}));
  for (const [args, place] of [
    [{ max_new_tokens: 1e9 }, /max_new_tokens/],
    [{ max_new_tokens: 0 }, /max_new_tokens/],
    [{ max_new_tokens: 2, min_new_tokens: 3 }, /min_new_tokens: 3 is more than max_new_tokens, which is 2/],
    [{ num_beams: 1e6 }, /num_beams: .*must be 1, because Transformers.js has no beam search/],
    [{ do_sample: true }, /do_sample: .*must be false/],
    [{ repetition_penalty: 0 }, /repetition_penalty/],
    [{ no_repeat_ngram_size: 1e9 }, /no_repeat_ngram_size/],
    [{ temperature: 1 }, /temperature/],
    [{ top_k: 1 }, /top_k: is not an argument of translation/],
    [{ tgt_lang: 'deu_Latn' }, /tgt_lang: refusing translates from one language into one other/],
    [{ logits_processor: [] }, /logits_processor/],
  ] as const) {
    const error = await errorOf(call(model, 'the cat', args));
    assert.equal([error.name, error.kind], ['ValidationError', 'invalid-input'], JSON.stringify(args));
    assert.match(error.message, place);
  }
  const broken = await errorOf(call(model, ['the cat', 'the broken cat']));
  assert.equal([broken.name, broken.kind], ['InferenceException', 'internal']);
  assert.match(broken.message, /it answers numbers that are not finite for inputs\.1/);
  assert.equal(await call(model, 'the cat'), translated('die katze'));
});

Seq2Seq('models without an encoder, and arguments of other tasks in the configuration, are refused', async () => {
  const whole = await errorOf(
    started('summarization', await write('whole', { config: { is_encoder_decoder: false } })),
  );
  assert.match(whole.message, /whole has no encoder and decoder/);
  const model = await write('other', {});
  const languages = { generation_kwargs: { tgt_lang: 'deu_Latn' } };
  assert.match((await errorOf(started('summarization', model, languages))).message, /tgt_lang: is not an argument of/);
  const foreign = await errorOf(started('text-classification', model, languages));
  assert.match(foreign.message, /generation_kwargs: .*is not a key of text-classification/);
  // What a model states about beams and samples is not used.
  const hostile = { num_beams: 1e9, do_sample: true, num_return_sequences: 1e9, max_length: 1e12 };
  const bold = await started('translation', await write('bold', { generation: hostile }));
  assert.equal(await call(bold, 'the cat'), translated('die katze'));
});

Seq2Seq('each token counts as progress, and an answer that nobody waits for ends', async () => {
  const { path: transformers } = await store.pull('transformers');
  const model = await PipelineModel.load({
    ...{ model_name: 'endless', task: 'translation', dtype: 'fp32', threads: 1, max_memory_bytes: 2 ** 40 },
    ...{ folder: await write('endless', {}), transformers_path: transformers },
  });
  try {
    const controller = new AbortController();
    const endless = { max_new_tokens: 1e9, min_new_tokens: 1e9 };
    const left = errorOf(model.ask({ args: ['the cat', endless] }, controller.signal), Error);
    while (model.thread.steps < 20) await new Promise(setImmediate);
    controller.abort(new Error('enough'));
    assert.is((await left).message, 'enough');
    const { signal } = new AbortController();
    const { result } = await model.ask({ args: ['the cat', { max_new_tokens: 5 }] }, signal);
    assert.equal(result, translated('die katze'));
  } finally {
    await model.thread.close();
  }
});

/** Returns an image with one colour. */
async function image(colour: readonly number[]): Promise<ImageReference> {
  const pixels = Buffer.from(Array.from({ length: 64 }, () => colour).flat());
  const sha256 = createHash('sha256').update(pixels).digest('hex');
  const path = join(folder, `${sha256}.rgb`);
  await writeFile(path, pixels);
  return { pixels: await artifactOf(tmpdir(), path, sha256), width: 8, height: 8 };
}

const offline = await unlessOffline(async () => {
  for (const id of ['onnxruntime', 'transformers']) await store.pull(id);
  return undefined;
});
if (typeof offline === 'string') skip('pipelines of Transformers.js that generate texts', offline);
else Seq2Seq.run();
