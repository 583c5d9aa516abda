// Measures the memory of a process in which many requests of one plugin wait, in one thread or in one thread each.
// Started by ../interrupts.ts with a mode and a number of requests.
import { join } from 'node:path';
import { loadConfig } from '../../base/config/index.ts';
import { delay } from '../../base/core/abort.ts';
import { silentLogger } from '../../base/core/log/logger.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import { FakePorts } from '../../endpoints/plugins/fixtures/fake-ports.ts';
import { PluginHost } from '../../endpoints/plugins/set/plugin-host.ts';
import type { RuntimeMode } from '../../endpoints/plugins/invocation/protocol.ts';

const mode = process.argv[2] as RuntimeMode;
const count = Number(process.argv[3]);
const ports = new FakePorts();
const host = new PluginHost({
  ports,
  cacheDir: loadConfig().cache_dir,
  log: silentLogger,
  mode,
  limits: { maxThreads: count, maxSuspended: count },
});
const plugin = await host.load(join(packageRoot, 'host/endpoints/plugins/fixtures/conformance'));
await delay(1000);
const before = { rss: process.memoryUsage.rss(), cpu: process.cpuUsage() };
const running = Array.from({ length: count }, () =>
  plugin.run({
    endpoint: 'call',
    input: '{"text":"wait"}',
    requestId: 'benchmark',
    deadlineMs: 600_000,
    signal: new AbortController().signal,
    files: new Map(),
  }),
);
while (ports.waiting < count) await delay(20);
const { user, system } = process.cpuUsage(before.cpu);
process.stdout.write(
  JSON.stringify({
    mbEach: (process.memoryUsage.rss() - before.rss) / 2 ** 20 / count,
    cpuMsEach: (user + system) / 1000 / count,
  }),
);
ports.gate.resolve();
await Promise.all(running);
await host.close();
