// Clients that go away, send without end, or do not speak HTTP.
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../../base/core/log/logger.ts';
import { eventually } from '../fixtures/eventually.ts';
import { rawPost, startServer, type TestServer } from '../fixtures/test-server.ts';

const Clients = suite('odd clients of the HTTP application');
let at: TestServer;

Clients.before(async () => {
  at = await startServer();
});
Clients.after(async () => at[Symbol.asyncDispose]());
Clients.after.each(() => assert.equal(at.leftovers(), [], 'uploads are gone with their request'));

async function isServing(): Promise<boolean> {
  return (
    (
      await fetch(`${at.url}/echo`, {
        method: 'POST',
        body: '{"text":"still serving"}',
        headers: { 'content-type': 'application/json' },
      })
    ).status === 200
  );
}

Clients('leaves nothing on the disk when the client goes away in the middle of an upload', async () => {
  const head = '--b\r\ncontent-disposition: form-data; name="clip"; filename="a"\r\ncontent-type: video/webm\r\n\r\n';
  const socket = await rawPost(at.port, '/echo', { text: 'first' });
  await new Promise((resolve) => socket.once('data', resolve));
  socket.write(
    `POST /video/size HTTP/1.1\r\nhost: x\r\ncontent-type: multipart/form-data; boundary=b\r\ncontent-length: ` +
      `100000\r\n\r\n${head}${'x'.repeat(20_000)}`,
  );
  await eventually(() => at.leftovers().length === 1, 'the upload begins');
  socket.destroy();
  await eventually(() => at.leftovers().length === 0, 'the upload is removed');
});

Clients('leaves nothing behind when the client leaves before the upload is checked', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'aana-http-'));
  let arrived = (): void => {};
  let goOn = (): void => {};
  const hasArrived = new Promise<void>((resolve) => (arrived = resolve));
  const hasGone = new Promise<void>((resolve) => (goOn = resolve));
  const statuses: unknown[] = [];
  const tempDir = async (): Promise<string> => {
    arrived();
    await hasGone;
    return folder;
  };
  await using server = await startServer({
    tempDir,
    log: { ...silentLogger, info: (_, fields) => void statuses.push(fields?.['status']) },
  });
  const socket = connect(server.port, '127.0.0.1');
  socket.write(
    'POST /video/size HTTP/1.1\r\nhost: x\r\ncontent-type: multipart/form-data; boundary=b\r\ncontent-length: ' +
      '100000\r\n\r\n--b',
  );
  await hasArrived;
  socket.destroy();
  await eventually(() => server.seen.closed > 0, 'the server sees that the client has gone');
  goOn();
  await eventually(() => statuses.length > 0, 'the request ends');
  assert.equal(statuses, [499]);
  assert.equal(readdirSync(folder), []);
  rmSync(folder, { recursive: true });
});

Clients('ends a request whose part has headers without end, before they fill the memory', async () => {
  const socket = await rawPost(at.port, '/echo', { text: '' });
  await new Promise((resolve) => socket.once('data', resolve));
  const closed = new AbortController();
  socket.on('error', () => {}).once('close', () => closed.abort());
  socket.write(
    'POST /echo HTTP/1.1\r\nhost: x\r\ncontent-type: multipart/form-data; boundary=b\r\ntransfer-encoding: ' +
      'chunked\r\n\r\n',
  );
  const chunk = (data: string): string => `${data.length.toString(16)}\r\n${data}\r\n`;
  socket.write(chunk('--b\r\nx-long: '));
  const before = process.memoryUsage.rss();
  let most = 0;
  while (!socket.destroyed) {
    most = Math.max(most, process.memoryUsage.rss() - before);
    if (!socket.write(chunk('x'.repeat(60_000))))
      await once(socket, 'drain', { signal: closed.signal }).catch(() => {});
  }
  assert.ok(most < 300 * 1024 * 1024, `${most} bytes of memory were taken`);
  assert.ok(await isServing());
  // Nobody is told when the server is done with a request that it has ended.
  await eventually(() => at.leftovers().length === 0, 'uploads are gone with their request');
});

Clients('answers requests that Node would refuse silently, with the four keys', async () => {
  const raw = async (head: string): Promise<string> => {
    const socket = connect(at.port, '127.0.0.1');
    socket.write(head);
    let text = '';
    for await (const part of socket) text += String(part);
    assert.equal(Object.keys(JSON.parse(text.slice(text.indexOf('{')))), ['error', 'message', 'data', 'stacktrace']);
    return text;
  };
  assert.match(await raw('GET /api/ready HTTP/1.1\r\n\r\n'), /^HTTP\/1\.1 400 [^]*no Host header/);
  assert.match(
    await raw('POST /echo HTTP/1.1\r\nhost: x\r\nexpect: magic\r\ncontent-length: 2\r\n\r\n{}'),
    /^HTTP\/1\.1 417 [^]*magic/,
  );
  assert.match(await raw('CONNECT example.com:443 HTTP/1.1\r\nhost: x\r\n\r\n'), /^HTTP\/1\.1 405 /);
});

Clients('answers input that is not HTTP with 400 and the four keys', async () => {
  const socket = await rawPost(at.port, '/echo', { text: '' });
  await new Promise((resolve) => socket.once('data', resolve));
  socket.write('this is not http\r\n\r\n');
  let text = '';
  for await (const part of socket) text += String(part);
  assert.match(text, /^HTTP\/1\.1 400 /);
  assert.equal(Object.keys(JSON.parse(text.slice(text.indexOf('{')))), ['error', 'message', 'data', 'stacktrace']);
});

Clients.run();
