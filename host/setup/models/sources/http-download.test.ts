import { createServer, type Server } from 'node:net';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type FileServer, startFileServer } from './file-server.test.fixture.ts';
import { discardPartial, httpDownload } from './http-download.ts';
import { messageOf } from '../fixtures/message-of.ts';

const CONTENT = Buffer.from(Array.from({ length: 200_000 }, (_, index) => index % 251));

async function untilWritten(file: string, bytes: number): Promise<void> {
  while (((await stat(file).catch(() => undefined))?.size ?? 0) < bytes) await delay(5);
}

const Download = suite<{ dir: string; partial: string; server: FileServer }>('httpDownload');

Download.before.each(async (context) => {
  context.dir = await mkdtemp(path.join(tmpdir(), 'aana-http-'));
  context.partial = path.join(context.dir, 'file.partial');
  context.server = await startFileServer();
  context.server.files.set('/file', CONTENT);
});
Download.after.each(async ({ dir, server }) => {
  await server[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
});

Download('writes the content and reports progress', async ({ server, partial }) => {
  const seen: [number, number | undefined][] = [];
  const result = await httpDownload({
    url: `${server.url}/file`,
    partial,
    isPinned: true,
    onProgress: (bytes, total) => void seen.push([bytes, total]),
  });
  assert.equal(await readFile(partial), CONTENT);
  assert.equal(result, { sha256: undefined, wasResumed: false });
  assert.equal(seen.at(-1), [CONTENT.length, CONTENT.length]);
});

Download('continues the file of an earlier attempt with one request for the rest', async ({ server, partial }) => {
  await writeFile(partial, CONTENT.subarray(0, 70_000));
  const result = await httpDownload({ url: `${server.url}/file`, partial, isPinned: true });
  assert.ok(result.wasResumed);
  assert.equal(await readFile(partial), CONTENT);
  assert.equal(
    server.seen.map(({ range }) => range),
    ['bytes=70000-'],
  );
});

Download('continues where the connection broke off', async ({ server, partial }) => {
  server.cuts.push(
    { bytes: 50_000, received: () => untilWritten(partial, 50_000) },
    { bytes: 30_000, received: () => untilWritten(partial, 80_000) },
  );
  await httpDownload({ url: `${server.url}/file`, partial, isPinned: true });
  assert.equal(await readFile(partial), CONTENT);
  assert.is(server.seen.length, 3);
  assert.not.ok(server.seen[2]?.range === undefined);
});

Download('accepts a partial file that is already whole', async ({ server, partial }) => {
  await writeFile(partial, CONTENT);
  assert.ok((await httpDownload({ url: `${server.url}/file`, partial, isPinned: true })).wasResumed);
  assert.equal(await readFile(partial), CONTENT);
});

Download(
  'starts from the beginning when the server sends the whole file instead of the rest',
  async ({ server, partial }) => {
    await writeFile(partial, 'something else');
    server.handler = (_, response) => {
      response.writeHead(200, { 'content-length': CONTENT.length }).end(CONTENT);
      return true;
    };
    assert.not.ok((await httpDownload({ url: `${server.url}/file`, partial, isPinned: true })).wasResumed);
    assert.equal(await readFile(partial), CONTENT);
  },
);

Download('continues content without a known digest only if it did not change', async ({ server, partial }) => {
  server.etag = '"two"';
  const changed = Buffer.from(CONTENT.map((byte) => 255 - byte));
  server.files.set('/file', changed);
  await writeFile(partial, CONTENT.subarray(0, 50_000));
  await writeFile(`${partial}.etag`, '"one"');
  await httpDownload({ url: `${server.url}/file`, partial, isPinned: false });
  assert.equal(await readFile(partial), changed);
  assert.is(server.seen.at(-1)?.ifRange, '"one"');
  await writeFile(partial, changed.subarray(0, 50_000));
  await httpDownload({ url: `${server.url}/file`, partial, isPinned: false });
  assert.equal(await readFile(partial), changed);
  assert.is(server.seen.at(-1)?.range, 'bytes=50000-');
});

Download('sends the token only to the first host and takes the digest from its answer', async ({ server, partial }) => {
  await using other = await startFileServer();
  other.files.set('/content', CONTENT);
  const digest = 'ab'.repeat(32);
  server.handler = (_, response) => {
    response.writeHead(302, { location: `${other.url}/content`, 'x-linked-etag': `"${digest}"` }).end();
    return true;
  };
  const result = await httpDownload({ url: `${server.url}/file`, partial, isPinned: true, token: 'secret' });
  assert.is(result.sha256, digest);
  assert.is(server.seen[0]?.authorization, 'Bearer secret');
  assert.is(other.seen[0]?.authorization, undefined);
  assert.equal(await readFile(partial), CONTENT);
});

for (const [status, words] of [
  [404, /does not have it \(404\)/],
  [401, /set HF_TOKEN/],
  [500, /answers with status 500/],
] as const) {
  Download(`throws for the status ${status} and names it`, async ({ server, partial }) => {
    server.handler = (_, response) => {
      response.writeHead(status).end('x');
      return true;
    };
    const message = await messageOf(httpDownload({ url: `${server.url}/file`, partial, isPinned: true }));
    assert.match(message, /^DownloadFailed/);
    assert.match(message, words);
  });
}

Download('throws for endless redirects', async ({ server, partial }) => {
  server.handler = (_, response) => {
    response.writeHead(302, { location: '/file' }).end();
    return true;
  };
  assert.match(
    await messageOf(httpDownload({ url: `${server.url}/file`, partial, isPinned: true })),
    /more than 8 redirects/,
  );
});

Download('throws for a host that refuses connections', async ({ partial }) => {
  assert.match(
    await messageOf(httpDownload({ url: 'http://127.0.0.1:9/x', partial, isPinned: true })),
    /^DownloadFailed: http:\/\/127\.0\.0\.1:9 cannot be reached/,
  );
});

Download('throws for a host that does not answer in time', async ({ partial }) => {
  const silent: Server = createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const address = silent.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const message = await messageOf(
    httpDownload({ url: `http://127.0.0.1:${port}/x`, partial, isPinned: true, answerTimeoutMs: 200 }),
  );
  assert.match(message, /cannot be reached \(no answer in 0\.2 s\)/);
  silent.close();
});

Download(
  'rejects with the reason of an abort and keeps the received bytes for the next attempt',
  async ({ server, partial }) => {
    const reason = new Error('client went away');
    const controller = new AbortController();
    server.handler = (_, response) => {
      response.writeHead(200, { 'content-length': CONTENT.length });
      response.write(CONTENT.subarray(0, 1_000));
      return true;
    };
    const downloading = httpDownload({
      url: `${server.url}/file`,
      partial,
      isPinned: true,
      signal: controller.signal,
    }).catch((thrown: unknown) => thrown);
    await untilWritten(partial, 1_000);
    controller.abort(reason);
    assert.is(await downloading, reason);
    assert.is((await readFile(partial)).length, 1_000);
  },
);

Download('discarding leaves no file', async ({ server, partial, dir }) => {
  server.etag = '"one"';
  await httpDownload({ url: `${server.url}/file`, partial, isPinned: true });
  await discardPartial(partial);
  assert.equal(await readdir(dir), []);
});

Download.run();
