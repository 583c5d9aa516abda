// OpenAI's client in a plugin in the real sandbox, which asks a real application with a language model over a real
// socket, beside the same code in Node.
import { rmSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../base/core/log/logger.ts';
import { packageRoot } from '../base/core/package-root.ts';
import { buildTestPlugin, testCacheDir } from '../endpoints/plugins/fixtures/build-test-plugin.ts';
import { FakePorts } from '../endpoints/plugins/fixtures/fake-ports.ts';
import { runPlugin } from '../endpoints/plugins/fixtures/run-plugin.ts';
import { testSandbox } from '../endpoints/plugins/fixtures/test-sandbox.ts';
import { type LoadedPlugin, PluginHost } from '../endpoints/plugins/set/plugin-host.ts';
import { LlamaTextGenerationDeployment } from '../inference/deployments/index.ts';
import { cannotRun } from '../inference/engines/fixtures/cannot-run.ts';
import { writeTinyLlama } from '../../native/lib/fixtures/tiny-llama.ts';
import { skip } from '../test/skip.ts';
import type { AanaApp } from './app.ts';
import { makeApp, makeFolder, started } from './fixtures/test-app.ts';
import { httpPort, networkFrom } from './ports/outgoing-ports.ts';

const fixture = join(packageRoot, 'host', 'application', 'fixtures', 'openai-plugin');
type Client = object;
const { uses, clientOf } = (await import(pathToFileURL(join(fixture, 'src', 'uses.mjs')).href)) as {
  readonly uses: Readonly<Record<string, (client: Client) => Promise<unknown>>>;
  readonly clientOf: (baseURL: string) => Client;
};

const Asking = suite("OpenAI's client in a plugin");
const folder = makeFolder();
let app: AanaApp;
let host: PluginHost | undefined;
let plugin: LoadedPlugin;

Asking.before(async () => {
  const model = join(folder, 'tiny.gguf');
  writeTinyLlama(model);
  app = makeApp(folder, {}, { cache_dir: process.env['AANA_CACHE_DIR'] ?? folder });
  const user_config = { model_id: model, model_kwargs: { n_ctx: 512, n_threads: 1 } };
  app.registerDeployment('llm', LlamaTextGenerationDeployment.options({ user_config }));
  await started(app);
  const hosts = [new URL(app.url!).host];
  const manifest = JSON.parse(await readFile(join(fixture, 'plugin.json'), 'utf8')) as object;
  await writeFile(join(folder, 'plugin.json'), JSON.stringify({ ...manifest, hosts }));
  // Built where the package is.
  await buildTestPlugin(fixture, join(folder, 'dist'));
  const { config } = makeApp(folder, {}, { media: { allow_private_urls: true } });
  host = new PluginHost({
    ...{ sandbox: testSandbox, cacheDir: testCacheDir(), log: silentLogger },
    ports: Object.assign(new FakePorts(), { http: httpPort(config, networkFrom(config)) }),
    grants: { asking: { hosts } },
  });
  plugin = await host.load(folder);
});
Asking.after(async () => {
  await host?.close(); // undefined when `before` failed
  await app?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

for (const [name, use] of Object.entries(uses))
  Asking(`${name} is as in Node`, async () => {
    const baseURL = `${app.url}/v1`;
    const inNode: unknown = JSON.parse(JSON.stringify(await use(clientOf(baseURL))));
    assert.equal(await runPlugin(plugin, 'use', { name, baseURL }), inNode);
  });

if (cannotRun === undefined) Asking.run();
else skip("OpenAI's client in a plugin", cannotRun);
