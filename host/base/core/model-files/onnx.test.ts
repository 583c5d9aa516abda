import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import {
  attribute,
  externalTensor,
  type Graph,
  makeOnnx,
  type Value,
} from '../../../inference/engines/onnx/fixtures/make-onnx.ts';
import { field, int, message } from '../../../setup/models/convert/formats/onnx-writer.ts';
import { DamagedOnnx, readExternalFiles } from './onnx.ts';

const External = suite('readExternalFiles');

/** Reads the bytes as a file. Counts what it reads. */
async function read(bytes: Buffer): Promise<{ readonly files: readonly string[]; readonly bytesRead: number }> {
  let bytesRead = 0;
  const files = await readExternalFiles({
    bytes: bytes.length,
    async read(offset, length) {
      assert.ok(offset >= 0 && length >= 0 && offset + length <= bytes.length, `${offset} + ${length}`);
      bytesRead += length;
      return bytes.subarray(offset, offset + length);
    },
  });
  return { files, bytesRead };
}

const value = (name: string): Value => ({ name, type: 'float32', shape: [1] });
const outside = (name: string): Buffer => externalTensor(name, [1], `${name}.bin`);

/** A graph whose tensors lie in a file each, on every way on which a model can have one. */
const inner: Graph = { nodes: [], outputs: [value('y')], tensors: [outside('branch')] };
const nested: Graph = {
  nodes: [
    { operator: 'If', inputs: ['c'], outputs: ['y'], attributes: [attribute.graph('then_branch', inner)] },
    { operator: 'Constant', outputs: ['k'], attributes: [attribute.tensor('value', outside('constant'))] },
  ],
  outputs: [value('y')],
  tensors: [outside('first'), outside('first')],
};
const node = (content: Buffer): Buffer => message(7, [message(5, [field(1, 'value'), field(5, content)])]);
const everything = Buffer.concat([
  makeOnnx(nested),
  message(25, [field(1, 'function'), node(outside('function'))]),
  message(20, [message(1, [field(5, outside('training'))])]),
  message(7, [message(15, [field(1, outside('sparse')), field(2, outside('indices'))])]),
]);
const NAMES = ['branch', 'constant', 'first', 'function', 'training', 'sparse', 'indices'].map((name) => `${name}.bin`);

External('finds the files of tensors wherever a model has them, each once', async () => {
  const { files } = await read(everything);
  assert.equal(files.toSorted(), NAMES.toSorted());
  assert.equal((await read(makeOnnx({ nodes: [], outputs: [value('y')] }))).files, []);
});

External('skips the bytes of tensors', async () => {
  const large = Buffer.concat([makeOnnx(nested), message(7, [message(5, [field(9, Buffer.alloc(50_000_000))])])]);
  const { files, bytesRead } = await read(large);
  assert.is(files.length, 3);
  assert.ok(bytesRead < 1_000_000, `${bytesRead} bytes are read`);
});

External('a file that is cut or changed anywhere is read to its end or refused', async () => {
  for (let length = 0; length < everything.length; length += 1) {
    const error = await read(everything.subarray(0, length)).catch((thrown: unknown) => thrown);
    if (error instanceof Error) assert.instance(error, DamagedOnnx, `${length} bytes: ${error.stack}`);
  }
  for (let at = 0; at < everything.length; at += 1)
    for (const byte of [0, 0x7f, 0x80, 0xff]) {
      const changed = Buffer.from(everything);
      changed[at] = byte;
      const error = await read(changed).catch((thrown: unknown) => thrown);
      if (error instanceof Error) assert.instance(error, DamagedOnnx, `byte ${at} as ${byte}: ${error.stack}`);
    }
});

External('graphs that are nested too deep and names that are too long are refused', async () => {
  let graph: Graph = inner;
  for (let depth = 0; depth < 50; depth += 1)
    graph = {
      nodes: [{ operator: 'If', inputs: ['c'], outputs: ['y'], attributes: [attribute.graph('then_branch', graph)] }],
      outputs: [value('y')],
    };
  const reasonOf = (bytes: Buffer): Promise<string> =>
    read(bytes).then(
      () => 'none',
      (error: Error) => error.message,
    );
  assert.match(await reasonOf(makeOnnx(graph)), /nested more than 100 levels deep/);
  const long = externalTensor('w', [1], 'x'.repeat(5000));
  assert.match(await reasonOf(makeOnnx({ ...inner, tensors: [long] })), /names a file with more than 4096 bytes/);
  assert.match(await reasonOf(Buffer.concat([int(1, 8), Buffer.from('7')])), /not an ONNX model/);
});

External.run();
