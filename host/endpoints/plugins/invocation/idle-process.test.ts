// The process of a plugin ends when nothing has run for a while, and the next request starts it.
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay } from '../../../base/core/abort.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { extismModule } from '../fixtures/extism-module.ts';
import { FakePorts } from '../fixtures/fake-ports.ts';
import { runPlugin } from '../fixtures/run-plugin.ts';
import { testSandbox } from '../fixtures/test-sandbox.ts';
import { watPlugin } from '../fixtures/wat-plugin.ts';
import { type LoadedPlugin, PluginHost } from '../set/plugin-host.ts';

/** It answers with 7. With a long input, it calls a deployment first. */
const plugin = {
  manifest: { capabilities: ['deployments'], deployments: ['model'] },
  imports: '(import "aana:host/deployments@0.1.0" "call" (func $call (param i32 i32 i32 i32 i32 i32 i32 i32 i32)))',
  declarations: '(data (i32.const 2064) "model") (data (i32.const 2080) "wait") (data (i32.const 2096) "{}")',
  go: `(if (i32.gt_u (local.get $length) (i32.const 2)) (then (call $call (i32.const 2064) (i32.const 5)
      (i32.const 2080) (i32.const 4) (i32.const 2096) (i32.const 2) (i32.const 0) (i32.const 0) (i32.const 128))))
    (i32.const 7)`,
};

interface Context {
  dir: string;
  ports: FakePorts;
  host(idleMs: number): PluginHost;
}

const hosts: PluginHost[] = [];
const Idle = suite<Context>('a plugin whose process has nothing to do');
Idle.before.each(async (context) => {
  context.dir = await mkdtemp(join(tmpdir(), 'aana-idle-'));
  context.ports = new FakePorts();
  const { dir, ports } = context;
  context.host = (idleMs) => {
    const options = { sandbox: testSandbox, ports, cacheDir: join(dir, 'cache'), log: silentLogger };
    const host = new PluginHost({ ...options, limits: { maxThreads: 1 }, idleMs });
    hosts.push(host);
    return host;
  };
});
Idle.after.each(async ({ dir }) => {
  for (const host of hosts.splice(0)) await host.close();
  await rm(dir, { recursive: true, force: true });
});

/** Waits until the process has ended because nothing ran. */
async function ended(loaded: LoadedPlugin): Promise<void> {
  while (!loaded.isIdle) await delay(1);
  assert.is(loaded.pid, undefined);
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function extismFolder(dir: string): Promise<string> {
  const folder = join(dir, 'extism');
  await mkdir(join(folder, 'dist'), { recursive: true });
  const manifest = { name: 'other', version: '1.0.0', runtime: 'extism', component: 'dist/plugin.wasm' };
  await writeFile(join(folder, 'plugin.json'), JSON.stringify(manifest));
  await writeFile(join(folder, 'dist/plugin.wasm'), await extismModule({ functions: { go: '(answer «7»)' } }));
  return folder;
}

Idle('ends, and the next request starts it, for components and for Extism', async ({ dir, host }) => {
  const plugins = host(20);
  for (const folder of [await watPlugin(join(dir, 'plugin'), plugin), await extismFolder(dir)]) {
    const loaded = await plugins.load(folder);
    const { pid } = loaded;
    await ended(loaded);
    while (isThere(pid!)) await delay(1);
    assert.is(await runPlugin(loaded, 'go'), 7);
    await ended(loaded);
    assert.equal(await Promise.all(Array.from({ length: 5 }, () => runPlugin(loaded, 'go'))), [7, 7, 7, 7, 7]);
    assert.is(loaded.restarts, 0);
    assert.equal(loaded.counters().failed, {});
  }
});

Idle('no request fails or is lost, whenever it comes', async ({ dir, host }) => {
  const loaded = await host(3).load(await watPlugin(join(dir, 'plugin'), plugin));
  const pids = new Set<number | undefined>();
  for (let n = 0; n < 200; n++) {
    assert.is(await runPlugin(loaded, 'go'), 7, `request ${n}`);
    pids.add(loaded.pid);
    await delay(n % 8); // until about the moment at which the process ends
  }
  assert.ok(pids.size > 20, `there were ${pids.size} processes`);
  assert.is(loaded.restarts, 0);
});

Idle('a run that waits for the host keeps its process', async ({ dir, host, ports }) => {
  const plugins = host(20);
  const loaded = await plugins.load(await watPlugin(join(dir, 'plugin'), plugin));
  const manifest = { ...plugin.manifest, name: 'other', component: 'dist/wat.wasm' };
  const other = await plugins.load(await watPlugin(join(dir, 'other'), { ...plugin, manifest }));
  const waiting = runPlugin(loaded, 'go', { wait: true });
  while (ports.waiting < 1) await delay(1);
  const { pid } = loaded;
  // The other one has been idle for as long.
  for (let n = 0; n < 3; n++) {
    await runPlugin(other, 'go');
    await ended(other);
  }
  assert.is(loaded.pid, pid);
  ports.gate.resolve();
  assert.is(await waiting, 7);
  await ended(loaded);
});

Idle('a process that was stopped ends, too', async ({ dir, host }) => {
  const loaded = await host(300).load(await watPlugin(join(dir, 'plugin'), plugin));
  const { pid } = loaded;
  process.kill(pid!, 'SIGSTOP');
  await ended(loaded);
  while (isThere(pid!)) await delay(1);
  assert.is(await runPlugin(loaded, 'go'), 7);
});

Idle('never ends without the setting, and closes and drains without a process', async ({ dir, host }) => {
  const folder = await watPlugin(join(dir, 'plugin'), plugin);
  const lasting = await host(0).load(folder);
  const { pid } = lasting;
  const plugins = host(10);
  const loaded = await plugins.load(folder);
  await ended(loaded);
  const next = await plugins.load(folder, { replaces: loaded });
  await loaded.drain();
  await ended(next);
  await next.close();
  assert.is((await errorOf(runPlugin(next, 'go'))).name, 'PluginUnavailable');
  assert.is(lasting.pid, pid);
  assert.is(lasting.isIdle, false);
});

Idle('requests are refused while it cannot be started again, and served when it can', async ({ dir, host }) => {
  const folder = await watPlugin(join(dir, 'plugin'), plugin);
  const loaded = await host(10).load(folder);
  await ended(loaded);
  const [code, away] = [join(dir, 'cache/plugins'), join(dir, 'away')];
  await rm(code, { recursive: true });
  await rename(join(folder, 'dist'), away);
  const error = await errorOf(runPlugin(loaded, 'go'));
  assert.match(`${error.name} ${error.message}`, /^PluginUnavailable .*cannot start/);
  await rename(away, join(folder, 'dist'));
  while (
    await runPlugin(loaded, 'go').then(
      () => false,
      () => true,
    )
  )
    await delay(5);
  assert.is(loaded.restarts, 0);
});

Idle.run();
