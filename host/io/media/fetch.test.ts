import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type IncomingMessage, type RequestListener, type Server, createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay } from '../../base/core/abort.ts';
import type { AanaError } from '../../base/core/errors.ts';
import { launcherPath, runContained } from '../../base/processes/index.ts';
import { boundsFiles } from '../../test/file-limit.ts';
import { skip } from '../../test/skip.ts';
import { type FetchOptions, fetchToFile } from './fetch.ts';
import { errorOf } from '../../test/helpers/error-of.ts';

const Fetch = suite('fetchToFile');
const folder = mkdtempSync(join(tmpdir(), 'aana-test-'));
const file = join(folder, 'fetched');
const servers: { close(): unknown; closeAllConnections?(): void }[] = [];

const OPTIONS: FetchOptions = {
  maxBytes: 1000,
  timeoutMs: 20_000,
  idleTimeoutMs: 20_000,
  maxRedirects: 2,
  allowPrivate: true,
};
/** Splits the loopback network: 127.0.0.1 counts as the public internet, all other addresses as private. */
const TWO_WORLDS = { allowPrivate: false, isPublic: (address: string) => address === '127.0.0.1' } as const;

Fetch.after.each(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections?.();
    server.close();
  }
  rmSync(file, { force: true });
});
Fetch.after(() => rmSync(folder, { recursive: true }));

async function serve(
  listener: RequestListener,
  host = '127.0.0.1',
  port = 0,
): Promise<{ url: string; port: number; requests: IncomingMessage[] }> {
  const requests: IncomingMessage[] = [];
  const server: Server = createServer((request, response) => {
    requests.push(request);
    listener(request, response);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  const bound = (server.address() as AddressInfo).port;
  return { url: `http://${host}:${bound}`, port: bound, requests };
}

async function fails(promise: Promise<unknown>): Promise<AanaError> {
  return errorOf(promise).finally(() => assert.not.ok(existsSync(file), 'a part of the file was left'));
}

Fetch('saves the body and returns its size', async () => {
  const { url, requests } = await serve((_, response) => response.end('hello'));
  assert.equal(await fetchToFile(`${url}/a%20b?c=d`, file, OPTIONS), { bytes: 5 });
  assert.is(readFileSync(file, 'utf8'), 'hello');
  assert.is(requests[0]?.url, '/a%20b?c=d');
});

Fetch('refuses private addresses in every spelling and behind a name, without connecting', async () => {
  const { port, requests } = await serve((_, response) => response.end('secret'));
  for (const host of [
    '127.0.0.1',
    '2130706433',
    '0x7f.1',
    '0177.0.0.1',
    '[::ffff:127.0.0.1]',
    '[::1]',
    'localhost',
    '0.0.0.0',
  ]) {
    const error = await fails(fetchToFile(`http://${host}:${port}/`, file, { ...OPTIONS, allowPrivate: false }));
    assert.is(error.name, 'PrivateAddressException', host);
    assert.is(error.kind, 'denied');
    assert.match(
      error.message,
      /^the host \S+ has a private address, or one of this server; start .* --allow-private-urls to allow it$/,
    );
  }
  assert.is(requests.length, 0);
});

Fetch('refuses a name if one of its addresses is private', async () => {
  const { port, requests } = await serve((_, response) => response.end('x'));
  const lookup = async (): Promise<string[]> => ['127.0.0.1', '127.0.0.2'];
  assert.is(
    (await fails(fetchToFile(`http://both.test:${port}/`, file, { ...OPTIONS, ...TWO_WORLDS, lookup }))).name,
    'PrivateAddressException',
  );
  assert.is(requests.length, 0);
});

Fetch('refuses a redirect to a private address', async () => {
  const inner = await serve((_, response) => response.end('secret'), '127.0.0.2');
  const outer = await serve((_, response) => response.writeHead(302, { location: inner.url }).end());
  const error = await fails(fetchToFile(outer.url, file, { ...OPTIONS, ...TWO_WORLDS }));
  assert.is(error.name, 'PrivateAddressException');
  assert.match(error.message, '127.0.0.2');
  assert.is(inner.requests.length, 0);
});

Fetch('connects to the checked address even if the name later resolves to another one', async () => {
  const outer = await serve((_, response) => response.end('public'));
  const inner = await serve((_, response) => response.end('secret'), '127.0.0.2', outer.port);
  const answers = ['127.0.0.1', '127.0.0.2'];
  const lookup = async (): Promise<string[]> => [answers.shift() ?? '127.0.0.2'];
  const address = `http://rebind.test:${outer.port}/`;
  await fetchToFile(address, file, { ...OPTIONS, ...TWO_WORLDS, lookup });
  assert.is(readFileSync(file, 'utf8'), 'public');
  rmSync(file);
  assert.is(
    (await fails(fetchToFile(address, file, { ...OPTIONS, ...TWO_WORLDS, lookup }))).name,
    'PrivateAddressException',
  );
  assert.is(inner.requests.length, 0);
  assert.is(outer.requests[0]?.headers.host, `rebind.test:${outer.port}`);
});

Fetch('checks a name again when it redirects to itself', async () => {
  const outer = await serve((_, response) => response.writeHead(302, { location: '/again' }).end());
  const inner = await serve((_, response) => response.end('secret'), '127.0.0.2', outer.port);
  const answers = ['127.0.0.1'];
  const lookup = async (): Promise<string[]> => [answers.shift() ?? '127.0.0.2'];
  assert.is(
    (await fails(fetchToFile(`http://rebind.test:${outer.port}/`, file, { ...OPTIONS, ...TWO_WORLDS, lookup }))).name,
    'PrivateAddressException',
  );
  assert.is(inner.requests.length, 0);
});

Fetch('follows absolute and relative redirects up to the limit', async () => {
  const { url } = await serve((request, response) => {
    const left = Number(request.url?.slice(1));
    if (left === 0) response.end('there');
    else response.writeHead(307, { location: `/${left - 1}` }).end();
  });
  assert.equal(await fetchToFile(`${url}/2`, file, OPTIONS), { bytes: 5 });
  rmSync(file);
  const error = await fails(fetchToFile(`${url}/3`, file, OPTIONS));
  assert.is(error.name, 'DownloadException');
  assert.match(error.message, 'redirects more than 2 times');
});

Fetch('follows redirects only to http and https', async () => {
  for (const location of ['file:///etc/passwd', 'ftp://127.0.0.1/', 'http://[broken/']) {
    const { url } = await serve((_, response) => response.writeHead(302, { location }).end());
    assert.is((await fails(fetchToFile(url, file, OPTIONS))).name, 'DownloadException', location);
  }
  assert.is((await fails(fetchToFile('file:///etc/passwd', file, OPTIONS))).name, 'DownloadException');
});

Fetch('sends the credentials of the URL only to its origin, and shows them in no message', async () => {
  const other = await serve((_, response) => response.writeHead(404).end());
  const first = await serve((request, response) =>
    response.writeHead(302, { location: request.url === '/' ? '/same' : `${other.url}/` }).end(),
  );
  const error = await fails(fetchToFile(first.url.replace('//', '//user:s3cret@'), file, OPTIONS));
  assert.equal(
    first.requests.map(({ headers }) => headers.authorization),
    Array(2).fill(`Basic ${Buffer.from('user:s3cret').toString('base64')}`),
  );
  assert.is(other.requests[0]?.headers.authorization, undefined);
  assert.not.match(JSON.stringify([error.message, error.data]), 's3cret');
});

Fetch('explains the error of a URL that is too long or has badly encoded credentials', async () => {
  const long = await fails(fetchToFile(`http://127.0.0.1:8/${'a'.repeat(100_000)}`, file, OPTIONS));
  assert.is(long.name, 'DownloadException');
  assert.match(
    long.message,
    /^cannot fetch http:\/\/127\.0\.0\.1:8\/a+\.\.\.: the URL is longer than 8192 characters$/,
  );
  assert.ok(JSON.stringify(long.data).length < 300);
  const odd = await fails(fetchToFile('http://user:50%@127.0.0.1:8/', file, OPTIONS));
  assert.is(
    odd.message,
    'cannot fetch http://127.0.0.1:8/: a "%" in its user name or password is not followed by a code',
  );
});

Fetch('names the status of an HTTP error', async () => {
  for (const status of [404, 403, 500, 304]) {
    const { url } = await serve((_, response) => response.writeHead(status).end());
    const error = await fails(fetchToFile(`${url}/x`, file, OPTIONS));
    assert.equal(
      { name: error.name, kind: error.kind, data: error.data },
      { name: 'DownloadException', kind: 'bad-request', data: { url: `${url}/x` } },
    );
    assert.match(error.message, String(status));
  }
});

Fetch('names a refused connection and an unknown host', async () => {
  const server = createTcpServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  const refused = await fails(fetchToFile(`http://127.0.0.1:${port}/`, file, OPTIONS));
  assert.is(refused.name, 'DownloadException');
  assert.match(refused.message, 'refused');
  const unknown = await fails(
    fetchToFile('http://no-such-host.invalid/', file, {
      ...OPTIONS,
      lookup: () => Promise.reject(Object.assign(new Error(), { code: 'ENOTFOUND' })),
    }),
  );
  assert.is(unknown.name, 'DownloadException');
  assert.match(unknown.message, 'no-such-host.invalid');
});

Fetch('refuses an announced length above the limit before reading, and accepts exactly the limit', async () => {
  const { url } = await serve((request, response) => {
    const bytes = Number(request.url?.slice(1));
    response.writeHead(200, { 'content-length': bytes });
    if (bytes > 1000) response.flushHeaders();
    else response.end(Buffer.alloc(bytes));
  });
  const error = await fails(fetchToFile(`${url}/1001`, file, OPTIONS));
  assert.equal({ name: error.name, kind: error.kind }, { name: 'MediaTooLargeException', kind: 'too-large' });
  assert.equal(await fetchToFile(`${url}/1000`, file, OPTIONS), { bytes: 1000 });
});

Fetch('stops an endless body at the limit', async () => {
  const { url } = await serve((_, response) => {
    const timer = setInterval(() => response.write(Buffer.alloc(100)), 1);
    response.on('close', () => clearInterval(timer));
  });
  assert.is((await fails(fetchToFile(url, file, OPTIONS))).name, 'MediaTooLargeException');
});

Fetch('fails when the body is shorter than announced', async () => {
  const { url } = await serve((_, response) => {
    response.writeHead(200, { 'content-length': 500 });
    response.write(Buffer.alloc(100), () => response.destroy());
  });
  const error = await fails(fetchToFile(url, file, OPTIONS));
  assert.is(error.name, 'DownloadException');
  assert.match(error.message, 'closed before the end');
});

Fetch('reads no further than the announced length', async () => {
  const server = createTcpServer((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhelloand more'));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  await fetchToFile(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, file, OPTIONS).catch(() => {});
  if (existsSync(file)) assert.is(readFileSync(file, 'utf8'), 'hello');
});

Fetch('refuses an encoded body', async () => {
  const { url } = await serve((_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('x'));
  assert.match((await fails(fetchToFile(url, file, OPTIONS))).message, 'gzip');
});

Fetch('fails for a silent server', async () => {
  const { url } = await serve((_, response) => void response.write('a'));
  const error = await fails(fetchToFile(url, file, { ...OPTIONS, idleTimeoutMs: 50 }));
  assert.is(error.name, 'DownloadException');
  assert.match(error.message, 'sent nothing for 0.05 s');
});

Fetch('fails for a slow server at the time limit, even if it keeps sending', async () => {
  const { url } = await serve((_, response) => {
    const timer = setInterval(() => response.write('a'), 10);
    response.on('close', () => clearInterval(timer));
  });
  const error = await fails(fetchToFile(url, file, { ...OPTIONS, timeoutMs: 200 }));
  assert.is(error.name, 'DownloadException');
  assert.match(error.message, 'longer than 0.2 s');
});

Fetch('rejects with the reason of the signal, closes the connection and leaves no file', async () => {
  const controller = new AbortController();
  const reason = new Error('client went away');
  let closed = false;
  const { url } = await serve((_, response) => {
    response.write('a');
    response.on('close', () => (closed = true));
  });
  const running = fails(fetchToFile(url, file, { ...OPTIONS, signal: controller.signal })).catch(
    (error: unknown) => error,
  );
  for (; !existsSync(file); await delay(5));
  controller.abort(reason);
  assert.is(await running, reason);
  for (; !closed; await delay(5));
});

Fetch('rejects with the reason of the signal while the name is looked up', async () => {
  const controller = new AbortController();
  const reason = new Error('client went away');
  const lookup = (): Promise<string[]> => {
    setImmediate(() => controller.abort(reason));
    return new Promise(() => {});
  };
  const keepAlive = setInterval(() => {}, 1000);
  assert.is(
    await fails(fetchToFile('http://slow.test/', file, { ...OPTIONS, lookup, signal: controller.signal })).catch(
      (error: unknown) => error,
    ),
    reason,
  );
  clearInterval(keepAlive);
});

// A limit on the size of files makes writes fail like a full disk does.
const fileBytes = 50_000;
if (launcherPath() && boundsFiles()) {
  Fetch('names the directory when the disk is full', async () => {
    const { url } = await serve((_, response) => response.end(Buffer.alloc(200_000)));
    const [module, options] = [new URL('./fetch.js', import.meta.url).href, { ...OPTIONS, maxBytes: 1e9 }];
    const program = `const { fetchToFile } = await import(${JSON.stringify(module)});
      const saved = fetchToFile(${[url, file, options].map((one) => JSON.stringify(one)).join()});
      const told = await saved.then(() => ['saved', '', ''], (e) => [e.name, e.kind, e.message]);
      console.log(JSON.stringify(told))`;
    const result = await runContained(process.execPath, ['--input-type=module', '-e', program], { fileBytes });
    assert.is(result.code, 0, `ended with ${result.code ?? result.signal}: ${result.stderr}`);
    const [name, kind, message] = JSON.parse(result.stdout.toString()) as [string, string, string];
    assert.equal([name, kind], ['DiskFullException', 'unavailable'], message);
    assert.ok(message.includes(folder), message);
    assert.not.ok(existsSync(file));
  });
} else {
  skip(
    'fetchToFile names the directory when the disk is full',
    'this machine cannot limit the size of files, or the launcher is not built',
  );
}

Fetch.run();
