import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ggufHeader, ggufPair } from '../../../../native/lib/gguf.ts';
import { DamagedGguf, type GgufMetadata, GgufReader, type GgufTensorEntry } from './gguf.ts';

const Gguf = suite('headers of GGUF files');

const vocabulary = Array.from({ length: 20_000 }, (_, n) => `token ${n}`); // more than is read at once
const whole = ggufHeader(
  [
    ggufPair.text('general.architecture', 'llama'),
    ggufPair.uint16('general.file_type', 7),
    ggufPair.texts('tokenizer.ggml.tokens', vocabulary),
    ggufPair.float32s(
      'tokenizer.ggml.scores',
      Array.from({ length: 5000 }, () => 0.5),
    ),
    ggufPair.int32s('heads', [2, 0, 4]),
    ggufPair.float32('scale', 0.25),
    ggufPair.bool('causal', false),
  ],
  [
    { name: 'one', dimensions: [32, 4], type: 8, bytes: 136 },
    { name: 'two', dimensions: [3], type: 0, bytes: 12 },
  ],
);

async function read(
  bytes: Buffer,
  kept: readonly string[] = [],
): Promise<GgufMetadata & { readonly tensors: readonly GgufTensorEntry[] }> {
  const reader = new GgufReader(
    {
      bytes: bytes.length,
      read: async (offset, length) => {
        assert.ok(offset + length <= bytes.length, 'nothing is read beyond the end');
        return bytes.subarray(offset, offset + length);
      },
    },
    kept,
  );
  const metadata = await reader.metadata();
  const tensors: GgufTensorEntry[] = [];
  for (let index = 0; index < metadata.tensorCount; index += 1) tensors.push(await reader.tensor());
  return { ...metadata, tensors };
}

/** Returns the message of the reader, or undefined when it has read all. */
const damageOf = (bytes: Buffer): Promise<string | undefined> =>
  read(bytes).then(
    () => undefined,
    (error: unknown) => {
      assert.instance(error, DamagedGguf);
      return (error as DamagedGguf).message;
    },
  );

Gguf('are read with numbers, texts, short arrays of numbers, and the lengths of vocabularies', async () => {
  const { values, tensors } = await read(whole);
  assert.equal(Object.fromEntries(values), {
    ...{ 'general.architecture': 'llama', 'general.file_type': 7, 'tokenizer.ggml.tokens': 20_000 },
    ...{ heads: [2, 0, 4], scale: 0.25, causal: 0 },
  });
  assert.equal(tensors, [
    { name: 'one', dimensions: [32, 4], weights: 128, type: 8, offset: 0 },
    { name: 'two', dimensions: [3], weights: 3, type: 0, offset: 160 },
  ]);
});

Gguf('are read with the arrays that the caller wants', async () => {
  const { values, arrays } = await read(whole, ['tokenizer.ggml.tokens', 'tokenizer.ggml.scores', 'scale', 'none']);
  assert.equal([...arrays.keys()], ['tokenizer.ggml.tokens', 'tokenizer.ggml.scores']);
  assert.equal(arrays.get('tokenizer.ggml.tokens'), vocabulary);
  assert.is(arrays.get('tokenizer.ggml.scores')?.length, 5000);
  assert.is(values.get('tokenizer.ggml.tokens'), 20_000);
});

Gguf('that end early are damaged, wherever they end', async () => {
  const small = ggufHeader(
    [ggufPair.text('a', 'b'), ggufPair.texts('c', ['d', 'e'])],
    [{ name: 'one', dimensions: [3], type: 0, bytes: 12 }],
  );
  assert.is(await damageOf(small), undefined);
  const end = small.lastIndexOf('one') + 'one'.length + 4 + 8 + 4 + 8;
  for (let length = 0; length < end; length += 1)
    assert.ok(await damageOf(small.subarray(0, length)), `cut after ${length} bytes`);
});

Gguf('with a byte that differs are read or are damaged', async () => {
  const head = whole.subarray(0, 200);
  for (let at = 0; at < head.length; at += 1)
    for (const flipped of [0xff, 0x80, 0x01]) {
      const changed = Buffer.from(whole);
      changed[at]! ^= flipped;
      await damageOf(changed);
    }
});

const LIES: readonly (readonly [what: string, at: number, value: bigint, message: RegExp])[] = [
  ['2^63 tensors', 8, 2n ** 63n, /a count in its header is damaged/],
  ['2^40 pairs', 16, 2n ** 40n, /a count in its header is damaged/],
  ['a key of 2^33 bytes', 24, 2n ** 33n, /a count in its header is damaged/],
  ['a key of 9,000,000 bytes', 24, 9_000_000n, /the file is truncated: 9000032 bytes are needed/],
  ['another version', 0, BigInt(0x46554747) + (9n << 32n), /GGUF version 9 is not supported/],
  ['another magic', 0, 0n, /this is not a GGUF file/],
];
for (const [what, at, value, message] of LIES)
  Gguf(`with ${what} are damaged`, async () => {
    const changed = Buffer.from(whole);
    changed.writeBigUInt64LE(value, at);
    assert.match((await damageOf(changed)) ?? '', message);
  });

Gguf('with arrays of arrays are read to a depth that costs nothing', async () => {
  const nested = (depth: number): Buffer => {
    const arrays = Array.from({ length: depth }, () => [9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]).flat();
    const key = ggufPair.uint32('k', 0).subarray(0, 9);
    return ggufHeader(
      [Buffer.concat([key, Buffer.from([9, 0, 0, 0, ...arrays, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])])],
      [],
    );
  };
  assert.is(await damageOf(nested(2)), undefined);
  assert.match((await damageOf(nested(1000))) ?? '', /its metadata is damaged/);
});

Gguf.run();
