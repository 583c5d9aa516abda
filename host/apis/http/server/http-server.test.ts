import { once } from 'node:events';
import { connect } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { createLogger } from '../../../base/core/log/logger.ts';
import { eventually } from '../fixtures/eventually.ts';
import { startServer, rawPost } from '../fixtures/test-server.ts';
import { HttpServer } from '../index.ts';

const Server = suite('HttpServer');
const LIMITS = { header_timeout_s: 60, request_timeout_s: 60, keep_alive_timeout_s: 60 };

const post = (url: string, body: unknown): Promise<Response> =>
  fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

/**
 * The answer to the first request that is taken: closed connections are counted until the server has seen their end.
 */
async function served(url: string): Promise<string> {
  for (;;) {
    const response = await fetch(url).catch(() => undefined);
    if (response) return response.text();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

Server('reports a used port in one sentence', async () => {
  await using first = await startServer();
  const second = new HttpServer(() => {}, LIMITS);
  const error = await second.listen('127.0.0.1', first.port).catch((thrown: unknown) => thrown as Error);
  assert.is((error as Error).name, 'ListenError');
  assert.is(
    (error as Error).message,
    `port ${first.port} on 127.0.0.1 is already in use: stop the program that uses it, or choose another port ` +
      `with --port`,
  );
});

Server('lets running requests finish when it closes, and accepts no new ones', async () => {
  await using at = await startServer();
  const idle = await post(`${at.url}/echo`, { text: '' });
  await idle.text();
  const running = post(`${at.url}/wait`, { ms: 300 });
  await eventually(() => at.seen.running > 0, 'the request arrives');
  const closed = at.server.close(600_000);
  await new Promise((resolve) => setTimeout(resolve, 50));
  const response = await running;
  assert.is(await response.text(), '{"waited":300}');
  await closed;
  assert.instance(await post(`${at.url}/echo`, {}).catch((error: unknown) => error), Error);
});

Server('aborts and ends running requests when the grace period is over', async () => {
  await using at = await startServer();
  const running = post(`${at.url}/wait`, {}).catch((error: unknown) => error);
  await eventually(() => at.seen.running > 0, 'the request arrives');
  await at.server.close(50);
  assert.instance(await running, Error);
  await eventually(() => at.seen.aborted !== undefined, 'the abort');
  await at.server.close(50); // twice is fine
});

Server('ends a connection that sends its head or its body too slowly, with 408 in the four keys', async () => {
  await using at = await startServer();
  const socket = await rawPost(at.port, '/echo', { text: '' });
  await new Promise((resolve) => socket.once('data', resolve));
  socket.write('POST /echo HTTP/1.1\r\nhost: x\r\n');
  let text = '';
  for await (const part of socket) text += String(part);
  assert.match(text, /^HTTP\/1\.1 408 /);
  assert.match(text, '"error":"RequestTimeout"');
});

Server('does not wait for connections without a request when it closes', async () => {
  await using at = await startServer();
  const socket = connect(at.port, '127.0.0.1');
  await once(socket, 'connect');
  const running = post(`${at.url}/wait`, { ms: 1000 });
  await eventually(() => at.seen.running > 0, 'the request arrives');
  const closed = at.server.close(600_000);
  await once(socket.resume(), 'close');
  assert.is((await running).status, 200);
  await closed;
});

Server('closes connections over the limit at once, and logs it', async () => {
  const lines: string[] = [];
  const log = createLogger({ level: 'warn', format: 'text', write: (line) => void lines.push(line) });
  const server = new HttpServer((_, res) => void res.end('here'), { ...LIMITS, max_connections: 2 }, { log });
  const { port, url } = await server.listen('127.0.0.1', 0);
  const open = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')];
  await Promise.all(open.map((socket) => once(socket, 'connect')));
  for (let n = 0; n < 3; n++) {
    const third = connect(port, '127.0.0.1').on('error', () => {});
    await once(third.resume(), 'close');
  }
  assert.is(lines.length, 1);
  assert.match(lines[0] ?? '', 'limits.max_connections');
  for (const socket of open) socket.destroy();
  assert.is(await served(url), 'here');
  await server.close(0);
});

Server('refuses a head that is larger than its limit, with 431 in the four keys', async () => {
  const server = new HttpServer((_, res) => void res.end('here'), { ...LIMITS, max_header_bytes: 2048 });
  const { url } = await server.listen('127.0.0.1', 0);
  assert.is((await fetch(url, { headers: { x: 'y'.repeat(1000) } })).status, 200);
  const response = await fetch(url, { headers: { x: 'y'.repeat(3000) } });
  assert.is(response.status, 431);
  assert.is(((await response.json()) as { error: string }).error, 'HeadTooLarge');
  await server.close(0);
});

Server('closes when nothing was ever opened', async () => {
  const server = new HttpServer(() => {}, LIMITS);
  await server.close(1000);
});

Server.run();
