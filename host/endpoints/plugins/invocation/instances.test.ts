import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AanaError } from '../../../base/core/errors.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { FakePorts } from '../fixtures/fake-ports.ts';
import { type ComponentParts, type WatPlugin, watPlugin } from '../fixtures/wat-plugin.ts';
import { type LoadedPlugin, PluginHost } from '../set/plugin-host.ts';
import { testSandbox } from '../fixtures/test-sandbox.ts';

const limits = { memoryBytes: 4 * 1024 * 1024, cpuSliceMs: 1500, maxThreads: 3 };
/**
 * The length of the input tells the endpoint whether to change state: `{}` has 2 bytes, and 3 bytes or more request a
 * change.
 */
const change = '{"a":1}';
const look = '{}';

interface Context {
  dir: string;
}

const run = (plugin: LoadedPlugin, input: string): Promise<string> =>
  plugin.run({
    endpoint: 'go',
    input,
    requestId: 'r',
    deadlineMs: 60_000,
    signal: new AbortController().signal,
    files: new Map(),
  });
const whenChanging = (code: string): string => `(if (i32.gt_u (local.get $length) (i32.const 2)) (then ${code}))`;

/**
 * State that one client could leave for the next one. `go` changes it on request and answers with its value, which is 0
 * in a new instance.
 */
const hidden: (WatPlugin & { readonly what: string })[] = [
  {
    what: 'an entry of a table',
    declarations:
      '(type $digit (func (result i32))) (func $zero (result i32) (i32.const 0)) (func $one (result i32) (i32.const ' +
      '1)) (table $t 1 funcref) (elem (i32.const 0) $zero) (elem declare func $one)',
    go:
      `${whenChanging('(table.set $t (i32.const 0) (ref.func $one))')} (call_indirect $t (type $digit) ` +
      `(i32.const 0))`,
  },
  {
    what: 'the size of a table',
    declarations: '(table $t 0 funcref)',
    go: `${whenChanging('(drop (table.grow $t (ref.null func) (i32.const 1)))')} (table.size $t)`,
  },
  {
    what: 'entries filled, copied and from segments',
    declarations: '(func $any) (table $t 4 funcref) (elem $e func $any) (elem declare func $any)',
    go: `${whenChanging(
      '(table.fill $t (i32.const 0) (ref.func $any) (i32.const 1)) (table.copy $t $t (i32.const ' +
        '1) (i32.const 0) (i32.const 1)) (table.init $t $e (i32.const 2) (i32.const 0) (i32.const 1))',
    )}
      (i32.sub (i32.const 3) (i32.add (ref.is_null (table.get $t (i32.const 0)))
        (i32.add (ref.is_null (table.get $t (i32.const 1))) (ref.is_null (table.get $t (i32.const 2))))))`,
  },
  {
    what: 'a variable of 128 bits',
    declarations: '(global $v (mut v128) (v128.const i32x4 0 0 0 0))',
    go: `${whenChanging('(global.set $v (v128.const i32x4 1 1 1 1))')} (i32x4.extract_lane 0 (global.get $v))`,
  },
  {
    what: 'a data segment that was dropped',
    declarations: '(data $d "\\00")',
    go: `${whenChanging('(data.drop $d)')} (memory.init $d (i32.const 2048) (i32.const 0) (i32.const 1)) (i32.const 0)`,
  },
  {
    what: 'an element segment that was dropped',
    declarations: '(func $any) (table $t 1 funcref) (elem $e func $any)',
    go: `${whenChanging('(elem.drop $e)')} (table.init $t $e (i32.const 0) (i32.const 0) (i32.const 1)) (i32.const 0)`,
  },
];

const newResource = '(import "h" "new" (func $new (param i32) (result i32)))';
const resource: ComponentParts = {
  before:
    `(type $r (resource (rep i32))) (core func $new (canon resource.new $r)) (core func $rep (canon ` +
    `resource.rep $r)) (core func $drop (canon resource.drop $r))`,
  gives: '(with "h" (instance (export "new" (func $new)) (export "rep" (func $rep)) (export "drop" (func $drop))))',
};
hidden.push({
  what: 'a handle',
  imports: newResource,
  around: resource,
  // A handle is a number, and 1 is the first one.
  go: `${whenChanging('(drop (call $new (i32.const 7)))')} (i32.sub (call $new (i32.const 1)) (i32.const 1))`,
});

/**
 * Ways to fill the memory of a process with what is not in a memory of the guest. `go` does it when it is asked to
 * change something.
 */
const floods: readonly (WatPlugin & { readonly what: string; readonly reason: RegExp | undefined })[] = [
  {
    what: 'resources of its own',
    imports: newResource,
    around: resource,
    go: `${whenChanging('(loop $more (drop (call $new (i32.const 1))) (br $more))')} (i32.const 0)`,
    reason: /store handle limit exceeded/,
  },
  {
    what: 'handles of standard output',
    imports: '(import "h" "stdout" (func $stdout (result i32)))',
    around: {
      before: `(import "wasi:io/streams@0.2.3" (instance $streams (export "output-stream" (type (sub resource)))))
        (alias export $streams "output-stream" (type $stream))
        (import "wasi:cli/stdout@0.2.3" (instance $out (alias outer 1 $stream (type $s))
          (export "output-stream" (type $o (eq $s)))
          (export "get-stdout" (func (result (own $o))))))
        (core func $stdout (canon lower (func $out "get-stdout")))`,
      gives: '(with "h" (instance (export "stdout" (func $stdout))))',
    },
    go: `${whenChanging('(loop $more (drop (call $stdout)) (br $more))')} (i32.const 0)`,
    reason: /it holds more than 10256 resources/,
  },
  {
    what: 'resources that it drops, each with another number',
    imports: `${newResource} (import "h" "drop" (func $drop (param i32)))`,
    around: resource,
    go:
      `(local $n i32) ` +
      `${whenChanging(
        '(loop $more (call $drop (call $new (local.get $n))) (local.set $n (i32.add (local.get $n) ' +
          '(i32.const 1))) (br_if $more (i32.lt_u (local.get $n) (i32.const 100000))))',
      )} (i32.const 0)`,
    reason: undefined,
  },
  {
    what: 'entries of a table',
    declarations: '(table $t 1 funcref)',
    go: `${whenChanging(
      '(loop $more (br_if $more (i32.gt_s (table.grow $t (ref.null func) (i32.const 1000)) (i32.const 0))))',
    )}
      (i32.div_u (table.size $t) (i32.const 100000))`,
    reason: undefined,
  },
];

/** A second module of a component, which is instantiated so many times. */
const many = (module: string, times: number): ComponentParts => ({
  before: `(core module $one ${module}) ${'(core instance (instantiate $one))'.repeat(times)}`,
});

const refused: readonly (WatPlugin & { readonly what: string; readonly reason: RegExp })[] = [
  {
    what: 'a table larger than the limit',
    declarations: '(table 1000000 funcref)',
    go: '(i32.const 0)',
    reason: /a minimum element size of 1000000 which exceeds the limit/,
  },
  {
    what: 'objects of the garbage collector',
    declarations: '(type $s (struct (field i32)))',
    go: '(struct.get $s 0 (struct.new $s (i32.const 1)))',
    reason: /not supported without the gc feature/,
  },
  {
    what: 'a module with a memory many times',
    go: '(i32.const 0)',
    around: many('(memory 1)', 4),
    reason: /contains 5 Wasm linear memories, which exceeds the configured maximum of 4/,
  },
  {
    what: 'a module very many times',
    go: '(i32.const 0)',
    around: many('(func)', 1000),
    reason: /contains 1001 core module instances, which exceeds the configured maximum of 64/,
  },
];

const Instances = suite<Context>('instances');
Instances.before.each(async (context) => {
  context.dir = await mkdtemp(join(tmpdir(), 'aana-instances-'));
});
Instances.after.each(async ({ dir }) => rm(dir, { recursive: true, force: true }));

/** Loads a plugin for as long as the test runs. */
const withPlugin = async (
  dir: string,
  plugin: WatPlugin,
  test: (loaded: LoadedPlugin) => Promise<void>,
): Promise<void> => {
  const host = new PluginHost({
    sandbox: testSandbox,
    ports: new FakePorts(),
    cacheDir: join(dir, 'cache'),
    log: silentLogger,
    limits,
  });
  try {
    await test(await host.load(await watPlugin(join(dir, 'plugin'), plugin)));
  } finally {
    await host.close();
  }
};

for (const { what, ...plugin } of hidden) {
  Instances(`${what} that one run changed is as it was for the next`, async ({ dir }) => {
    await withPlugin(dir, plugin, async (loaded) => {
      assert.is(await run(loaded, look), '0');
      await run(loaded, change).catch(() => {}); // some end with a trap
      for (let n = 0; n < 3; n++) assert.is(await run(loaded, look), '0');
    });
  });
}

for (const { what, reason, ...plugin } of refused) {
  Instances(`a plugin with ${what} is refused`, async ({ dir }) => {
    const error = await withPlugin(dir, plugin, async () => assert.unreachable('it was loaded')).catch(
      (thrown: unknown) => thrown,
    );
    assert.is((error as AanaError).name, 'PluginLoadError', String(error));
    assert.match((error as AanaError).message, reason);
  });
}

for (const { what, reason, ...plugin } of floods) {
  Instances(`a plugin that makes ${what} without end ends its run alone, time after time`, async ({ dir }) => {
    await withPlugin(dir, plugin, async (loaded) => {
      for (let n = 0; n < 12; n++) {
        const ended = await run(loaded, change).catch((thrown: unknown) => thrown);
        if (reason) assert.match(String((ended as AanaError).message ?? ended), reason);
        else assert.is(ended, '0');
      }
      assert.is(await run(loaded, look), '0');
    });
  });
}

Instances('a table grows to the limit of the memory and not beyond', async ({ dir }) => {
  const declarations = '(table $t 0 funcref)';
  const grow = (entries: number): string =>
    `(i32.ge_s (table.grow $t (ref.null func) (i32.const ${entries})) (i32.const 0))`;
  await withPlugin(
    dir,
    { declarations, go: `(i32.add (i32.mul (i32.const 2) ${grow(9_000_000)}) ${grow(10_000)})` },
    async (loaded) => assert.is(await run(loaded, look), '1'),
  );
});

Instances('a memory grows to the limit and not beyond, however often it is asked', async ({ dir }) => {
  const go =
    '(local $n i32) (loop $more (if (i32.ge_s (memory.grow (i32.const 1)) (i32.const 0)) (then (local.set $n ' +
    '(i32.add (local.get $n) (i32.const 1))) (br $more)))) (i32.eq (memory.size) (i32.const 64))';
  await withPlugin(dir, { go }, async (loaded) => {
    for (let n = 0; n < 3; n++) assert.is(await run(loaded, look), '1');
  });
});

Instances('a plugin whose instance is never complete is not loaded', async ({ dir }) => {
  const declarations = '(func $s (loop $for_ever (br $for_ever))) (start $s)';
  const error = await withPlugin(dir, { declarations, go: '(i32.const 0)' }, async () =>
    assert.unreachable('it was loaded'),
  ).catch((thrown: unknown) => thrown);
  assert.match(String(error), /cannot describe its endpoints: it has computed for too long/);
});

Instances('a list whose strings all are the same bytes ends the run alone', async ({ dir }) => {
  const manifest = { capabilities: ['llm'], deployments: ['model'] };
  const imports = '(import "aana:host/llm@0.1.0" "count-dialog-tokens" (func $count (param i32 i32 i32 i32 i32)))';
  // 100,000 messages of 900 kilobytes each.
  const message = '(i32.add (i32.const 1000000) (i32.mul (local.get $n) (i32.const 12)))';
  const bomb = `(drop (memory.grow (i32.const 40)))
      (loop $next (i32.store8 ${message} (i32.const 1)) (i32.store offset=4 ${message} (i32.const 70000))
        (i32.store offset=8 ${message} (i32.const 900000))
        (local.set $n (i32.add (local.get $n) (i32.const 1)))
        (br_if $next (i32.lt_u (local.get $n) (i32.const 100000))))
      (call $count (i32.const 1024) (i32.const 2) (i32.const 1000000) (i32.const 100000) (i32.const 320))`;
  await withPlugin(
    dir,
    { manifest, imports, go: `(local $n i32) ${whenChanging(bomb)} (i32.const 3)` },
    async (loaded) => {
      const error = await run(loaded, change).catch((thrown: unknown) => thrown as AanaError);
      assert.match((error as AanaError).message, /fuel allocated for hostcalls has been exhausted/);
      assert.is(await run(loaded, look), '3');
    },
  );
});

Instances('a plugin that computes for ever while it describes itself is not loaded', async ({ dir }) => {
  const error = await withPlugin(dir, { describe: '(loop $for_ever (br $for_ever))', go: '(i32.const 0)' }, async () =>
    assert.unreachable('it was loaded'),
  ).catch((thrown: unknown) => thrown);
  assert.match(String(error), /cannot describe its endpoints: it has computed for too long/);
});

Instances.run();
