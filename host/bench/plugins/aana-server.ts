// The host with the benchmark's plugin, an endpoint in host code and a deployment that answers at once. Started by
// ../plugins.ts.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type * as z from 'zod';
import { loadConfig } from '../../base/config/index.ts';
import { type Deferred, deferred } from '../../base/core/deferred.ts';
import { createLogger } from '../../base/core/log/logger.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import { EndpointRegistry, hostEndpoint } from '../../endpoints/registry/index.ts';
import { PluginHost } from '../../endpoints/plugins/set/plugin-host.ts';
import type { DeploymentPort } from '../../endpoints/plugins/ports.ts';
import { listen } from './listen.ts';
import { FileBytes, FileInput, Input, Output } from './schemas.ts';
import { served } from './served.ts';
import { testSandbox } from '../../endpoints/plugins/fixtures/test-sandbox.ts';

const config = loadConfig();
const log = createLogger({ level: 'info', format: 'text', write: (line) => process.stderr.write(line) });

let waiting = 0;
let gate: Deferred<void> = deferred();
const echo: DeploymentPort = {
  async call(method, args) {
    if (method !== 'wait') return args;
    waiting++;
    await gate.promise;
    waiting--;
    return args;
  },
  async *stream() {},
};

const unused = (): never => {
  throw new Error('the benchmark uses only deployments');
};

const plugins = new PluginHost({
  sandbox: testSandbox,
  cacheDir: config.cache_dir,
  log,
  limits: { maxConcurrent: 256 },
  ports: {
    deployments: { handle: () => echo, reserve: unused },
    openMediaScope: unused,
    as: unused,
    http: { fetch: unused, open: unused },
    log,
  },
});
const registry = new EndpointRegistry();
const plugin = await plugins.load(join(packageRoot, 'host/bench/fixtures/bench-plugin'));
registry.addPlugin(plugin);
registry.add(
  hostEndpoint({
    name: 'host_noop',
    path: '/host/noop',
    summary: 'For the benchmark',
    input: Input,
    output: Output,
    run: async ({ text, count }: z.output<typeof Input>) => ({ text, count }),
  }),
);
registry.add(
  hostEndpoint({
    name: 'host_upload',
    path: '/host/upload',
    summary: 'For the benchmark',
    input: FileInput,
    output: FileBytes,
    run: async ({ file }: z.output<typeof FileInput>, { files }) => ({
      media_type: 'application/octet-stream' as const,
      base64: await readFile(files.get(file)!.path, 'base64'),
    }),
  }),
);
const { server, port } = await listen(registry, config, log);
served({
  port,
  waiting: () => waiting,
  sandboxes: () => (plugin.pid === undefined ? [] : [plugin.pid]),
  release: () => {
    gate.resolve();
    gate = deferred();
  },
  close: async () => {
    server.destroy();
    await plugins.close();
  },
});
