// Connections that are kept between requests, to real servers that close them at bad moments.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { errorOf } from '../../test/helpers/error-of.ts';
import { startForwardProxy } from '../../test/helpers/outgoing.ts';
import { KeptConnections, networkOf, readUpTo } from './index.ts';

const Kept = suite('connections that are kept');
const servers: Server[] = [];
const pools: KeptConnections[] = [];
Kept.after.each(() => {
  for (const pool of pools.splice(0)) pool.close();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

interface At {
  readonly url: URL;
  readonly server: Server;
  /** All connections that the server got. */
  readonly sockets: Socket[];
}

async function serve(listener: RequestListener): Promise<At> {
  const server = createServer(listener);
  servers.push(server);
  const sockets: Socket[] = [];
  server.on('connection', (socket) => void sockets.push(socket.on('error', () => {})));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`), server, sockets };
}

function to({ url }: Pick<At, 'url'>, httpProxy: string | null = null): KeptConnections {
  const network = networkOf({
    ...{ httpProxy, httpsProxy: null, noProxy: [], proxyResolves: false, authorityFiles: [] },
  });
  const pool = new KeptConnections({ url, network, idleTimeoutMs: 20_000 });
  pools.push(pool);
  return pool;
}

async function ask(pool: KeptConnections, { url }: Pick<At, 'url'>, text = 'text'): Promise<string> {
  const { signal } = new AbortController();
  const answer = await pool.send({ method: 'POST', url, headers: [], body: Buffer.from(text) }, signal);
  return (await readUpTo(1e6, answer as AsyncIterable<Buffer>)).toString();
}

const isOpen = ({ destroyed }: Socket): boolean => !destroyed;

const echo: RequestListener = (request, response) => void request.pipe(response);

Kept('serve requests one after the other, and few of those for many at once stay', async () => {
  const at = await serve(echo);
  const pool = to(at);
  for (let n = 0; n < 20; n += 1) assert.is(await ask(pool, at, `${n}`), `${n}`);
  assert.is(at.sockets.length, 1);
  const texts = Array.from({ length: 40 }, (_, n) => `${n}`);
  assert.equal(await Promise.all(texts.map((text) => ask(pool, at, text))), texts);
  const open = (): number => at.sockets.filter(isOpen).length;
  while (open() > 16) await Promise.race(at.sockets.filter(isOpen).map((socket) => once(socket, 'close')));
  const made = at.sockets.length;
  await Promise.all(texts.slice(0, 16).map((text) => ask(pool, at, text)));
  assert.is(at.sockets.length, made, '16 requests need no new connection');
});

Kept('that the server closes are replaced, also when it does so as a request arrives', async () => {
  for (const close of ['end', 'destroy', 'resetAndDestroy'] as const) {
    const used = new Set<Socket>();
    const at = await serve((request, response) => {
      if (used.has(request.socket)) request.socket[close](); // without an answer
      else void request.pipe(response);
      used.add(request.socket);
    });
    const pool = to(at);
    for (let n = 0; n < 6; n += 1) assert.is(await ask(pool, at, `${n}`), `${n}`, close);
    assert.is(at.sockets.length, 6, close);
  }
});

Kept('to a server that never answers fail after the second', async () => {
  let requests = 0;
  const at = await serve((request, response) => {
    requests += 1;
    if (requests === 1) void request.pipe(response);
    else request.socket.destroy();
  });
  const pool = to(at);
  await ask(pool, at);
  assert.is((await errorOf<NodeJS.ErrnoException>(ask(pool, at), Error)).code, 'ECONNRESET');
  assert.is(requests, 3);
  assert.is((await errorOf<NodeJS.ErrnoException>(ask(pool, at), Error)).code, 'ECONNRESET');
  assert.is(requests, 4, 'a new connection is not tried twice');
});

Kept('are closed with a request that is cancelled or whose answer is left, and others go on', async () => {
  const at = await serve((request, response) => {
    if (request.url === '/silent') response.write('begun');
    else void request.pipe(response);
  });
  const pool = to(at);
  const silent = new URL('/silent', at.url);
  const client = new AbortController();
  const left = await pool.send({ method: 'GET', url: silent, headers: [] }, new AbortController().signal);
  const cancelled = await pool.send({ method: 'GET', url: silent, headers: [] }, client.signal);
  const ended = at.sockets.map((socket) => once(socket, 'close'));
  left.destroy();
  client.abort(new Error('gone'));
  await errorOf(readUpTo(1e6, cancelled), Error);
  await Promise.all(ended);
  assert.is(await ask(pool, at), 'text');
  assert.is(at.sockets.length, 3);
  assert.match(
    (await errorOf(pool.send({ method: 'GET', url: silent, headers: [] }, client.signal), Error)).message,
    /gone/,
  );
});

Kept('are closed when their owner ends', async () => {
  const at = await serve(echo);
  const pool = to(at);
  await ask(pool, at);
  const [socket] = at.sockets;
  const closed = once(socket!, 'close');
  pool.close();
  await closed;
});

Kept('go through the proxy, which also keeps its connection', async () => {
  const { url } = await serve(echo);
  const at = { url: new URL(`http://media.test:${url.port}/`) };
  await using proxy = await startForwardProxy({ credentials: 'me:s3cret' });
  const pool = to(at, proxy.url);
  for (let n = 0; n < 3; n += 1) assert.is(await ask(pool, at, `${n}`), `${n}`);
  const asked = `POST ${at.url.href}`;
  assert.equal(proxy.asked, [asked, asked, asked]);
});

Kept('do not keep the process running', async () => {
  const at = await serve(echo);
  const module = fileURLToPath(new URL('kept-connections.js', import.meta.url));
  const script =
    `import { KeptConnections } from ${JSON.stringify(module)};` +
    `const url = new URL(${JSON.stringify(at.url.href)});` +
    `const pool = new KeptConnections({ url, idleTimeoutMs: 20000 });` +
    `const answer = await pool.send({ method: 'GET', url, headers: [] }, new AbortController().signal);` +
    `console.log(answer.statusCode, (await answer.toArray()).length);`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script]);
  assert.is(stdout, '200 0\n');
});

Kept.run();
