import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../core/logger.ts';
import { skip } from '../../test/skip.ts';
import { compileFixture, installCompiler } from '../fixtures/assemblyscript/guest.ts';
import { FakePorts } from '../fixtures/fake-ports.ts';
import { type LoadedPlugin, PluginHost } from '../plugin-host.ts';
import type { PluginInvocation } from '../plugin-runtime.ts';

interface Context {
  ports: FakePorts;
  run(endpoint: string, input?: unknown, options?: Partial<PluginInvocation>): Promise<unknown>;
}

const Capabilities = suite<Context>('capabilities of Extism plugins');
const compiler = await installCompiler();
if (compiler.missing !== undefined) skip('capabilities of Extism plugins', compiler.missing);
else {
  let dir = '';
  let host: PluginHost | undefined;
  let plugin: LoadedPlugin;

  Capabilities.before(async (context) => {
    dir = await mkdtemp(join(tmpdir(), 'aana-extism-'));
    await cp(await compileFixture(compiler.dir, 'capabilities'), join(dir, 'dist', 'capable.wasm'));
    const manifest = { name: 'capable', version: '1.0.0', runtime: 'extism', capabilities: ['media', 'storage', 'http', 'remote'], hosts: ['api.example.org', 'other.example.org'] };
    await writeFile(join(dir, 'plugin.json'), JSON.stringify(manifest));
    context.ports = new FakePorts();
    host = new PluginHost({ ports: context.ports, cacheDir: join(dir, 'cache'), log: silentLogger, grants: { capable: { hosts: ['api.example.org'] } } });
    plugin = await host.load(dir);
    context.run = async (endpoint, input = {}, options = {}) =>
      JSON.parse(await plugin.run({ endpoint, input: JSON.stringify(input), requestId: 'r', deadlineMs: 30_000, signal: new AbortController().signal, files: new Map(), ...options }));
  });
  Capabilities.after(async () => {
    await host?.close(); // undefined when `before` failed
    await rm(dir, { recursive: true, force: true });
  });

  Capabilities('values are kept by key, in bytes', async ({ run, ports }) => {
    assert.equal(await run('store'), ['none', '', ['b', 'c'], 'välue 1', true, false]);
    assert.equal([...ports.values.keys()], ['capable a', 'capable c']);
  });

  Capabilities('requests go to the hosts that are asked for and granted', async ({ run }) => {
    const request = { method: 'post', url: 'https://api.example.org/x', headers: [['X-Test', 'yes']] };
    assert.equal(await run('request', { request }), { head: { status: 201, url: request.url, headers: [['x-test', 'yes'], ['x-method', 'post']] }, body: 'sent' });
    for (const url of ['https://other.example.org/x', 'https://example.com/']) {
      assert.is(await run('request', { request: { url } }).catch((error: Error) => error.name), 'HostDenied');
    }
  });

  Capabilities('helpers run beside their plugin; one that there is not is an error of its own', async ({ run }) => {
    assert.equal(await run('helped'), [0, 2, 4, 'HelperNotFound']);
  });

  Capabilities('an image tells its size and its pixels; how far a run has come is told', async ({ run }) => {
    assert.equal(await run('image'), { info: { width: 640, height: 480, format: 'png' }, pixels: [0, 1, 2, 3, 4, 5] });
    const reports: unknown[] = [];
    await run('progress', {}, { onProgress: (...report) => void reports.push(report) });
    assert.equal(reports, [[0.25, 'a quarter']]);
  });

  Capabilities.run();
}
