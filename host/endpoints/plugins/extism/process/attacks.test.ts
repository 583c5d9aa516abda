// Hostile Extism modules, in a process that serves an ordinary run beside each of them.
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { deferred } from '../../../../base/core/deferred.ts';
import type { ExtismModule } from '../../fixtures/extism-module.ts';
import { testSandbox } from '../../fixtures/test-sandbox.ts';
import type { SandboxProcess } from '../../sandbox/sandbox-process.ts';
import { extismCommand } from './command.ts';
import { begin, outcomeOf, run, serveModule } from './fixtures/serve-module.ts';

const user = (name: string, type: string): string => `(import "extism:host/user" "${name}" (func $${name} ${type}))`;
const env = (name: string, type: string): string => `(import "extism:host/env" "${name}" (func $${name} ${type}))`;

const Attacks = suite('attacks of Extism plugins');

/** Serves a module with the function `ping`, which must answer before, during and after the work. */
async function beside<T>(module: ExtismModule, work: (process: SandboxProcess) => Promise<T>): Promise<T> {
  await using process = await serveModule({ ...module, functions: { ...module.functions, ping: '(answer «1»)' } });
  const ping = async (): Promise<void> => assert.equal(await run(process, 'ping'), { ok: '1' });
  await ping();
  const [result] = await Promise.all([work(process), ping(), ping()]);
  await ping();
  const status = await readFile(`/proc/${process.pid}/status`, 'utf8').catch(() => undefined); // not on Linux
  const peakKib = Number(/VmHWM:\s+(\d+)/.exec(status ?? '')?.[1] ?? 0);
  assert.ok(peakKib < 450 * 1024, `the process had ${peakKib} KiB`);
  return result;
}

Attacks('a loop without end is ended by each of its limits', async () => {
  const module = { functions: { loop: '(loop $on (br $on))' } };
  await beside(module, async (process) => {
    const [stretch, cpu] = await Promise.all([
      run(process, 'loop', { limits: { stretchMs: 200 } }),
      run(process, 'loop', { limits: { cpuMs: 300 } }),
    ]);
    assert.is(stretch, 'stretch: it computes for more than 200 ms without a call of the host');
    assert.is(cpu, 'cpu: it computes for more than 300 ms');
    const leave = new AbortController();
    const stopped = begin(process, 'loop', { signal: leave.signal });
    leave.abort();
    assert.is(outcomeOf(await stopped.outcome), 'stopped');
  });
});

Attacks('computing between calls adds up', async () => {
  const module = {
    imports: user('remaining_ms', '(result i64)'),
    functions: {
      busy: `(loop $on
        (local.set $n (i64.const 1000000)) (loop $in (br_if $in (i64.ne (i64.const 0)
          (local.tee $n (i64.sub (local.get $n) (i64.const 1))))))
        (drop (call $remaining_ms)) (br $on))`,
    },
  };
  const limits = { cpuMs: 200, hostCalls: 1_000_000 };
  assert.match(
    String(await beside(module, (process) => run(process, 'busy', { answer: () => 1n, limits }))),
    /^cpu: it computes for more than 200 ms$/,
  );
});

Attacks('calls and resources are counted, also of a guest that catches what is thrown', async () => {
  const module = {
    imports: user('remaining_ms', '(result i64)') + user('media_open', '(param i64) (result i64)'),
    functions: {
      calls: 'loop $on try call $remaining_ms drop catch_all end br $on end',
      handles: 'loop $on try «{}» call $media_open drop catch_all end br $on end',
    },
  };
  await beside(module, async (process) => {
    const calls = await run(process, 'calls', { answer: () => 1n, limits: { hostCalls: 50 } });
    assert.is(calls, 'calls: it calls the host more than 50 times');
    let last = 0;
    const handles = await run(process, 'handles', { answer: () => ({ ok: ++last }), limits: { handles: 20 } });
    assert.is(handles, 'handles: it holds more than 20 resources');
    assert.is(last, 21);
  });
});

Attacks('an answer of another type ends the run', async () => {
  const module = {
    imports: user('user', '(result i64)'),
    functions: { a: '(answer (call $user))' },
  };
  const answer = (): unknown => [1];
  assert.match(String(await beside(module, (process) => run(process, 'a', { answer }))), /^answer: /);
});

Attacks('a memory and a table grow to their limits', async () => {
  const module = {
    imports: '(table $t 1 funcref)',
    functions: {
      pages: `(loop $on (br_if $on (i32.ge_s (memory.grow (i32.const 1)) (i32.const 0))))
        (if (i32.eq (memory.size) (i32.const 16)) (then (answer «"16 pages"»)))`,
      table: `(loop $on (br_if $on (i32.ge_s (table.grow $t (ref.null func) (i32.const 1000)) (i32.const 0))))
        (if (i32.le_u (table.size $t) (i32.const 200000)) (then (answer «"refused"»)))`,
    },
  };
  await beside(module, async (process) => {
    assert.equal(await run(process, 'pages'), { ok: '"16 pages"' });
    assert.equal(await run(process, 'table'), { ok: '"refused"' });
  });
});

Attacks('recursion without end', async () => {
  const module = {
    imports: '(func $deep (param i64) (call $deep (local.get 0)) (drop (memory.size)))',
    functions: { recursion: '(call $deep (i64.const 1))' },
  };
  assert.match(String(await beside(module, (process) => run(process, 'recursion'))), /^trap: .*call stack/);
});

Attacks('blocks have limits of their own, in bytes and in number', async () => {
  const module = {
    imports: user('block_of', '(param i64 i64) (result i64)') + user('copy_block', '(param i64 i64)'),
    functions: {
      large: '(drop (call $alloc (i64.const 2000000000)))',
      negative: '(drop (call $alloc (i64.const -1)))',
      sum: '(loop $on (drop (call $alloc (i64.const 1000))) (br $on))',
      copies: '(loop $on (drop (call $block_of (i64.const 0) (i64.const 65536))) (br $on))',
      number: '(loop $on (drop (call $alloc (i64.const 0))) (br $on))',
      beyond: '(call $store (i64.add (call $alloc (i64.const 8)) (i64.const 8)) (i32.const 1))',
      from: '(answer (call $block_of (i64.const 65530) (i64.const 8)))',
      to: '(call $copy_block «"copied"» (i64.const 65530))',
      back: '(answer (call $block_of (i64.const 8) (i64.const -8)))',
    },
  };
  await beside(module, async (process) => {
    for (const name of ['large', 'negative', 'sum', 'copies'])
      assert.is(await run(process, name), 'trap: the run put more than 1048576 bytes into blocks');
    assert.is(await run(process, 'number'), 'trap: the run made more than 32000 blocks');
    for (const name of ['beyond', 'from', 'to', 'back']) assert.match(String(await run(process, name)), /^trap: /);
  });
});

Attacks('variables are blocks, and texts have limits of their own', async () => {
  const mib = 1024 * 1024;
  const module = {
    imports:
      env('error_set', '(param i64)') +
      env('log_info', '(param i64)') +
      env('var_set', '(param i64 i64)') +
      env('var_get', '(param i64) (result i64)'),
    functions: {
      kept: '(call $var_set «k» «"v"») (answer (call $var_get «k»))',
      sets: '(local.set $n (call $alloc (i64.const 1000000))) (loop $on (call $var_set «k» (local.get $n)) (br $on))',
      gets: `(call $var_set «k» (call $alloc (i64.const 1000000)))
        (loop $on (drop (call $var_get «k»)) (br $on))`,
      error: `(call $error_set (call $alloc (i64.const ${2 * mib})))`,
      log: `(call $log_info (call $alloc (i64.const ${5 * mib})))`,
    },
  };
  await using process = await serveModule(module, { memoryBytes: 8 * mib });
  assert.equal(await run(process, 'kept'), { ok: '"v"' });
  for (const name of ['sets', 'gets'])
    assert.is(await run(process, name), `trap: the run put more than ${8 * mib} bytes into blocks`);
  assert.match(String(await run(process, 'error')), /^trap: a text has more than 1114112 bytes/);
  assert.match(String(await run(process, 'log')), /^trap: a text has more than 4194304 bytes/);
});

Attacks('data of an error that are nested deep reach the host as a text', async () => {
  const levels = 100_000;
  const module = {
    imports: env('error_set', '(param i64)'),
    pages: 4,
    functions: {
      deep:
        `(call $error_set «{"kind":"conflict","name":"Deep","message":"m","data":` +
        `${'['.repeat(levels)}${']'.repeat(levels)}}»)`,
    },
  };
  const { err } = (await beside(module, (process) => run(process, 'deep'))) as { err: { name: string; data: string } };
  assert.is(err.name, 'Deep');
  assert.ok(err.data.includes('['.repeat(levels)));
});

Attacks('lists with more values than a frame has are an error of the call', async () => {
  const module = {
    imports:
      user('deployments_call', '(param i64 i64 i64 i64) (result i64)') +
      user('host_error', '(result i64)') +
      user('block_of', '(param i64 i64) (result i64)'),
    pages: 40,
    functions: {
      many: `(local.set $n (i64.const 200000))
        (i32.store8 (i32.const 199999) (i32.const 91))
        (loop $on (i32.store16 (i32.wrap_i64 (local.get $n)) (i32.const 11312))
          (br_if $on (i64.lt_u (local.tee $n (i64.add (local.get $n) (i64.const 2))) (i64.const 2400000))))
        (i32.store16 (i32.wrap_i64 (local.get $n)) (i32.const 23856))
        (drop (call $deployments_call «d» «m» «{}» (call $block_of (i64.const 199999) (i64.const 2200003))))
        (answer (call $host_error))`,
    },
  };
  await using process = await serveModule(module, { memoryBytes: 8 * 1024 * 1024 });
  const { ok } = (await run(process, 'many')) as { ok: string };
  const { name, message } = JSON.parse(ok);
  assert.equal([name, message], ['ArgumentsTooLarge', 'it has more than 1048576 values']);
});

Attacks('a killed process loses its runs', async () => {
  const module = { imports: user('request_id', '(result i64)'), functions: { a: '(answer (call $request_id))' } };
  await using served = await serveModule(module);
  const asked = deferred<void>();
  const going = begin(served, 'a', {
    answer: () => {
      asked.resolve();
      return new Promise(() => {});
    },
  });
  await asked.promise;
  process.kill(served.pid!, 'SIGKILL');
  assert.equal(await going.outcome, { state: 'lost', reason: 'its process was ended by SIGKILL' });
});

Attacks('the process may neither read files, start processes nor make code, in none of its threads', async () => {
  const { program } = await testSandbox();
  const { file, args } = extismCommand({ program, memoryBytes: 2 ** 20, totalBytes: 2 ** 30, slots: 2 });
  const probe = fileURLToPath(new URL('./fixtures/denied.js', import.meta.url));
  const confined = args.slice(0, -1);
  const inNode = confined.slice(confined.indexOf('--') + 2);
  for (const [command, given] of [
    [file, confined],
    [process.execPath, inNode],
  ] as const) {
    const { stdout } = await promisify(execFile)(command, [...given, probe], { env: {} });
    assert.equal(JSON.parse(stdout), { main: [], thread: [] });
  }
});

Attacks.run();
