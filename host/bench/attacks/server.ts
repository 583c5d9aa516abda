// The host with a hostile plugin and a neighbour. Started by ../attacks.ts.
import { join } from 'node:path';
import { loadConfig } from '../../base/config/index.ts';
import { createLogger } from '../../base/core/log/logger.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import { EndpointRegistry } from '../../endpoints/registry/index.ts';
import { FakePorts } from '../../endpoints/plugins/fixtures/fake-ports.ts';
import { PluginHost } from '../../endpoints/plugins/set/plugin-host.ts';
import type { PluginPorts } from '../../endpoints/plugins/ports.ts';
import { listen } from '../plugins/listen.ts';
import { served } from '../plugins/served.ts';
import { testSandbox } from '../../endpoints/plugins/fixtures/test-sandbox.ts';

const config = loadConfig();
const log = createLogger({ level: 'error', format: 'text', write: (line) => process.stderr.write(line) });
const fake = new FakePorts();
/** Deployments that answer at once, under any name. */
const ports: PluginPorts = {
  deployments: { handle: () => fake.deployments.handle('model'), reserve: () => fake.deployments.reserve('model', {}) },
  openMediaScope: () => fake.openMediaScope(),
  as: (caller) => fake.as(caller),
  http: fake.http,
  log,
};

/** The limits of the attack suite, so that attacks reach them while the neighbour is measured. */
const limits = {
  memoryBytes: 64 * 1024 * 1024,
  cpuMs: 2000,
  cpuSliceMs: 1000,
  graceMs: 100,
  outputBytes: 100_000,
  hostCalls: 500,
  handles: 20,
};
const quiet = new PluginHost({
  sandbox: testSandbox,
  cacheDir: config.cache_dir,
  log,
  limits,
  ports,
});
const attacked = new PluginHost({
  sandbox: testSandbox,
  cacheDir: config.cache_dir,
  log,
  limits: { ...limits, maxThreads: Number(process.env['BENCH_THREADS']) },
  ports,
});
const registry = new EndpointRegistry();
registry.addPlugin(await quiet.load(join(packageRoot, 'host/bench/fixtures/bench-plugin')));
registry.addPlugin(await attacked.load(join(packageRoot, 'host/endpoints/plugins/fixtures/attacks')));
const { server, port } = await listen(registry, config, log);
served({
  port,
  close: async () => {
    server.destroy();
    await Promise.all([quiet.close(), attacked.close()]);
  },
});
