import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay } from '../../../base/core/abort.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { endpoint, type ExtismModule, extismModule } from '../fixtures/extism-module.ts';
import { FakePorts } from '../fixtures/fake-ports.ts';
import { testSandbox } from '../fixtures/test-sandbox.ts';
import { type LoadedPlugin, PluginHost } from '../set/plugin-host.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { runPlugin } from '../fixtures/run-plugin.ts';

const limits = { memoryBytes: 1024 * 1024, cpuSliceMs: 2000, maxThreads: 1, hostCalls: 50 };

interface Context {
  dir: string;
  ports: FakePorts;
  host: PluginHost;
  /** Writes a plugin folder. */
  write(module: ExtismModule | Uint8Array, manifest?: object): Promise<string>;
  load(module: ExtismModule | Uint8Array, manifest?: object): Promise<LoadedPlugin>;
  refusal(module: ExtismModule | Uint8Array, manifest?: object): Promise<string>;
}

const user = (name: string, type: string): string => `(import "extism:host/user" "${name}" (func $${name} ${type}))`;
const env = (name: string, type: string): string => `(import "extism:host/env" "${name}" (func $${name} ${type}))`;

const Extism = suite<Context>('Extism plugins');

Extism.before.each(async (context) => {
  context.dir = await mkdtemp(join(tmpdir(), 'aana-extism-'));
  context.ports = new FakePorts();
  context.host = new PluginHost({
    sandbox: testSandbox,
    ports: context.ports,
    cacheDir: join(context.dir, 'cache'),
    log: silentLogger,
    limits,
    grants: { other: { capabilities: [] } },
  });
  let count = 0;
  context.write = async (module, manifest = {}) => {
    const folder = join(context.dir, `plugin-${++count}`);
    await mkdir(join(folder, 'dist'), { recursive: true });
    const described = {
      name: 'sample',
      version: '1.0.0',
      runtime: 'extism',
      component: 'dist/plugin.wasm',
      ...manifest,
    };
    await writeFile(join(folder, 'plugin.json'), JSON.stringify(described));
    await writeFile(
      join(folder, 'dist', 'plugin.wasm'),
      module instanceof Uint8Array ? module : await extismModule(module),
    );
    return folder;
  };
  context.load = async (module, manifest) => context.host.load(await context.write(module, manifest));
  context.refusal = async (module, manifest) => (await errorOf(context.load(module, manifest))).message;
});
Extism.after.each(async ({ host, dir }) => {
  await host.close();
  await rm(dir, { recursive: true, force: true });
});

Extism('a plugin that needs nothing answers under the name that it describes', async ({ load }) => {
  const plugin = await load({
    functions: { say_hello: '(answer «"hello"»)' },
    describes: [{ ...endpoint('say-hello'), summary: 'Says hello.' }],
  });
  assert.equal(plugin.endpoints, [
    {
      name: 'say-hello',
      path: '/extism/say-hello',
      summary: 'Says hello.',
      description: '',
      inputSchema: { type: 'object' },
      outputSchema: {},
      streaming: false,
    },
  ]);
  assert.is(await runPlugin(plugin, 'say-hello'), 'hello');
});

Extism('lines that a plugin logs while it describes itself are counted, too', async ({ load, ports }) => {
  const imports = env('log_info', '(param i64)');
  const described = JSON.stringify([endpoint('ping')]);
  const flood =
    `(local $i i32) (loop $next (call $log_info «a flood») (local.set $i (i32.add (local.get $i) ` +
    `(i32.const 1))) (br_if $next (i32.lt_u (local.get $i) (i32.const 5000))))`;
  await load({ imports, functions: { describe: `${flood} (answer «${described}»)`, ping: '(answer «1»)' } });
  while (!ports.lines.some((line) => line.includes('further lines are dropped'))) await delay(2);
  assert.is(ports.lines.filter((line) => line.includes('a flood')).length, 1000);
});

Extism('imports that there are not are refused by name', async ({ refusal }) => {
  const denied = [
    ['wasi_snapshot_preview1', 'fd_write', '(param i32 i32 i32 i32) (result i32)'],
    ['extism:host/env', 'http_request', '(param i64 i64) (result i64)'],
    ['extism:host/user', 'constructor', '(result i64)'],
    ['env', 'system', '(param i32)'],
  ];
  for (const [module, name, type] of denied) {
    const imports = `(import "${module}" "${name}" (func ${type}))`;
    assert.is(
      await refusal({ imports, functions: { a: '' } }),
      `plugin sample imports ${module} ${name}, which this host does not offer to Extism plugins`,
    );
  }
  assert.match(
    await refusal({ imports: '(import "env" "abort" (global i32))', functions: { a: '' } }),
    /imports env abort/,
  );
});

Extism(
  'functions of a capability are there where it is asked for and granted',
  async ({ load, refusal, host, write }) => {
    const module = {
      imports: user('storage_get', '(param i64) (result i64)'),
      functions: { a: '(answer (call $storage_get «key»))' },
    };
    assert.match(
      await refusal(module),
      /imports aana:host\/storage, which its plugin\.json does not ask for: add "storage" to its capabilities$/,
    );
    assert.match(
      await refusal(module, { name: 'other', capabilities: ['storage'] }),
      /which plugin_grants does not grant to it$/,
    );
    const report = await host.inspect(await write(module, { capabilities: ['storage'] }));
    assert.equal([report.imports.at(-1), report.gets.capabilities], ['extism:host/user storage_get', ['storage']]);
    await load(module, { capabilities: ['storage'] });
  },
);

Extism('a plugin that is not what its plugin.json says is refused with a sentence', async ({ refusal }) => {
  const component = Uint8Array.of(0, 0x61, 0x73, 0x6d, 0x0d, 0, 1, 0);
  assert.match(await refusal(component), /is not a WebAssembly core module, which an Extism plugin must be$/);
  assert.match(
    await refusal({ functions: { a: '' } }, { runtime: 'component' }),
    /it is a core module; a plugin of Extism says "runtime": "extism" in its plugin\.json$/,
  );
  assert.match(
    await refusal(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0)),
    /does not export the function "describe"$/,
  );
  assert.match(await refusal(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 99)), /cannot be compiled: /);
  assert.match(
    await refusal({ functions: { a: '' }, pages: 17 }),
    /cannot be run: its process ended with 1: it needs 1114112 bytes of memory at once, the limit is 1048576$/,
  );
  assert.match(
    await refusal({ functions: { a: '' } }, { runtime: 'docker' }),
    /has an invalid plugin\.json \(runtime: /,
  );
});

Extism('a wrong description is refused with a sentence', async ({ refusal }) => {
  const cannot = /^plugin sample cannot describe its endpoints: /;
  assert.match(await refusal({ describes: 'x' }), cannot);
  assert.match(await refusal({ describes: [{ ...endpoint('a'), paths: 1 }], functions: { a: '' } }), cannot);
  assert.match(
    await refusal({ describes: [endpoint('absent')] }),
    /the endpoint "absent" has no exported function "absent"$/,
  );
  assert.match(
    await refusal({ describes: [endpoint('describe')] }),
    /^plugin sample cannot describe its endpoints: the endpoint "describe" has no exported function "describe"$/,
  );
  assert.match(await refusal({ describes: [], functions: { a: '' } }), /has no endpoint/);
  assert.match(
    await refusal({ describes: [{ ...endpoint('a'), path: 'a' }], functions: { a: '' } }),
    /must be a path such as/,
  );
  assert.match(
    await refusal({
      imports: user('request_id', '(result i64)'),
      functions: { describe: '(answer (call $request_id))' },
    }),
    /the host can be called from endpoints only$/,
  );
});

Extism('lines of the log carry the plugin and the request', async ({ load, ports }) => {
  await runPlugin(
    await load({ imports: env('log_warn', '(param i64)'), functions: { a: '(call $log_warn «from the guest»)' } }),
    'a',
  );
  const line = ports.lines.map((text) => JSON.parse(text)).find((each) => each.message === 'from the guest');
  assert.equal([line.plugin, line.request, line.level], ['sample', 'request-1', 'warn']);
});

Extism('an error may be a text; nothing set is null; a block that there is not is a trap', async ({ load }) => {
  const plugin = await load({
    imports: env('error_set', '(param i64)'),
    functions: {
      a: '(call $error_set «it is late»)',
      b: '',
      c: '(answer (i64.const 281474976710656000))',
      d: 'unreachable',
    },
  });
  const error = await errorOf(runPlugin(plugin, 'a'));
  assert.equal([error.name, error.kind, error.message], ['PluginError', 'internal', 'it is late']);
  assert.is(await runPlugin(plugin, 'b'), null);
  for (const name of ['c', 'd']) assert.equal([(await errorOf(runPlugin(plugin, name))).name], ['PluginTrapError']);
});

Extism("a run sees neither memory, variables nor settings of another's", async ({ load }) => {
  const imports = [
    env('var_get', '(param i64) (result i64)'),
    env('var_set', '(param i64 i64)'),
    env('config_get', '(param i64) (result i64)'),
  ].join('');
  const remembered =
    '(if (i64.eqz (call $var_get «key»)) (then (call $var_set «key» «"kept"») (answer «"new"»)) (else unreachable))';
  const plugin = await load({
    imports,
    functions: {
      a: remembered,
      b: '(if (i64.eqz (call $config_get «constructor»)) (then (answer «"none"»)))',
      c: '(call $var_set «key» «"kept"») (answer (call $var_get «key»))',
    },
  });
  for (let n = 0; n < 3; n++) assert.is(await runPlugin(plugin, 'a'), 'new');
  assert.is(await runPlugin(plugin, 'b'), 'none');
  assert.is(await runPlugin(plugin, 'c'), 'kept', 'within a run they are there');
});

Extism('blocks have limits of their own, in bytes and in number', async ({ load }) => {
  const plugin = await load({
    functions: {
      large: '(drop (call $alloc (i64.const 2000000000)))',
      negative: '(drop (call $alloc (i64.const -1)))',
      sum: '(loop $on (drop (call $alloc (i64.const 1000))) (br $on))',
      number: '(loop $on (drop (call $alloc (i64.const 0))) (br $on))',
      beyond: '(call $store (i64.add (call $alloc (i64.const 8)) (i64.const 8)) (i32.const 1))',
    },
  });
  for (const name of ['large', 'negative', 'sum'])
    assert.match((await errorOf(runPlugin(plugin, name))).message, /the run put more than 1048576 bytes into blocks$/);
  assert.match((await errorOf(runPlugin(plugin, 'number'))).message, /the run made more than 32000 blocks$/);
  assert.is((await errorOf(runPlugin(plugin, 'beyond'))).name, 'PluginTrapError');
});

Extism('blocks are made of memory and copied to it, inside of it alone', async ({ load }) => {
  const imports = user('block_of', '(param i64 i64) (result i64)') + user('copy_block', '(param i64 i64)');
  const plugin = await load({
    imports,
    functions: {
      a: '(call $copy_block «"copied"» (i64.const 60000)) (answer (call $block_of (i64.const 60000) (i64.const 8)))',
      b: '(answer (call $block_of (i64.const 65530) (i64.const 8)))',
      c: '(call $copy_block «"copied"» (i64.const 65530))',
      d: '(answer (call $block_of (i64.const -8) (i64.const 8)))',
      e: '(answer (call $block_of (i64.const 8) (i64.const -8)))',
      f: '(loop $on (drop (call $block_of (i64.const 0) (i64.const 65536))) (br $on))',
    },
  });
  assert.is(await runPlugin(plugin, 'a'), 'copied');
  for (const name of ['b', 'c', 'd', 'e'])
    assert.is((await errorOf(runPlugin(plugin, name))).name, 'PluginTrapError', name);
  assert.match((await errorOf(runPlugin(plugin, 'f'))).message, /the run put more than 1048576 bytes into blocks$/);
});

Extism(
  'arguments that are not as they must be are the error of the call; a wrong number of them is a trap',
  async ({ load }) => {
    const imports =
      user('media_open', '(param i64) (result i64)') +
      user('host_error', '(result i64)') +
      user('media_open_image', '(result i64)');
    const attempt = (json: string): string =>
      `(if (i64.eqz (call $media_open «${json}»)) (then (answer (call $host_error))))`;
    const plugin = await load(
      {
        imports,
        functions: {
          a: attempt('[]'),
          b: attempt('{'),
          c: attempt('{"path":1}'),
          d: '(drop (call $media_open_image))',
        },
      },
      { capabilities: ['media'] },
    );
    for (const name of ['a', 'b', 'c']) {
      const error = (await runPlugin(plugin, name)) as { kind: string; name: string; message: string };
      assert.equal([error.kind, error.name], ['invalid-input', 'InvalidArguments']);
      assert.match(error.message, /^the source is invalid: /);
    }
    assert.is((await errorOf(runPlugin(plugin, 'd'))).name, 'PluginTrapError');
  },
);

Extism('two versions serve side by side until the older is drained', async ({ host, write, load }) => {
  const first = await load({ functions: { a: '(answer «1»)' } });
  const folder = await write({ functions: { a: '(answer «2»)' } }, { version: '2.0.0' });
  const second = await host.load(folder, { replaces: first });
  assert.equal([await runPlugin(first, 'a'), await runPlugin(second, 'a')], [1, 2]);
  await first.drain();
  assert.is(await runPlugin(second, 'a'), 2);
});

Extism.run();
