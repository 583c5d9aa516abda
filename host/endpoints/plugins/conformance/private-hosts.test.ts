// Which private addresses `fetch` of a plugin reaches: those that the operator names, over real sockets.
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { packageRoot } from '../../../base/core/package-root.ts';
import { openGuarded, requestGuarded } from '../../../io/outgoing/index.ts';
import { buildTestPlugin, testCacheDir } from '../fixtures/build-test-plugin.ts';
import { FakePorts } from '../fixtures/fake-ports.ts';
import { runPlugin } from '../fixtures/run-plugin.ts';
import { testSandbox } from '../fixtures/test-sandbox.ts';
import type { HttpPort } from '../ports.ts';
import { skip } from '../../../test/skip.ts';
import { PluginHost } from '../set/plugin-host.ts';

/** An address of this machine in a private network. */
const lan = Object.values(networkInterfaces())
  .flatMap((entries) => entries ?? [])
  .map(({ address }) => address)
  .find((address) => /^(10|192\.168|172\.(1[6-9]|2\d|3[01]))\./.test(address));

/** What a name server says. */
const names: Record<string, readonly string[]> = {
  'loopback.test': ['127.0.0.1'],
  'metadata.test': ['169.254.169.254'],
  'both.test': ['10.255.255.1', '127.0.0.1'],
  'lan.test': [lan ?? '10.255.255.1'],
};
const guards = {
  ...{ maxRedirects: 5, allowPrivate: false, idleTimeoutMs: 20_000, maxBytes: 1_000_000 },
  lookup: async (name: string) => names[name] ?? [],
};
const http: HttpPort = {
  fetch: (request, options) => requestGuarded(request, { ...guards, timeoutMs: 20_000, ...options }),
  open: (request, options) => openGuarded(request, { ...guards, ...options }),
};

const Private = suite('private addresses and grants');
let dir = '';
let server: Server;
let port = 0;
let asked = 0;

Private.before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'aana-private-'));
  await cp(join(packageRoot, 'host/endpoints/plugins/fixtures/fetch'), dir, { recursive: true });
  server = createServer((request, response) => {
    asked++;
    if (request.url === '/text') response.end('reached');
    else response.writeHead(302, { location: decodeURIComponent(request.url!.slice(1)) }).end();
  });
  await new Promise<void>((resolve) => void server.listen(0, lan === undefined ? '127.0.0.1' : '0.0.0.0', resolve));
  ({ port } = server.address() as AddressInfo);
  const hosts = [`127.0.0.1:${port}`, `localhost:${port}`, `*.test:${port}`, 'lan.test'];
  const wanted = { entry: 'src/index.mjs', capabilities: ['http'], hosts };
  await writeFile(join(dir, 'plugin.json'), JSON.stringify({ name: 'asks', version: '1.0.0', ...wanted }));
  await buildTestPlugin(dir);
});
Private.after(async () => {
  server.close();
  await rm(dir, { recursive: true, force: true });
});

/** Returns what the plugin gets from a URL with these grants: the text, or the name of its error. */
async function ask(hosts: readonly string[], url: string): Promise<unknown> {
  const host = new PluginHost({
    ...{ sandbox: testSandbox, ports: Object.assign(new FakePorts(), { http }), cacheDir: testCacheDir() },
    ...{ log: silentLogger, grants: { asks: { hosts } } },
  });
  const plugin = await host.load(dir);
  asked = 0;
  const result = await runPlugin(plugin, 'ask', { url }).catch((error: Error) => error.name);
  await host.close();
  if (result !== 'reached') assert.is(asked, url.includes('%3A') ? 1 : 0);
  return result;
}

Private('a grant of the address, or of localhost, reaches it', async () => {
  assert.is(await ask([`127.0.0.1:${port}`], `http://127.0.0.1:${port}/text`), 'reached');
  assert.is(await ask([`localhost:${port}`], `http://localhost:${port}/text`), 'reached');
});

Private('a grant of every host does not, and neither does the wish of the plugin alone', async () => {
  assert.is(await ask(['*'], `http://127.0.0.1:${port}/text`), 'PrivateAddressException');
  assert.is(await ask([`*.test:${port}`], `http://lan.test:${port}/text`), 'PrivateAddressException');
  assert.is(await ask([], `http://127.0.0.1:${port}/text`), 'HostDenied');
});

Private('a grant of another port or address does not', async () => {
  assert.is(await ask([`127.0.0.1:${port + 1}`], `http://127.0.0.1:${port}/text`), 'HostDenied');
  assert.is(await ask([`127.0.0.2:${port}`], `http://127.0.0.1:${port}/text`), 'HostDenied');
});

Private('a name with its port does not lead to this machine or to a metadata service', async () => {
  for (const name of ['loopback.test', 'metadata.test', 'both.test'])
    assert.is(await ask([`${name}:${port}`], `http://${name}:${port}/text`), 'PrivateAddressException', name);
});

Private('a redirect from a named address leads to no other one', async () => {
  const to = encodeURIComponent(`http://loopback.test:${port}/text`);
  assert.is(await ask(['*', `127.0.0.1:${port}`], `http://127.0.0.1:${port}/${to}`), 'PrivateAddressException');
});

if (lan === undefined) skip('names with ports', 'this machine has no address in a private network');
else
  Private('a name with its port leads to a private network, and without its port it does not', async () => {
    assert.is(await ask([`lan.test:${port}`], `http://lan.test:${port}/text`), 'reached');
    assert.is(await ask(['lan.test'], 'http://lan.test/text'), 'PrivateAddressException');
  });

Private.run();
