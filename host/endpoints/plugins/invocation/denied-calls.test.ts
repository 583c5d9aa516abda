import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { FakePorts } from '../fixtures/fake-ports.ts';
import { runPlugin } from '../fixtures/run-plugin.ts';
import { testSandbox } from '../fixtures/test-sandbox.ts';
import { watPlugin } from '../fixtures/wat-plugin.ts';
import { PluginHost } from '../set/plugin-host.ts';

const Denied = suite('calls that are denied');

Denied('are counted for the plugin, also if it goes on', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'aana-denied-'));
  const ports = new FakePorts();
  ports.gate.resolve();
  const options = { sandbox: testSandbox, ports, cacheDir: join(dir, 'cache'), log: silentLogger };
  const host = new PluginHost({ ...options, limits: { maxThreads: 1 } });
  try {
    // It calls the deployment `model`, or with a long input `other`, and answers with 7 in any case.
    const folder = await watPlugin(join(dir, 'plugin'), {
      manifest: { capabilities: ['deployments'], deployments: ['model'] },
      imports: '(import "aana:host/deployments@0.1.0" "call" (func $call (param i32 i32 i32 i32 i32 i32 i32 i32 i32)))',
      declarations:
        '(data (i32.const 2064) "model") (data (i32.const 2072) "other") (data (i32.const 2080) "wait") ' +
        '(data (i32.const 2096) "{}")',
      go: `(call $call (select (i32.const 2072) (i32.const 2064) (i32.gt_u (local.get $length) (i32.const 2)))
          (i32.const 5) (i32.const 2080) (i32.const 4) (i32.const 2096) (i32.const 2) (i32.const 0) (i32.const 0)
          (i32.const 128))
        (i32.const 7)`,
    });
    const loaded = await host.load(folder);
    assert.is(await runPlugin(loaded, 'go'), 7);
    assert.is(loaded.counters().denied, 0);
    for (let n = 1; n <= 2; n++) {
      assert.is(await runPlugin(loaded, 'go', { long: true }), 7);
      assert.is(loaded.counters().denied, n);
    }
    assert.is(ports.waits.length, 1);
  } finally {
    await host.close();
    await rm(dir, { recursive: true, force: true });
  }
});

Denied.run();
