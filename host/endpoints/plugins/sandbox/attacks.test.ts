// Components that broke out of the earlier sandbox or ended its host, and more of their kind, in a process that serves
// an ordinary run beside each of them.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { parse, print } from '@bytecodealliance/jco-transpile/wasm-tools';
import { readFile } from 'node:fs/promises';
import type { WatPlugin } from '../fixtures/wat-plugin.ts';
import { describeComponent } from './compiled-code.ts';
import { typeProblem } from './component-types.ts';
import {
  answerOf,
  begin,
  go,
  offered,
  sandbox,
  serveFile,
  serveWat,
  withBytes,
  withWat,
} from './fixtures/serve-component.ts';
import type { SandboxProcess } from './sandbox-process.ts';

const Attacks = suite('attacks on the sandbox of plugins');
const long = 'more than ten characters';

/** Runs the attack, which a long input begins, beside runs of the same process. Returns its outcome as one text. */
async function attack(plugin: WatPlugin): Promise<string> {
  await using process = await serveWat(plugin);
  const outcome = await serves(process, () => go(process, long, { limits: { cpuMs: 3_000, stretchMs: 3_000 } }));
  return outcome.state === 'failed' ? `${outcome.code}: ${outcome.reason}` : JSON.stringify(outcome);
}

/** Asserts that the process serves before, during and after something, and has not taken much memory. */
async function serves<T>(process: SandboxProcess, during: () => Promise<T>): Promise<T> {
  const ordinary = async (): Promise<void> => assert.match(JSON.stringify(answerOf(await go(process, '{}'))), /"ok"/);
  await ordinary();
  const [result] = await Promise.all([during(), ordinary(), ordinary()]);
  await ordinary();
  const status = await readFile(`/proc/${process.pid}/status`, 'utf8');
  const peakKib = Number(/VmHWM:\s+(\d+)/.exec(status)![1]);
  assert.ok(peakKib < 450 * 1024, `the process had ${peakKib} KiB`);
  return result;
}

const onlyLong = (code: string): string =>
  `(if (i32.gt_u (local.get $length) (i32.const 10)) (then ${code})) (i32.const 7)`;
/** A resource of the component itself. */
const ownResource = {
  before: `(type $R (resource (rep i32)))
    (core func $new (canon resource.new $R)) (core func $rep (canon resource.rep $R))`,
  gives: '(with "h" (instance (export "new" (func $new)) (export "rep" (func $rep))))',
};
const ownImports =
  '(import "h" "new" (func $new (param i32) (result i32))) (import "h" "rep" (func $rep (param i32) (result i32)))';

Attacks('resources without end', async () => {
  const said = await attack({
    imports: ownImports,
    go: onlyLong('(loop $l (drop (call $new (i32.const 1))) (br $l))'),
    around: ownResource,
  });
  assert.match(said, /^trap: .*store handle limit exceeded/);
});

Attacks('a handle of another run', async () => {
  await using process = await serveWat({
    imports: ownImports,
    go: `(if (result i32) (i32.gt_u (local.get $length) (i32.const 10))
      (then (drop (call $new (i32.const 5))) (i32.const 0)) (else (call $rep (i32.const 1))))`,
    around: ownResource,
  });
  assert.equal(answerOf(await go(process, long)), { ok: '0' });
  const other = await go(process, '{}');
  assert.match(other.state === 'failed' ? other.reason : '', /unknown handle index 1/);
});

Attacks('a table that grows until it is refused', async () => {
  const grow = (step: number): WatPlugin => ({
    declarations: '(table $t 1 funcref)',
    go: onlyLong(
      `(loop $l (br_if $l (i32.gt_s (table.grow $t (ref.null func) (i32.const ${step})) (i32.const 0))))
        (return (i32.div_u (table.size $t) (i32.const 5000)))`,
    ),
  });
  assert.match(await attack(grow(1_000)), /"ok":"3"/);
  assert.match(await attack(grow(1_000_000)), /"ok":"0"/);
});

Attacks('a memory that grows and is filled', async () => {
  const said = await attack({
    go: onlyLong(`(loop $l (br_if $l (i32.gt_s (memory.grow (i32.const 16)) (i32.const 0))))
      (memory.fill (i32.const 65536) (i32.const 1)
        (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 65536)))
      (return (i32.div_u (memory.size) (i32.const 200)))`),
  });
  assert.match(said, /"ok":"5"/);
});

Attacks('recursion without end', async () => {
  const said = await attack({
    declarations: '(func $r (param i32) (result i32) (i32.add (i32.const 1) (call $r (local.get 0))))',
    go: onlyLong('(return (call $r (i32.const 1)))'),
  });
  assert.match(said, /^trap: .*call stack exhausted/);
});

Attacks('a loop without end', async () => {
  assert.match(await attack({ go: onlyLong('(loop $l (br $l))') }), /^(cpu|stretch): /);
});

Attacks('the same memory as a thousand strings, in UTF-8 and in UTF-16', async () => {
  // The headers of a request: pairs that all name 4 MiB of memory.
  const fetching: WatPlugin = {
    imports: '(import "aana:host/http@0.1.0" "fetch" (func $fetch (param i32 i32 i32 i32 i32 i32 i32 i32 i32)))',
    go: onlyLong(`(local.set $length (i32.const 0)) (drop (memory.grow (i32.const 400)))
      (loop $l
        (i32.store (i32.add (i32.const 1048576) (i32.mul (local.get $length) (i32.const 16))) (i32.const 4194304))
        (i32.store (i32.add (i32.const 1048580) (i32.mul (local.get $length) (i32.const 16))) (i32.const 4194304))
        (i32.store (i32.add (i32.const 1048584) (i32.mul (local.get $length) (i32.const 16))) (i32.const 4194304))
        (i32.store (i32.add (i32.const 1048588) (i32.mul (local.get $length) (i32.const 16))) (i32.const 4194304))
        (local.set $length (i32.add (local.get $length) (i32.const 1)))
        (br_if $l (i32.lt_u (local.get $length) (i32.const 1000))))
      (call $fetch (i32.const 0) (i32.const 1024) (i32.const 4) (i32.const 1048576) (i32.const 1000) (i32.const 0)
        (i32.const 0) (i32.const 0) (i32.const 16))`),
  };
  for (const encoding of ['utf8', 'utf16']) {
    const text = await withWat(fetching, async (file) => print(await readFile(file)));
    const encoded = text.replaceAll(/(canon lower [^\n]*)string-encoding=utf8/g, `$1string-encoding=${encoding}`);
    const said = await withBytes(await parse(encoded), async (file) => {
      await using process = await serveFile(file);
      const outcome = await serves(process, () => go(process, long, { limits: { cpuMs: 5_000 } }));
      return outcome.state === 'failed' ? `${outcome.code}: ${outcome.reason}` : JSON.stringify(outcome);
    });
    assert.match(said, /^(trap|cpu): /, encoding);
  }
});

Attacks('names that were code', async () => {
  const mark = `globalThis.marked=1`;
  const name = `a':0,__proto__:(${mark},new Proxy({},{get:()=>()=>0})),'z`;
  const said = await attack({
    go: '(i32.const 7)',
    around: {
      before: `(core module $provider (func (export "f")))
        (core instance $p (instantiate $provider))
        (alias core export $p "f" (core func $pf))
        (core module $evil (import "m" "${name}" (func)) (func (export "g")))
        (core instance $e (instantiate $evil (with "m" (instance (export "${name}" (func $pf))))))`,
    },
  });
  assert.match(said, /"ok":"7"/);
  assert.not.ok('marked' in globalThis);
});

Attacks('names of hooks of the earlier sandbox', async () => {
  const said = await attack({
    imports: '(import "aana:hooks" "grow" (func $grow (param i32 i32) (result i32)))',
    go: onlyLong('(drop (call $grow (i32.const 1000) (i32.const -2000000000)))'),
    around: {
      before: `(core module $provider (func (export "grow") (param i32 i32) (result i32) (i32.const 0)))
        (core instance $p (instantiate $provider)) (alias core export $p "grow" (core func $pg))`,
      gives: '(with "aana:hooks" (instance (export "grow" (func $pg))))',
    },
  });
  assert.match(said, /"ok":"7"/);
});

Attacks('more tables, memories or instances than a run may have are refused before anything runs', async () => {
  const instances = (module: string, count: number): WatPlugin => ({
    go: '(i32.const 7)',
    around: {
      before: `(core module $big ${module})
        ${Array.from({ length: count }, (_, n) => `(core instance $b${n} (instantiate $big))`).join(' ')}`,
    },
  });
  const refusalOf = (plugin: WatPlugin): Promise<string> =>
    withWat(plugin, (component) =>
      serveFile(component).then(
        async (process) => {
          await process.close();
          return 'it was started';
        },
        (error: Error) => error.message,
      ),
    );
  const fill = '(func $s (memory.fill (i32.const 0) (i32.const 1) (i32.const 104857600))) (start $s)';
  assert.match(
    await refusalOf(instances('(table 8000000 funcref)', 14)),
    /minimum element size of 8000000 which exceeds the limit of 20000/,
  );
  assert.match(
    await refusalOf(instances('(table 100 funcref)', 200)),
    /201 core module instances, which exceeds the configured maximum of 64/,
  );
  assert.match(
    await refusalOf(instances(`(memory 1600) ${fill}`, 12)),
    /13 Wasm linear memories, which exceeds the configured maximum of 4/,
  );
  assert.match(await refusalOf(instances('(func)', 100)), /101 core module instances/);
});

Attacks('streams without end are bounded by the resources of a run', async () => {
  const stdout: WatPlugin = {
    imports: '(import "h" "get" (func $get (result i32)))',
    go: onlyLong('(loop $l (drop (call $get)) (br $l))'),
    around: {
      before: `(import "wasi:io/error@0.2.3" (instance $err (export "error" (type (sub resource)))))
        (import "wasi:io/streams@0.2.3" (instance $st (export "output-stream" (type (sub resource)))))
        (alias export $st "output-stream" (type $os))
        (import "wasi:cli/stdout@0.2.3" (instance $so (alias outer 1 $os (type $o))
          (export "output-stream" (type $o2 (eq $o)))
          (export "get-stdout" (func (result (own $o2))))))
        (core func $cget (canon lower (func $so "get-stdout")))`,
      gives: '(with "h" (instance (export "get" (func $cget))))',
    },
  };
  const types = await withWat(stdout, (component) => describeComponent({ sandbox, plugin: 'test', component }));
  assert.is(typeProblem(types, offered), undefined);
  assert.match(await attack(stdout), /^handles: it holds more than 100 resources/);
});

Attacks('lines of the log without end stop while the host does not read them', async () => {
  const telling: WatPlugin = {
    imports: '(import "aana:host/progress@0.1.0" "report" (func $report (param f64 i32 i32)))',
    go: onlyLong('(loop $l (call $report (f64.const 0.5) (i32.const 8192) (i32.const 10000)) (br $l))'),
  };
  await using process = await serveWat(telling);
  let told = 0;
  const leave = new AbortController();
  const run = begin(process, long, { signal: leave.signal, onTold: () => ++told === 1_000 && leave.abort() });
  assert.is((await run.outcome).state, 'stopped');
  await serves(process, async () => {});
});

Attacks.run();
