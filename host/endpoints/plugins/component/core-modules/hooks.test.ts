import { on } from 'node:events';
import { readFile } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import { parse } from '@bytecodealliance/jco-transpile/wasm-tools';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { skip } from '../../../../test/skip.ts';
import { newControl } from '../../invocation/protocol.ts';
import { InstanceMemory, PluginMemory } from '../../guest/instance-memory.ts';
import { addHooks, hookModule, type Hooks, stopCell } from './hooks.ts';
import { importMemories } from './import-memories.ts';

interface Instance {
  readonly exports: Record<string, (...args: unknown[]) => unknown>;
  /** How often it asked whether it is over. */
  looks(): number;
}

/**
 * Returns an instance of a module in the text format. `isOver` gets the number of its calls and returns whether the
 * guest must end.
 */
async function instance(
  text: string,
  isOver: (looks: number) => boolean = () => false,
  grow: Hooks['grow'] = (delta) => delta,
): Promise<Instance> {
  let looks = 0;
  const hooks: Hooks = { isOver: () => Number(isOver(++looks)), grow };
  const module = new WebAssembly.Module(
    addHooks(new Uint8Array(await parse(`(module ${text})`)), { interrupts: 'calls' }),
  );
  const { exports } = new WebAssembly.Instance(module, {
    [hookModule]: hooks,
    host: { double: (value: number) => 2 * value },
  });
  return { exports: exports as Instance['exports'], looks: () => looks };
}

const trapsOf = (fn: () => unknown): string => {
  try {
    return `no trap, but ${String(fn())}`;
  } catch (error) {
    return error instanceof WebAssembly.RuntimeError ? error.message : String(error);
  }
};

const Hooked = suite('addHooks');

/** Code that never comes to its end, however it goes about it. */
const endless: Readonly<Record<string, string>> = {
  'an empty loop': '(func (export "go") (loop $l (br $l)))',
  'a loop in a loop': '(func (export "go") (loop $a (loop $b (br_if $b (i32.const 0))) (br $a)))',
  'a loop that calls a loop':
    '(func $f (local $n i32) (loop $l (local.set $n (i32.add (local.get $n) (i32.const 1))) (br_if $l (i32.lt_u ' +
    '(local.get $n) (i32.const 3))))) (func (export "go") (loop $l (call $f) (br $l)))',
  'calls of calls without a loop': `${Array.from(
    { length: 60 },
    (_, n) => `(func $f${n} ${n === 0 ? '' : `(call $f${n - 1}) (call $f${n - 1})`})`,
  ).join('')} (func (export "go") (call $f59))`,
  'calls through a table': `(type $t (func)) ${Array.from(
    { length: 60 },
    (_, n) =>
      `(func $f${n} ` +
      `${
        n === 0 ? '' : `(call_indirect (type $t) (i32.const ${n - 1})) (call_indirect (type $t) (i32.const ${n - 1}))`
      })`,
  ).join('')}
    (table funcref (elem ${Array.from({ length: 60 }, (_, n) => `$f${n}`).join(' ')})) (func (export "go") (call_indirect (type $t) (i32.const 59)))`,
  'tail calls': '(func $f (export "go") (return_call $f))',
  'exceptions that are caught':
    '(tag $e) (func (export "go") (loop $l (block $b (try_table (catch_all $b) (throw $e))) (br $l)))',
};
/** Instantiates a module whose hooks read the cell, and calls `go`. Returns the outcome. */
const thread = `const { parentPort, workerData: { module, cell } } = require('node:worker_threads');
try {
  const { exports } = new WebAssembly.Instance(module, { '${hookModule}': { cell, grow: (delta) => delta } });
  parentPort.postMessage('running');
  exports.go();
  parentPort.postMessage('it returned');
} catch (error) {
  parentPort.postMessage(String(error));
}`;

for (const [what, text] of Object.entries(endless)) {
  Hooked(`${what} ends when the host says so`, async () => {
    const hooked = await instance(text, (looks) => looks === 5).catch((error: unknown) => error);
    if (hooked instanceof WebAssembly.CompileError) return skip(what, 'this Node does not know the instructions');
    assert.match(trapsOf((hooked as Instance).exports['go']!), /unreachable/);
  });

  Hooked(`${what} ends when another thread says so`, async () => {
    const code = importMemories(addHooks(new Uint8Array(await parse(`(module ${text})`)), { interrupts: 'cell' }));
    if (!WebAssembly.validate(code)) return skip(what, 'this Node does not know the instructions');
    const cell = newControl();
    const worker = new Worker(thread, { eval: true, workerData: { module: new WebAssembly.Module(code), cell } });
    const said = on(worker, 'message');
    assert.equal((await said.next()).value, ['running']);
    Atomics.add(new Int32Array(cell.buffer), stopCell, 1);
    assert.match(String((await said.next()).value), /unreachable/);
    await worker.terminate();
  });
}

Hooked('a guest cannot catch its end', async () => {
  const hooked = await instance(
    '(func (export "go") (result i32) (block $b (try_table (catch_all $b) (loop $l (br $l)))) (i32.const 7))',
    () => true,
  ).catch((error: unknown) => error);
  if (hooked instanceof WebAssembly.CompileError) return skip('exceptions', 'this Node does not know the instructions');
  assert.match(trapsOf((hooked as Instance).exports['go']!), /unreachable/);
});

Hooked('a function that starts with the instance ends, too', async () => {
  const error = await instance('(func $s (loop $l (br $l))) (start $s)', (looks) => looks === 3).catch(
    (thrown: unknown) => thrown,
  );
  assert.instance(error, WebAssembly.RuntimeError);
});

Hooked('long code without a branch, and long copies, look as well', async () => {
  const code = Array.from({ length: 40_000 }, () => '(local.set $n (i32.add (local.get $n) (i32.const 1)))').join('');
  const straight = await instance(
    `(func (export "go") (param $n i32) (result i32) ${code} (local.get $n)) (func (export "again") (loop $l (drop ` +
      `(call 0 (i32.const 0))) (br $l)))`,
    (looks) => looks === 2,
  );
  assert.is(straight.exports['go']!(2), 40_002);
  assert.match(trapsOf(straight.exports['again']!), /unreachable/);
  const filling = await instance(
    '(memory 16) (func (export "go") (memory.fill (i32.const 0) (i32.const 1) (i32.const 1000000)))',
  );
  filling.exports['go']!();
  assert.is(filling.looks(), 1);
});

Hooked('numbers of functions are right wherever they stand', async () => {
  const { exports } = await instance(`
    (import "host" "double" (func $double (param i32) (result i32)))
    (type $f (func (param i32) (result i32)))
    (table $t 4 funcref) (global $g (mut funcref) (ref.func $plus)) (global $started (export "started") (mut i32) (i32.const 0))
    (elem (i32.const 0) $plus $double) (elem $passive func $times) (elem declare func $times) (elem (table $t) (i32.const 3) funcref (ref.func $times))
    (func $plus (export "plus") (param i32) (result i32) (i32.add (local.get 0) (i32.const 1)))
    (func $times (param i32) (result i32) (i32.mul (local.get 0) (i32.const 10)))
    (func $start (global.set $started (call $plus (i32.const 4)))) (start $start)
    (func (export "each") (param $n i32) (result i32)
      (table.init $t $passive (i32.const 2) (i32.const 0) (i32.const 1))
      (table.set $t (i32.const 1) (global.get $g))
      (call $double (call_indirect $t (type $f) (i32.const 7) (local.get $n))))
    (export "double" (func $double))`);
  assert.is((exports['started'] as unknown as WebAssembly.Global).value, 5);
  assert.equal(
    [0, 1, 2, 3].map((n) => exports['each']!(n)),
    [16, 16, 140, 140],
  );
  assert.equal([exports['plus']!(1), exports['double']!(4)], [2, 8]);
});

Hooked('what it computes stays what it was, whatever its types', async () => {
  const { exports } = await instance(`
    (memory 1)
    (func (export "sum") (param $n i64) (result i64) (local $total i64)
      (loop $l (local.set $total (i64.add (local.get $total) (local.get $n))) (local.set $n (i64.sub (local.get $n) (i64.const 1))) (br_if $l (i64.ne (local.get $n) (i64.const 0))))
      (local.get $total))
    (func $fib (export "fib") (param i32) (result i32)
      (if (result i32) (i32.lt_u (local.get 0) (i32.const 2)) (then (local.get 0)) (else (i32.add (call $fib (i32.sub (local.get 0) (i32.const 1))) (call $fib (i32.sub (local.get 0) (i32.const 2)))))))
    (func (export "vector") (param i32) (result i32) (local v128)
      (loop $l (local.set 1 (i32x4.add (local.get 1) (i32x4.splat (i32.const 2)))) (br_if $l (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))) (i32x4.extract_lane 3 (local.get 1)))`);
  assert.is(exports['sum']!(1_000_000n), 500_000_500_000n);
  assert.is(exports['fib']!(20), 6765);
  assert.is(exports['vector']!(70_000), 140_000);
});

Hooked('all memories and tables of an instance grow out of one budget', async () => {
  const page = 65_536;
  const memory = new InstanceMemory(
    new PluginMemory(
      new Int32Array(new SharedArrayBuffer(4)),
      new Int32Array(newControl().buffer),
      { instance: 10 * page, plugin: 100 * page, share: 0 },
      () => false,
    ),
    page,
  );
  const text =
    '(memory 1) (table $t 0 externref) (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0))) ' +
    '(func (export "table") (param i32) (result i32) (table.grow $t (ref.null extern) (local.get 0)))';
  const { exports } = await instance(text, undefined, (delta, bytesEach) => memory.grow(delta, bytesEach));
  assert.is(exports['grow']!(4), 1);
  assert.is(exports['table']!(4 * 512), 0); // of 128 bytes each: four pages
  assert.is(exports['grow']!(2), -1);
  assert.is(exports['grow']!(1), 5);
  assert.is(exports['table']!(1), -1);
  assert.is(exports['grow']!(-1), -1);
});

Hooked('code with an unknown instruction is refused', async () => {
  const module = new Uint8Array(await parse('(module (func (drop (i32.const 1))))'));
  module[module.length - 2] = 0x27; // in place of `drop`
  assert.throws(() => addHooks(module, { interrupts: 'cell' }), /it has an unknown instruction \(0x27\)/);
});

/** WASI's adapter is in nearly every component of C and Rust. */
Hooked("the code of compilers comes out as the engine's validation wants it", async () => {
  const adapter = await readFile(
    new URL('../lib/wasi_snapshot_preview1.reactor.wasm', import.meta.resolve('@bytecodealliance/jco')),
  );
  for (const interrupts of ['calls', 'never'] as const)
    assert.instance(new WebAssembly.Module(addHooks(new Uint8Array(adapter), { interrupts })), WebAssembly.Module);
});

Hooked.run();
