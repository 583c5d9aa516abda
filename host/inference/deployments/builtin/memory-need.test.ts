import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { loadConfig } from '../../../base/config/index.ts';
import { LLAMA_VERSION } from '../../../setup/native-build/pins.ts';
import { readGgufHeader } from './gguf-header.ts';
import {
  embeddingMemory,
  llamaMemory,
  type LlamaMemorySettings,
  sumOfNeeds,
  whisperMemory,
  WINDOW_PERIODS,
} from './memory-need.ts';

const Memory = suite('counting memory from model files');

const folder = mkdtempSync(join(tmpdir(), 'aana-memory-'));
Memory.after(() => rmSync(folder, { recursive: true }));

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};
const uint64 = (value: number): Buffer => Buffer.concat([uint32(value), uint32(0)]);
const text = (value: string): Buffer => Buffer.concat([uint64(Buffer.byteLength(value)), Buffer.from(value)]);
const numbers = (values: readonly number[]): Buffer =>
  Buffer.concat([uint32(4), uint64(values.length), ...values.map(uint32)]);
const texts = (values: readonly string[]): Buffer =>
  Buffer.concat([uint32(8), uint64(values.length), ...values.map(text)]);

/** Writes a GGUF file with this metadata and `weights` bytes after it. */
function ggufFile(
  name: string,
  metadata: Record<string, string | number | readonly number[] | readonly string[]>,
  weights = 1000,
): string {
  const pairs = Object.entries(metadata).map(([key, value]) => {
    if (typeof value === 'string') return Buffer.concat([text(key), uint32(8), text(value)]);
    if (typeof value === 'number') return Buffer.concat([text(key), uint32(4), uint32(value)]);
    const isText = typeof value[0] === 'string';
    return Buffer.concat([text(key), uint32(9), isText ? texts(value as string[]) : numbers(value as number[])]);
  });
  const path = join(folder, name);
  writeFileSync(
    path,
    Buffer.concat([Buffer.from('GGUF'), uint32(3), uint64(0), uint64(pairs.length), ...pairs, Buffer.alloc(weights)]),
  );
  return path;
}

const SMALL = {
  'general.architecture': 'llama',
  'tokenizer.ggml.tokens': Array.from({ length: 200_000 }, (_, n) => `token ${n}`), // some megabytes
  'llama.block_count': 10,
  'llama.context_length': 2048,
  'llama.embedding_length': 512,
  'llama.attention.head_count': 8,
  'llama.attention.head_count_kv': 2,
};
const SETTINGS: LlamaMemorySettings = {
  contextTokens: 1000,
  sequences: 4,
  keyType: 'f16',
  valueType: 'f16',
  gpuLayers: -1,
};
/** Context bytes of 10 layers with 2 heads, 64 numbers each for key and value, 2 bytes per number. */
const BYTES_PER_TOKEN = 10 * 2 * (64 + 64) * 2;

/** Sets the value of a number in a written header. */
function setNumber(path: string, key: string, bytesOf: (bytes: Buffer, at: number) => void): void {
  const bytes = readFileSync(path);
  bytesOf(bytes, bytes.indexOf(text(key)) + text(key).length);
  writeFileSync(path, bytes);
}

Memory('counts entries of a header that are no counts as 0', async () => {
  for (const key of Object.keys(SMALL).filter((name) => name.startsWith('llama.')))
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, -5, -3e38, 0.5]) {
      const path = ggufFile('odd.gguf', { ...SMALL, 'llama.attention.sliding_window': 32, [key]: 0 });
      const settings = { ...SETTINGS, passTokens: 512, contextTokens: 0, gpuLayers: 4 };
      const [wanted, ofTexts] = [
        await llamaMemory(path, settings),
        { contextTokens: 0, batchTokens: 512, gpuLayers: 4 },
      ];
      const wantedOfTexts = await embeddingMemory(path, ofTexts);
      setNumber(path, key, (bytes, at) => bytes.writeFloatLE(value, bytes.writeUInt32LE(6, at)));
      assert.equal(await llamaMemory(path, settings), wanted, `${key} ${value}`);
      assert.equal(await embeddingMemory(path, ofTexts), wantedOfTexts, `${key} ${value}`);
    }
});

Memory('counts the tokens that all sequences share, at least those of one and at most those of all', async () => {
  const path = ggufFile('shared.gguf', SMALL);
  const tokensWith = async (totalTokens: number): Promise<number> =>
    (await llamaMemory(path, { ...SETTINGS, totalTokens })).contextBytes / BYTES_PER_TOKEN;
  assert.equal(await Promise.all([0, 10, 2500, 9000].map(tokensWith)), [4000, 1000, 2500, 4000]);
});

Memory('counts weights, and the keys and values of all sequences', async () => {
  const path = ggufFile('small.gguf', SMALL);
  const need = await llamaMemory(path, SETTINGS);
  assert.is(need.contextBytes, BYTES_PER_TOKEN * 4000);
  assert.ok(need.weightsBytes > 1000);
});

Memory('counts the weights of all parts of a split model', async () => {
  const first = ggufFile('m-00001-of-00002.gguf', SMALL);
  const other = ggufFile('m-00002-of-00002.gguf', {}, 5000);
  const { weightsBytes, contextBytes } = await llamaMemory(first, SETTINGS);
  assert.is(weightsBytes, readFileSync(first).length + readFileSync(other).length);
  assert.is(contextBytes, BYTES_PER_TOKEN * 4000);
});

/** Every second layer has a window of 200 tokens. */
const WINDOWED = { 'llama.attention.sliding_window': 200, 'llama.attention.sliding_window_pattern': 2 };

const CASES: readonly (readonly [
  what: string,
  metadata: Record<string, number | readonly number[]>,
  settings: Partial<LlamaMemorySettings>,
  contextBytes: number,
])[] = [
  ['the trained context where none is given', {}, { contextTokens: 0 }, BYTES_PER_TOKEN * 2048 * 4],
  ['no more than the trained context', {}, { contextTokens: 100_000 }, BYTES_PER_TOKEN * 2048 * 4],
  [
    'more where positions are scaled',
    {},
    {
      contextTokens: 5000,
      ropeScaling: { type: 'yarn', factor: 4, originalTokens: 2048, betaFast: 32, betaSlow: 1 },
    },
    BYTES_PER_TOKEN * 5000 * 4,
  ],
  ['34 bytes for 32 numbers as q8_0', {}, { keyType: 'q8_0', valueType: 'q8_0' }, (BYTES_PER_TOKEN * 4000 * 17) / 32],
  ['keys and values of other types', {}, { keyType: 'q8_0', valueType: 'q4_0' }, 10 * 2 * (68 + 36) * 4000],
  [
    'heads of a size of their own',
    { 'llama.attention.key_length': 128, 'llama.attention.value_length': 96 },
    {},
    10 * 2 * (128 + 96) * 2 * 4000,
  ],
  [
    'heads that differ from layer to layer',
    { 'llama.attention.head_count_kv': [2, 0, 0, 4, 0, 0, 0, 0, 0, 0] },
    {},
    6 * 128 * 2 * 4000,
  ],
  ['all tokens of layers with a window that keep them', WINDOWED, {}, BYTES_PER_TOKEN * 4000],
  ['the windows of layers that keep no more', WINDOWED, { passTokens: 512 }, 256 * 2 * (5 * 4000 + 5 * 4 * 768)],
  [
    'no more than all tokens where the windows have more',
    { ...WINDOWED, 'llama.attention.sliding_window': 900 },
    { passTokens: 512 },
    BYTES_PER_TOKEN * 4000,
  ],
  [
    'windows of layers that the file names one by one',
    { ...WINDOWED, 'llama.attention.sliding_window_pattern': [1, 1, 1, 1, 0, 1, 1, 1, 1, 0] },
    { passTokens: 512 },
    256 * 2 * (2 * 4000 + 8 * 4 * 768),
  ],
  [
    'all tokens where no layer is said to have a window',
    { 'llama.attention.sliding_window': 200 },
    { passTokens: 512 },
    BYTES_PER_TOKEN * 4000,
  ],
  ['a file with more layers than there are', { 'llama.block_count': 2 ** 32 - 1 }, {}, 1024 * 2 * 128 * 2 * 4000],
  ['each nth layer of a hybrid model', { 'llama.full_attention_interval': 4 }, {}, 2 * 2 * 128 * 2 * 4000],
  ['layers on the GPU alone', {}, { gpuLayers: 5 }, (BYTES_PER_TOKEN * 4000) / 2],
];
for (const [what, metadata, settings, contextBytes] of CASES) {
  Memory(`counts ${what}`, async () => {
    const path = ggufFile('case.gguf', { ...SMALL, 'tokenizer.ggml.tokens': ['a'], ...metadata });
    assert.is((await llamaMemory(path, { ...SETTINGS, ...settings })).contextBytes, contextBytes);
  });
}

Memory('counts windows of an architecture whose files do not say which layers have one', async () => {
  const gemma = Object.entries({ ...SMALL, 'llama.attention.sliding_window': 200 });
  const metadata = Object.fromEntries(gemma.map(([key, value]) => [key.replace('llama.', 'gemma3.'), value]));
  const path = ggufFile('gemma3.gguf', { ...metadata, 'general.architecture': 'gemma3' });
  const { contextBytes } = await llamaMemory(path, { ...SETTINGS, passTokens: 512 });
  assert.is(contextBytes, 256 * 2 * (4000 + 9 * 4 * 768)); // each sixth layer has none
});

const models = join(loadConfig().cache_dir, 'native', `llama.cpp-${LLAMA_VERSION}`, 'src', 'models');
if (existsSync(models))
  Memory('the layers without windows are those of llama.cpp', () => {
    const names: Readonly<Record<string, string>> = { 'gpt-oss': 'openai-moe' };
    for (const [architecture, period] of Object.entries(WINDOW_PERIODS)) {
      const source = readFileSync(join(models, `${names[architecture] ?? architecture}.cpp`), 'utf8');
      const arguments_ = /\bload_swa_pattern\(([^)]*)\)/.exec(source)?.[1];
      assert.is(arguments_, `ml, ${period}`, architecture);
    }
  });
else process.stdout.write(`SKIP the layers without windows are those of llama.cpp: ${models} is not there\n`);

Memory('counts a draft model besides the model', () => {
  const [model, draft] = [
    { weightsBytes: 10, contextBytes: 5, parts: [1, 3] },
    { weightsBytes: 2, contextBytes: 1, parts: [1, 3] },
  ];
  assert.equal(sumOfNeeds(model, draft), { weightsBytes: 12, contextBytes: 6, parts: [1, 3] });
});

Memory('counts only the size of a file that is damaged or not a GGUF file', async () => {
  const whole = ggufFile('whole.gguf', SMALL);
  const cut = join(folder, 'cut.gguf');
  writeFileSync(cut, readFileSync(whole).subarray(0, 1_500_000));
  assert.equal(await llamaMemory(cut, SETTINGS), { weightsBytes: 1_500_000, contextBytes: 0 });
  const other = join(folder, 'other.bin');
  writeFileSync(other, Buffer.alloc(5000, 1));
  assert.equal(await llamaMemory(other, SETTINGS), { weightsBytes: 5000, contextBytes: 0 });
  writeFileSync(other, Buffer.from('GG'));
  assert.is(await readGgufHeader(other), undefined);
});

Memory('counts the outputs of one computation of a model for embeddings', async () => {
  const settings = { contextTokens: 1000, batchTokens: 512, gpuLayers: -1 };
  const sizes = { ...SMALL, 'llama.feed_forward_length': 1024 };
  const activations = 4 * 512 + 2 * 1024;
  // A causal model reads a text in parts, keeps the keys and values of one, and has the logits of each token twice.
  const causal = ggufFile('causal.gguf', sizes);
  assert.is(
    (await embeddingMemory(causal, settings)).contextBytes,
    BYTES_PER_TOKEN * 1000 + 512 * 4 * (activations + 2 * 200_000),
  );
  const whole = ggufFile('whole-text.gguf', { ...sizes, 'llama.attention.causal': 0 });
  assert.is((await embeddingMemory(whole, settings)).contextBytes, 1000 * 4 * (activations + 512));
});

Memory('counts the memory of a Whisper model for each window', async () => {
  const path = join(folder, 'whisper.bin');
  const header = [0x67676d6c, 51865, 1500, 512, 8, 6, 448, 512, 8, 6, 80, 7].map(uint32);
  writeFileSync(path, Buffer.concat([...header, Buffer.alloc(100)]));
  assert.equal(await whisperMemory(path, 2, 8), { weightsBytes: 148, contextBytes: 2 * 8 * 4 * 6 * 512 * 1948 });
  writeFileSync(path, Buffer.alloc(20));
  assert.equal(await whisperMemory(path, 2, 8), { weightsBytes: 20, contextBytes: 0 });
});

Memory.run();
