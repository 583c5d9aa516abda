// Runs of Extism modules in a process of their own, over the frames of the sandbox.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { deferred } from '../../../../base/core/deferred.ts';
import { errorOf } from '../../../../test/helpers/error-of.ts';
import { endpoint } from '../../fixtures/extism-module.ts';
import type { CborValue } from '../../sandbox/cbor.ts';
import { begin, describe, outcomeOf, run, serveModule } from './fixtures/serve-module.ts';

const user = (name: string, type: string): string => `(import "extism:host/user" "${name}" (func $${name} ${type}))`;
const env = (name: string, type: string): string => `(import "extism:host/env" "${name}" (func $${name} ${type}))`;

const Processes = suite('processes of Extism plugins');

Processes('a plugin that needs nothing answers under the name that it describes', async () => {
  await using process = await serveModule({
    functions: { say_hello: '(answer «"hello"»)' },
    describes: [{ ...endpoint('say-hello'), summary: 'Says hello.' }],
  });
  assert.equal(process.facts.exports, ['describe', 'run']);
  assert.equal(await describe(process), [
    {
      name: 'say-hello',
      path: '/extism/say-hello',
      summary: 'Says hello.',
      description: '',
      inputSchema: '{"type":"object"}',
      outputSchema: '{}',
      streaming: false,
    },
  ]);
  assert.equal(await run(process, 'say-hello'), { ok: '"hello"' });
  assert.equal(await run(process, 'helper:absent'), {
    err: {
      kind: 'not-found',
      name: 'HelperNotFound',
      message: 'the plugin exports no function "helper_absent"',
      data: '{}',
    },
  });
});

Processes('a wrong description is refused with a sentence', async () => {
  const saidOf = async (...args: Parameters<typeof serveModule>): Promise<string> => {
    await using process = await serveModule(...args);
    return String(await describe(process));
  };
  const other = /^trap: "describe" does not return a list of endpoints: /;
  assert.match(await saidOf({ describes: 'x' }), other);
  assert.match(await saidOf({ describes: [{ ...endpoint('a'), paths: 1 }], functions: { a: '' } }), other);
  for (const name of ['absent', 'describe'])
    assert.is(
      await saidOf({ describes: [endpoint(name)] }),
      `trap: the endpoint "${name}" has no exported function "${name}"`,
    );
  const imports = user('request_id', '(result i64)');
  assert.is(
    await saidOf({ imports, functions: { describe: '(answer (call $request_id))' } }),
    'trap: the host can be called from endpoints only',
  );
});

Processes('a module that cannot be run is refused with a sentence', async () => {
  const refusalOf = async (...args: Parameters<typeof serveModule>): Promise<string> =>
    (await errorOf(serveModule(...args).then((process) => process.close()))).message;
  assert.match(await refusalOf(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 99)), /WebAssembly.compile\(\): /);
  const memories = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 5, 5, 2, 0, 1, 0, 1);
  assert.match(await refusalOf(memories), /several memories|memory count of 2/);
  const of64Bits = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 5, 3, 1, 4, 1);
  assert.match(await refusalOf(of64Bits), /64/);
  const header = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
  assert.match(await refusalOf(Uint8Array.of(...header, 5, 4, 1, 3, 1, 1)), /its memory is shared$/);
  const array = [0x5e, 0x7f, 1];
  const structure = [0x5f, 0];
  const recursive = [0x4e, 1, 0x60, 0, 0];
  const afterFunction = [0x60, 1, 0x7f, 1, 0x70, ...array];
  for (const [count, ...types] of [
    [1, ...array],
    [1, ...structure],
    [1, ...recursive],
    [2, ...afterFunction],
  ])
    assert.match(
      await refusalOf(Uint8Array.of(...header, 1, types.length + 1, count!, ...types)),
      /types other than functions|Unknown type/,
    );
  assert.match(await refusalOf({ imports: '(table 1 funcref)'.repeat(17) }), /it has more than 16 tables/);
  assert.match(await refusalOf({ pages: 17 }), /it needs 1114112 bytes of memory at once, the limit is 1048576$/);
});

Processes('the host answers calls, and says why one has failed', async () => {
  await using process = await serveModule({
    imports: user('storage_get', '(param i64) (result i64)') + user('host_error', '(result i64)'),
    functions: {
      a: '(answer (call $storage_get «key»))',
      b: '(if (i64.eqz (call $storage_get «key»)) (then (answer (call $host_error))))',
    },
  });
  const asked: unknown[] = [];
  const answering = (result: unknown) => ({
    answer: (name: string, args: readonly unknown[]) => {
      asked.push([name, args]);
      return result;
    },
  });
  assert.equal(await run(process, 'a', answering({ ok: Buffer.from('"kept"') })), { ok: '"kept"' });
  assert.equal(asked, [['aana:host/storage@0.1.0#get', ['key']]]);
  const err = { kind: 'denied', name: 'No', message: 'not this one', data: '{"a":1}' };
  assert.equal(await run(process, 'b', answering({ err })), {
    ok: '{"kind":"denied","name":"No","message":"not this one","data":{"a":1}}',
  });
  assert.is(await run(process, 'a'), 'refused: nothing answers aana:host/storage@0.1.0#get');
});

Processes('a module changes what it has stored, and 0 stands for no value and no expiry', async () => {
  const [key, zero] = ['«key»', '(i64.const 0)'];
  const values = '(param i64 i64 i64 i64) (result i64)';
  const three = '(param i64 i64 i64) (result i64)';
  await using process = await serveModule({
    imports:
      user('storage_set_expiring', three) +
      user('storage_increment', three) +
      user('storage_compare_and_set', values) +
      user('storage_entries', three),
    functions: {
      a: `(if (i64.eq (call $storage_set_expiring ${key} «v» (i64.const 50)) (i64.const 1)) (then (answer «1»)))`,
      b: `(answer (call $storage_increment ${key} (i64.const -7) ${zero}))`,
      c:
        `(if (i64.eq (call $storage_compare_and_set ${key} ${zero} «v» (i64.const 9)) (i64.const 1)) ` +
        `(then (answer «1»)))`,
      d: `(if (i64.eqz (call $storage_compare_and_set ${key} «v» ${zero} ${zero})) (then (answer «0»)))`,
      e: `(answer (call $storage_entries «k» ${zero} (i64.const 5)))`,
    },
  });
  const asked: unknown[] = [];
  const ask = (name: string, ok: CborValue): Promise<unknown> =>
    run(process, name, {
      answer: (called, args) => {
        asked.push([
          called.split('#')[1],
          args.map((one) => (one instanceof Uint8Array ? String(Buffer.from(one)) : one)),
        ]);
        return { ok };
      },
    });
  const entry = { key: 'key', size: 3, expiresInMs: 20, text: null };
  assert.equal(
    [await ask('a', null), await ask('b', -6.5), await ask('c', true), await ask('d', false), await ask('e', [entry])],
    [{ ok: '1' }, { ok: '-6.5' }, { ok: '1' }, { ok: '0' }, { ok: '[{"key":"key","size":3,"expires_in_ms":20}]' }],
  );
  assert.equal(asked, [
    ['set-expiring', ['key', 'v', 50]],
    ['increment', ['key', -7, undefined]],
    ['compare-and-set', ['key', undefined, 'v', 9]],
    ['compare-and-set', ['key', 'v', undefined, undefined]],
    ['list-entries', ['k', undefined, 5, false]],
  ]);
});

Processes('arguments that are not as they must be never reach the host', async () => {
  await using process = await serveModule({
    imports:
      user('media_open', '(param i64) (result i64)') +
      user('deployments_next', '(param i64) (result i64)') +
      user('host_error', '(result i64)'),
    functions: {
      a: '(if (i64.eqz (call $media_open «[]»)) (then (answer (call $host_error))))',
      b: '(if (i64.eqz (call $media_open «{"path":1}»)) (then (answer (call $host_error))))',
      c: '(if (i64.eqz (call $deployments_next (i64.const -1))) (then (answer (call $host_error))))',
    },
  });
  for (const name of ['a', 'b', 'c']) {
    const { ok } = (await run(process, name)) as { ok: string };
    const { kind, name: error } = JSON.parse(ok);
    assert.equal([kind, error], ['invalid-input', 'InvalidArguments'], name);
  }
});

Processes('lines and progress need no answer, and stop while the host does not take them', async () => {
  await using process = await serveModule({
    imports: env('log_warn', '(param i64)') + user('progress', '(param i64 i64)'),
    functions: {
      a: '(call $log_warn «a line») (call $progress (i64.const 25) «a quarter»)',
      flood: '(local.set $n «a line») (loop $on (call $log_warn (local.get $n)) (br $on))',
    },
  });
  const told: unknown[] = [];
  const onTold = (...each: unknown[]): void => void told.push(each);
  assert.equal(await run(process, 'a', { onTold }), { ok: 'null' });
  assert.equal(told, [
    ['aana:host/log@0.1.0#log', ['warn', 'a line', '']],
    ['aana:host/progress@0.1.0#report', [0.25, 'a quarter']],
  ]);
  let lines = 0;
  const leave = new AbortController();
  const flood = await run(process, 'flood', { signal: leave.signal, onTold: () => ++lines === 5_000 && leave.abort() });
  assert.is(flood, 'stopped');
  assert.equal(await run(process, 'a'), { ok: 'null' });
});

Processes('values are streamed with credits, and answered beyond the limit of output', async () => {
  await using process = await serveModule({
    imports: user('output_write', '(param i64) (result i64)') + user('host_error', '(result i64)'),
    functions: {
      many: `(local.set $n «"a value"») (loop $on (drop (call $output_write (local.get $n)))
        (br_if $on (i64.lt_u (local.tee $m (i64.add (local.get $m) (i64.const 1))) (i64.const 5000))))`,
      until: `(local.set $n «12345») (loop $on (br_if $on (i64.ne (i64.const 0) (call $output_write (local.get $n)))))
        (answer (call $host_error))`,
    },
  });
  const chunks: unknown[] = [];
  const onOutput = async ([chunk]: readonly unknown[]): Promise<unknown> => chunks.push(chunk);
  assert.equal(await run(process, 'many', { onOutput, limits: { creditBytes: 1_000 } }), { ok: 'null' });
  assert.equal([chunks.length, new Set(chunks)], [5_000, new Set(['"a value"'])]);
  const err = { kind: 'too-large', name: 'OutputTooLarge', message: 'm', data: '{}' };
  for (const outputBytes of [0, 9, 10]) {
    chunks.length = 0;
    const { ok } = (await run(process, 'until', { onOutput, answer: () => ({ err }), limits: { outputBytes } })) as {
      ok: string;
    };
    assert.equal([JSON.parse(ok).name, chunks.length], ['OutputTooLarge', Math.floor(outputBytes / 5)]);
  }
});

Processes('a guest that is cancelled learns it, also while it waits to send', async () => {
  await using process = await serveModule({
    imports: user('output_write', '(param i64) (result i64)') + user('is_cancelled', '(result i64)'),
    functions: {
      asks: `(if (i64.ne (call $is_cancelled) (i64.const 0)) (then unreachable))
        (drop (call $output_write «"begun"»))
        (loop $on (br_if $on (i64.eqz (call $is_cancelled)))) (answer «"cancelled"»)`,
      writes: '(local.set $n «1») (loop $on (br_if $on (i64.ne (i64.const 0) (call $output_write (local.get $n)))))',
    },
  });
  const err = { kind: 'cancelled', name: 'Cancelled', message: 'm', data: '{}' };
  for (const [name, result] of [
    ['asks', '"cancelled"'],
    ['writes', 'null'],
  ] as const) {
    const begun = deferred<void>();
    const onOutput = (): Promise<unknown> => {
      begun.resolve();
      return new Promise(() => {});
    };
    const going = begin(process, name, { onOutput, answer: () => ({ err }), limits: { creditBytes: 100 } });
    await begun.promise;
    going.warn();
    assert.equal(outcomeOf(await going.outcome), { ok: result }, name);
  }
});

Processes('an error may be a text; nothing set is null; a block that there is not is a trap', async () => {
  await using process = await serveModule({
    imports: env('error_set', '(param i64)'),
    functions: {
      a: '(call $error_set «it is late»)',
      b: '',
      c: '(answer (i64.const 281474976710656000))',
      d: 'unreachable',
      e: '(call $error_set «{"kind":"conflict","name":"Deep","message":"deep","data":{"a":[1]}}»)',
    },
  });
  assert.equal(await run(process, 'a'), {
    err: { kind: 'internal', name: 'PluginError', message: 'it is late', data: '{}' },
  });
  assert.equal(await run(process, 'b'), { ok: 'null' });
  for (const name of ['c', 'd']) assert.match(String(await run(process, name)), /^trap: /);
  assert.equal(await run(process, 'e'), {
    err: { kind: 'conflict', name: 'Deep', message: 'deep', data: '{"a":[1]}' },
  });
});

Processes("a run sees neither memory, variables nor settings of another's", async () => {
  await using process = await serveModule({
    imports: [
      env('var_get', '(param i64) (result i64)'),
      env('var_set', '(param i64 i64)'),
      env('config_get', '(param i64) (result i64)'),
    ].join(''),
    functions: {
      a: `(if (i64.eqz (call $var_get «key»))
        (then (call $var_set «key» «"kept"») (answer «"new"»)) (else unreachable))`,
      b: '(if (i64.eqz (call $config_get «constructor»)) (then (answer «"none"»)))',
      c: '(call $var_set «key» «"kept"») (answer (call $var_get «key»))',
    },
  });
  for (let n = 0; n < 3; n++) assert.equal(await run(process, 'a'), { ok: '"new"' });
  assert.equal(await run(process, 'b'), { ok: '"none"' });
  assert.equal(await run(process, 'c'), { ok: '"kept"' }, 'within a run they are there');
});

Processes('resources are dropped by their types, once', async () => {
  await using process = await serveModule({
    imports:
      user('media_open', '(param i64) (result i64)') +
      user('media_info', '(param i64) (result i64)') +
      user('release', '(param i64)'),
    functions: {
      a: `(local.set $n (call $media_open «{"path":"/v"}»)) (local.set $m (call $media_info (local.get $n)))
        (call $release (local.get $n)) (call $release (local.get $n)) (call $release (i64.const 99))
        (answer (local.get $m))`,
    },
  });
  const answers: Record<string, unknown> = {
    '[static]video.open': { ok: 7 },
    '[method]video.info': { duration: 2, hasAudio: true, hasVideo: false },
    '[method]video.metadata': { title: 'T', description: undefined },
  };
  const dropped: unknown[] = [];
  const result = await run(process, 'a', {
    answer: (name) => answers[name.split('#')[1]!],
    onDropped: (...each) => dropped.push(each),
  });
  assert.equal(result, { ok: '{"duration":2,"has_audio":true,"has_video":false,"title":"T"}' });
  assert.equal(dropped, [['aana:host/media.video', 7]]);
});

Processes('runs beyond the number of slots are refused; a run that waits is cancelled', async () => {
  await using process = await serveModule(
    {
      imports: user('request_id', '(result i64)'),
      functions: { a: '(answer (call $request_id))' },
    },
    { slots: 2 },
  );
  assert.is(process.facts.slots, 2);
  const gates = [deferred<string>(), deferred<string>()];
  const leave = new AbortController();
  const asked = [deferred<void>(), deferred<void>()];
  const going = gates.map((gate, n) =>
    begin(process, 'a', {
      ...(n === 1 && { signal: leave.signal }),
      answer: () => {
        asked[n]!.resolve();
        return gate.promise;
      },
    }),
  );
  await Promise.all(asked.map(({ promise }) => promise));
  assert.is(await run(process, 'a'), 'busy: 2 runs are in it');
  leave.abort();
  assert.is(outcomeOf(await going[1]!.outcome), 'stopped');
  assert.equal(await run(process, 'a', { answer: () => '"third"' }), { ok: '"third"' });
  gates[0]!.resolve('"first"');
  assert.equal(outcomeOf(await going[0]!.outcome), { ok: '"first"' });
});

Processes.run();
