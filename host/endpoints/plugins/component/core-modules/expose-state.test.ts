import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { exposeState } from './expose-state.ts';

const header = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
const i32 = 0x7f;
const f64 = 0x7c;
const section = (id: number, ...body: number[]): number[] => [id, body.length, ...body];
const name = (text: string): number[] => [text.length, ...Buffer.from(text)];

const memory = section(5, 1, 0, 1);
/** A variable 5, a constant 6, and a variable with a number of 8 bytes. */
const globals = section(
  6,
  3,
  i32,
  1,
  0x41,
  5,
  0x0b,
  i32,
  0,
  0x41,
  6,
  0x0b,
  f64,
  1,
  0x44,
  0,
  0,
  0,
  0,
  0,
  0,
  0xf8,
  0x3f,
  0x0b,
);

const exportsOf = (
  bytes: Uint8Array<ArrayBuffer>,
  imports: Record<string, unknown> = {},
): WebAssembly.Instance['exports'] =>
  new WebAssembly.Instance(new WebAssembly.Module(exposeState(bytes)), imports).exports;
const valueOf = (exported: unknown): unknown => {
  assert.instance(exported, WebAssembly.Global);
  return (exported as WebAssembly.Global).value;
};

const ExposeState = suite('exposeState');

ExposeState('what a module keeps to itself is exported, constants are not', () => {
  const exports = exportsOf(Uint8Array.of(...header, ...memory, ...globals));
  assert.equal(Object.keys(exports), ['aana:memory:0', 'aana:global:0', 'aana:global:2']);
  assert.instance(exports['aana:memory:0'], WebAssembly.Memory);
  assert.equal([valueOf(exports['aana:global:0']), valueOf(exports['aana:global:2'])], [5, 1.5]);
});

ExposeState("a module's own exports stay, and are of the same state", () => {
  const exports = exportsOf(
    Uint8Array.of(...header, ...memory, ...globals, ...section(7, 2, ...name('m'), 2, 0, ...name('g'), 3, 0)),
  );
  assert.equal(Object.keys(exports), ['m', 'g', 'aana:memory:0', 'aana:global:0', 'aana:global:2']);
  assert.is(exports['aana:memory:0'], exports['m']);
  (exports['g'] as WebAssembly.Global).value = 8;
  assert.is(valueOf(exports['aana:global:0']), 8);
});

ExposeState('imports count in the numbers of what a module defines', () => {
  const imports = section(
    2,
    3,
    ...name('h'),
    ...name('f'),
    0,
    0,
    ...name('h'),
    ...name('m'),
    2,
    1,
    1,
    2,
    ...name('h'),
    ...name('g'),
    3,
    i32,
    0,
  );
  const types = section(1, 1, 0x60, 0, 0);
  const exports = exportsOf(Uint8Array.of(...header, ...types, ...imports, ...globals), {
    h: {
      f: () => {},
      m: new WebAssembly.Memory({ initial: 1, maximum: 2 }),
      g: new WebAssembly.Global({ value: 'i32' }, 9),
    },
  });
  assert.equal(Object.keys(exports), ['aana:global:1', 'aana:global:3']);
  assert.is(valueOf(exports['aana:global:1']), 5);
});

ExposeState('exports that were not there stand before the code', () => {
  const start = section(10, 1, 6, 0, 0x41, 7, 0x24, 0, 0x0b); // sets the first variable to 7
  const bytes = Uint8Array.of(
    ...header,
    ...section(1, 1, 0x60, 0, 0),
    ...section(3, 1, 0),
    ...globals,
    ...section(8, 0),
    ...start,
  );
  assert.is(valueOf(exportsOf(bytes)['aana:global:0']), 7);
});

ExposeState('a module without state is left as it is', () => {
  const bytes = Uint8Array.of(...header);
  assert.is(exposeState(bytes), bytes);
});

ExposeState('a module that ends within a section is refused', () => {
  assert.throws(() => exposeState(Uint8Array.of(...header, 6, 9, 1, i32, 1, 0x44, 0)), RangeError);
});

ExposeState.run();
