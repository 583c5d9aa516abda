// `fetch` and what belongs to it, in the real sandbox over real sockets, beside Node's own: the same module runs in
// both, and must give the same.
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { pathToFileURL } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { deferred } from '../../../base/core/deferred.ts';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { packageRoot } from '../../../base/core/package-root.ts';
import { openGuarded, requestGuarded } from '../../../io/outgoing/index.ts';
import { errorOf } from '../../../test/helpers/error-of.ts';
import { until } from '../../../test/helpers/server.ts';
import { buildTestPlugin, testCacheDir } from '../fixtures/build-test-plugin.ts';
import { FakePorts } from '../fixtures/fake-ports.ts';
import { runPlugin } from '../fixtures/run-plugin.ts';
import { testSandbox } from '../fixtures/test-sandbox.ts';
import type { HttpPort } from '../ports.ts';
import { type LoadedPlugin, PluginHost } from '../set/plugin-host.ts';

type Cases = Readonly<Record<string, (server: string) => Promise<unknown>>>;
const fixture = join(packageRoot, 'host/endpoints/plugins/fixtures/fetch');
const { cases } = (await import(pathToFileURL(join(fixture, 'src/cases.mjs')).href)) as { readonly cases: Cases };

const Fetch = suite('fetch in the sandbox');
let dir = '';
let server: Server;
let url = '';
let host: PluginHost | undefined;
let plugin: LoadedPlugin;
/** Answers without an end that are being sent. */
const endless = new Set<ServerResponse>();

const guards = { maxRedirects: 5, allowPrivate: true, idleTimeoutMs: 20_000, maxBytes: 32 * 1024 * 1024 };
const http: HttpPort = {
  fetch: (request, options) => requestGuarded(request, { ...guards, timeoutMs: 20_000, ...options }),
  open: ({ followRedirects, ...request }, options) =>
    openGuarded(request, { ...guards, ...(!followRedirects && { maxRedirects: 0 }), ...options }),
};

Fetch.before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'aana-fetch-'));
  await cp(fixture, dir, { recursive: true });
  server = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  url = `http://127.0.0.1:${port}`;
  const hosts = [`127.0.0.1:${port}`, '127.0.0.1:1'];
  const manifest = { name: 'fetching', version: '1.0.0', entry: 'src/index.mjs', capabilities: ['http'], hosts };
  await writeFile(join(dir, 'plugin.json'), JSON.stringify(manifest));
  await buildTestPlugin(dir);
  host = new PluginHost({
    ...{ sandbox: testSandbox, ports: Object.assign(new FakePorts(), { http }), cacheDir: testCacheDir() },
    ...{ log: silentLogger, grants: { fetching: { hosts, limits: { handles: 40 } } } },
  });
  plugin = await host.load(dir);
});
Fetch.after(async () => {
  await host?.close();
  server?.closeAllConnections();
  server?.close();
  await rm(dir, { recursive: true, force: true });
});

for (const [name, inNode] of Object.entries(cases)) {
  Fetch(name, async () => {
    const expected: unknown = JSON.parse(JSON.stringify(await inNode(url)));
    await until(async () => endless.size === 0);
    assert.equal(await runPlugin(plugin, 'case', { name, server: url }), expected);
  });
}

Fetch('an ordinary function can wait for it', async () => {
  assert.equal(await runPlugin(plugin, 'wait', { url: `${url}/text` }), [200, 'Tëxt 😀!']);
});

Fetch('an error that nobody catches is the answer, with the reason of the host', async () => {
  const denied = await errorOf(runPlugin(plugin, 'ask', { url: 'http://127.0.0.2/' }));
  assert.equal([denied.name, denied.kind], ['HostDenied', 'denied']);
  const [name, kind, message] = (await runPlugin(plugin, 'cause', { url: `${url}/reset` })) as string[];
  assert.is(name, 'UpstreamFailed');
  assert.is(kind, 'unavailable');
  assert.match(message!, `cannot fetch ${url}/reset: the connection was closed before the end`);
});

Fetch('a redirect to a host that is not granted is refused', async () => {
  const denied = await errorOf(runPlugin(plugin, 'ask', { url: `${url}/away` }));
  assert.equal([denied.name, denied.kind], ['HostDenied', 'denied']);
});

Fetch('a body has at most 8 MiB', async () => {
  const length = 8 * 1024 * 1024;
  for (const isText of [true, false]) {
    const send = (more: number): Promise<unknown> =>
      runPlugin(plugin, 'send', { url: `${url}/count`, length: length + more, isText });
    assert.is(await send(0), String(length));
    const error = await errorOf(send(1));
    assert.equal([error.name, /8388608 bytes/.test(error.message)], ['InvalidRequest', true]);
  }
});

Fetch('an error of the host has the place of the call', async () => {
  const [asked, opened] = (await runPlugin(plugin, 'place', { url: `${url}/reset` })) as string[];
  // The functions of a build have no names. The log has the lines of the sources.
  const frame = /<anonymous> \(\/aana-bundle\.js:(\d+):(\d+)/;
  const [first, second] = [asked, opened].map((stack) => frame.exec(stack!)!.slice(1).map(Number));
  const isBefore = first![0] === second![0] ? first![1]! < second![1]! : first![0]! < second![0]!;
  assert.ok(isBefore, `${asked}\n${opened}`);
});

Fetch('structuredClone copies files, blobs, keys and errors of the web, and refuses what is open', async () => {
  // Node 20 makes a Blob of a File, and an empty object of the others.
  assert.equal(await runPlugin(plugin, 'clones', {}), [
    [true, 'AbortError', 'm'],
    ...[
      ['n', 'a/b', 5, 'ü'],
      [true, true, false],
      [false, 'ü'],
      [true, false, { name: 'HKDF' }, ['deriveBits']],
    ],
    Array.from({ length: 8 }, () => 'DataCloneError'),
  ]);
});

Fetch('a request that nobody waits for is found', async () => {
  const error = await errorOf(runPlugin(plugin, 'forget', { url: `${url}/text` }));
  assert.match(error.message, /"await" is missing/);
});

Fetch('answers that are kept have a limit, which names them', async () => {
  assert.is(await runPlugin(plugin, 'keep', { url: `${url}/text`, count: 40 }), 40);
  const error = await errorOf(runPlugin(plugin, 'keep', { url: `${url}/text`, count: 41 }));
  assert.equal([error.name, /requests/.test(error.message)], ['TooManyHandles', true]);
});

for (const kind of ['aborted', 'late', 'unread', 'cancelled', 'left'])
  Fetch(`the losers of 100 races hold nothing: ${kind}`, async () => {
    assert.equal(await runPlugin(plugin, 'races', { server: url, kind, count: 100 }), ['Tëxt 😀!']);
    await until(async () => endless.size === 0);
  });

Fetch('an answer that is too large fails with the limit, also without a length', async () => {
  const [name, kind, message] = (await runPlugin(plugin, 'cause', { url: `${url}/too-much` })) as string[];
  assert.equal([name, kind], ['ResponseTooLarge', 'too-large']);
  assert.match(message!, /more than 33554432 bytes/);
});

Fetch('a client that leaves ends the request of the plugin', async () => {
  const leaving = new AbortController();
  const running = runPlugin(plugin, 'ask', { url: `${url}/endless` }, { signal: leaving.signal });
  await until(async () => endless.size === 1);
  leaving.abort();
  assert.is((await errorOf(running)).kind, 'cancelled');
  await until(async () => endless.size === 0);
});

Fetch.run();

const together: (() => void)[] = [];
const steps = new Map<string, { readonly response: ServerResponse; left: string[] }>();
let ended = deferred<void>();

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, search } = new URL(request.url!, url);
  const query = search.slice(1);
  switch (pathname) {
    case '/echo': {
      const pieces: Buffer[] = [];
      for await (const piece of request) pieces.push(piece as Buffer);
      const { method, headers } = request;
      const body = Buffer.concat(pieces).toString();
      const json = JSON.stringify({ method, url: pathname + search, type: headers['content-type'], headers, body });
      return void response.setHeader('content-type', 'application/json').end(json);
    }
    case '/count': {
      let bytes = 0;
      for await (const piece of request) bytes += (piece as Buffer).length;
      return void response.end(String(bytes));
    }
    case '/text':
      return void response.setHeader('content-type', 'text/plain').end('Tëxt 😀!');
    case '/json':
      return void response.end('{"a":[1,"ü"]}');
    case '/odd':
      response.writeHead(418, 'Short and stout', { 'x-twice': ['1', '2'], 'set-cookie': ['a=1', 'b=2; Path=/'] });
      return void response.end();
    case '/status':
      return void response.writeHead(Number(query)).end();
    case '/redirect':
      return void response.writeHead(Number(query), { location: '/echo?to' }).end();
    case '/loop':
      return void response.writeHead(302, { location: '/loop' }).end();
    case '/away':
      return void response.writeHead(302, { location: 'http://127.0.0.2/' }).end();
    case '/steps':
      response.write('step 0');
      return void steps.set(query, { response, left: ['step 1', 'step 2'] });
    case '/step': {
      const { response: sending, left } = steps.get(query)!;
      const next = left.shift();
      if (next === undefined) sending.end();
      else sending.write(next);
      return void response.end();
    }
    case '/cut': {
      const whole = Buffer.from('€uro, 語, 😀 and é');
      for (const byte of whole) {
        response.write(Buffer.of(byte));
        await new Promise(setImmediate);
      }
      return void response.end();
    }
    case '/mark':
      return void response.end('\ufeffafter the mark');
    case '/much':
      return void response.end('0123456789ü'.repeat(600_000));
    case '/too-much': {
      const pieces = Array.from({ length: 40 }, () => Buffer.alloc(1024 * 1024));
      return pipeline(Readable.from(pieces), response).catch(() => {});
    }
    case '/endless': {
      endless.add(response);
      ended = deferred();
      response.once('close', () => {
        endless.delete(response);
        ended.resolve();
      });
      while (!response.destroyed) {
        response.write('more');
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
      return;
    }
    case '/wait-for-end':
      await ended.promise;
      return void response.end('{"ended":true}');
    case '/together':
      together.push(() => response.end(query));
      if (together.length === 5) for (const go of together.splice(0)) go();
      return;
    case '/reset':
      return void request.socket.destroy();
    case '/cut-off':
      response.writeHead(200, { 'content-length': 100 });
      response.write('not all');
      return void setTimeout(() => request.socket.destroy(), 5);
    case '/never':
      return;
    default:
      response.writeHead(404).end();
  }
}
