import { parse } from '@bytecodealliance/jco-transpile/wasm-tools';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { hiddenState } from './hidden-state.ts';

const stateOf = async (text: string): Promise<string | undefined> => hiddenState(await parse(`(module ${text})`));

const Hidden = suite('hiddenState');

/** Modules by the instruction that hides state. */
const hiding: Readonly<Record<string, string>> = {
  'table.set': '(table $t 1 funcref) (func (table.set $t (i32.const 0) (ref.null func)))',
  'table.grow': '(table $t 1 funcref) (func (drop (table.grow $t (ref.null func) (i32.const 1))))',
  'table.fill': '(table $t 1 funcref) (func (table.fill $t (i32.const 0) (ref.null func) (i32.const 1)))',
  'table.copy': '(table $t 2 funcref) (func (table.copy $t $t (i32.const 0) (i32.const 1) (i32.const 1)))',
  'table.init':
    '(table $t 1 funcref) (elem $e func 0) (func (table.init $t $e (i32.const 0) (i32.const 0) (i32.const 1)))',
  'elem.drop': '(elem $e func 0) (func (elem.drop $e))',
  'data.drop': '(memory 1) (data $d "x") (func (data.drop $d))',
  'a variable of type 0x7b': '(global (mut v128) (v128.const i32x4 0 0 0 0))',
  'a variable of type 0x69': '(global (mut exnref) (ref.null exn))',
};
for (const [what, text] of Object.entries(hiding))
  Hidden(`${what} is found`, async () => assert.is(await stateOf(text), what));

Hidden('numbers, functions, memories and tables that nothing writes to hide nothing', async () => {
  const text = `(memory 1) (table 1 funcref) (data "x") (elem (i32.const 0) func 0) (global (mut i32) (i32.const 1)) (global (mut funcref) (ref.null func)) (global v128 (v128.const i32x4 0 0 0 0))
    (func (drop (memory.grow (i32.const 1))) (memory.fill (i32.const 0) (i32.const 0) (i32.const 1)) (i64.store (i32.const 0) (i64.const 0xfc0e26)))`;
  assert.is(await stateOf(text), undefined);
});

const refused: readonly { readonly what: string; readonly text: string; readonly reason: RegExp }[] = [
  {
    what: 'an object',
    text: '(type $s (struct)) (func (drop (struct.new $s)))',
    reason: /objects of the garbage collector, whose memory has no limit/,
  },
  {
    what: 'an array of a garbage collector',
    text: '(type $a (array i8)) (func (drop (array.new_default $a (i32.const 9))))',
    reason: /objects of the garbage collector/,
  },
  {
    what: 'an exception with a reference',
    text: '(tag (param i32 externref))',
    reason: /exceptions that carry references/,
  },
];
for (const { what, text, reason } of refused)
  Hidden(`${what} is refused`, async () =>
    assert.is(await stateOf(text).catch((error: Error) => reason.test(error.message)), true),
  );

Hidden('an exception with numbers is none', async () => assert.is(await stateOf('(tag (param i32 i64))'), undefined));

Hidden.run();
