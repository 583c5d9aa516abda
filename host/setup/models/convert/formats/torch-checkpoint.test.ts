import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { makeZip } from '../../../packages/make-zip.test.fixture.ts';
import { messageOf } from '../../fixtures/message-of.ts';
import { readTorchCheckpoint } from './torch-checkpoint.ts';

const op = (code: number, ...rest: Buffer[]): Buffer => Buffer.concat([Buffer.of(code), ...rest]);
const text = (value: string): Buffer => {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(value.length);
  return op(0x58, length, Buffer.from(value));
};
const small = (value: number): Buffer => Buffer.of(0x4b, value);
const tuple = (...items: Buffer[]): Buffer => Buffer.concat([Buffer.from('('), ...items, Buffer.from('t')]);
const global = (module: string, name: string): Buffer => Buffer.from(`c${module}\n${name}\n`);
const table = (...pairs: (readonly [string, Buffer])[]): Buffer =>
  Buffer.concat([Buffer.from('}('), ...pairs.flatMap(([key, value]) => [text(key), value]), Buffer.from('u')]);
const pickle = (value: Buffer): Buffer => Buffer.concat([Buffer.of(0x80, 2), value, Buffer.from('.')]);

interface Layout {
  readonly type?: string;
  readonly offset?: number;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
}

/** Returns the pickle of a tensor in the storage `0`. */
function tensor({ type = 'FloatStorage', offset = 0, shape, strides }: Layout): Buffer {
  const storage = tuple(text('storage'), global('torch', type), text('0'), text('cpu'), small(6));
  const args = [Buffer.concat([storage, Buffer.from('Q')]), small(offset)];
  const sizes = [shape, strides].map((list) => tuple(...list.map(small)));
  const hooks = Buffer.concat([global('collections', 'OrderedDict'), Buffer.from(')R')]);
  return Buffer.concat([
    global('torch._utils', '_rebuild_tensor_v2'),
    tuple(...args, ...sizes, Buffer.of(0x89), hooks),
    Buffer.from('R'),
  ]);
}

const NUMBERS = Buffer.from(Float32Array.of(0, 1, 2, 3, 4, 5).buffer);

const Torch = suite<{ dir: string; file: string }>('readTorchCheckpoint');

Torch.before.each(async (context) => {
  context.dir = await mkdtemp(path.join(tmpdir(), 'aana-torch-'));
  context.file = path.join(context.dir, 'model.pt');
});
Torch.after.each(({ dir }) => rm(dir, { recursive: true, force: true }));

const write = (file: string, content: Buffer): Promise<void> =>
  writeFile(file, makeZip({ 'archive/data.pkl': pickle(content), 'archive/data/0': NUMBERS }));

Torch('reads tensors in row-major order, whatever the order of their axes in the file', async ({ file }) => {
  await write(
    file,
    table(
      ['rows', tensor({ shape: [2, 3], strides: [3, 1] })],
      ['columns', tensor({ shape: [3, 2], strides: [1, 3] })],
      ['part', tensor({ offset: 4, shape: [2], strides: [1] })],
      ['scalar', tensor({ offset: 3, shape: [], strides: [] })],
    ),
  );
  const weights = await readTorchCheckpoint(file);
  assert.equal([...(weights.get('rows')?.data ?? [])], [0, 1, 2, 3, 4, 5]);
  assert.equal([...(weights.get('columns')?.data ?? [])], [0, 3, 1, 4, 2, 5]);
  assert.equal([...(weights.get('part')?.data ?? [])], [4, 5]);
  assert.equal([...(weights.get('scalar')?.data ?? [])], [3]);
});

Torch('takes the tensors of a Lightning checkpoint, and calls none of its classes', async ({ file }) => {
  const evil = Buffer.concat([global('os', 'system'), tuple(text('touch /tmp/aana-pickle-ran')), Buffer.from('R')]);
  const state = table(
    ['weight', tensor({ shape: [1], strides: [1] })],
    ['steps', tensor({ type: 'LongStorage', shape: [1], strides: [1] })],
  );
  await write(file, table(['callbacks', evil], ['state_dict', state]));
  const weights = await readTorchCheckpoint(file);
  assert.equal([...weights.keys()], ['weight']);
});

for (const [what, content] of [
  ['a tensor that is longer than its data', table(['a', tensor({ shape: [7], strides: [1] })])],
  ['a tensor that is too large', table(['a', tensor({ shape: [255, 255, 255, 255], strides: [0, 0, 0, 0] })])],
  ['an operation that no checkpoint has', Buffer.from('I')],
  ['a value that was never made', Buffer.from('h\x05')],
  ['a list that ends before it begins', Buffer.from('t')],
  ['a list instead of tensors', Buffer.from(']')],
  ['a truncated pickle', Buffer.from('}(X\xff\x00\x00\x00a', 'latin1')],
] as const)
  Torch(`refuses ${what}`, async ({ file }) => {
    await write(file, content);
    assert.match(await messageOf(readTorchCheckpoint(file)), /model\.pt: it is truncated or not a PyTorch checkpoint/);
  });

Torch('refuses a truncated zip and another file', async ({ file }) => {
  const whole = makeZip({ 'archive/data.pkl': pickle(table()), 'archive/data/0': NUMBERS });
  for (const content of [whole.subarray(0, whole.length / 2), Buffer.from('no zip'), Buffer.alloc(0)]) {
    await writeFile(file, content);
    assert.match(await messageOf(readTorchCheckpoint(file)), /model\.pt: it is truncated or not a PyTorch checkpoint/);
  }
});

Torch.run();
