import { type IncomingMessage, type RequestListener, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay } from '../../base/core/abort.ts';
import { cancelledError } from '../../base/core/errors.ts';
import { type GuardedRequest, openGuarded, requestGuarded, type RequestOptions } from './request.ts';
import { errorOf } from '../../test/helpers/error-of.ts';

const Request = suite('requestGuarded');
const servers: { close(): unknown; closeAllConnections(): void }[] = [];
Request.after.each(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

const OPTIONS: RequestOptions = {
  maxBytes: 1000,
  timeoutMs: 20_000,
  idleTimeoutMs: 20_000,
  maxRedirects: 2,
  allowPrivate: true,
  refusalOf: () => undefined,
};
const get = (url: string, headers: GuardedRequest['headers'] = []): GuardedRequest => ({ method: 'get', url, headers });

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

async function serve(listener: RequestListener): Promise<{ url: string; port: number; seen: Seen[] }> {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      seen.push({
        method: request.method,
        url: request.url,
        headers: request.headers,
        rawHeaders: request.rawHeaders,
        body: Buffer.concat(chunks).toString(),
      });
      listener(request, response);
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, seen };
}

Request('sends headers and body, and returns status, headers and body for every status', async () => {
  const { url, seen } = await serve((_, response) => response.writeHead(404, { 'X-A': ['1', '2'] }).end('né'));
  const answer = await requestGuarded(
    {
      method: 'post',
      url: `${url}/a?b=c`,
      headers: [
        ['X-Key', 'k'],
        ['X-Key', 'l'],
        ['User-Agent', 'me'],
      ],
      body: Buffer.from('bödy'),
    },
    OPTIONS,
  );
  assert.is(answer.status, 404);
  assert.is(answer.url, `${url}/a?b=c`);
  assert.equal(
    answer.headers.filter(([name]) => name === 'x-a'),
    [
      ['x-a', '1'],
      ['x-a', '2'],
    ],
  );
  assert.is(Buffer.from(answer.body).toString(), 'né');
  assert.is(answer.body.buffer.byteLength, answer.body.length, 'its memory is its own');
  assert.equal(
    [seen[0]?.method, seen[0]?.url, seen[0]?.body, seen[0]?.headers['x-key'], seen[0]?.headers['user-agent']],
    ['POST', '/a?b=c', 'bödy', 'k, l', 'me'],
  );
});

const readAll = async (url: string, method = 'get'): Promise<{ text: string; names: string[] }> => {
  const { head, body } = await openGuarded({ method, url, headers: [] }, OPTIONS);
  return { text: Buffer.from(await body.rest()).toString(), names: head.headers.map(([name]) => name) };
};

Request('decodes answers of servers that compress without being asked', async () => {
  const text = 'né'.repeat(200);
  for (const [coding, compressed] of [
    ['gzip', gzipSync(text)],
    ['X-GZIP', gzipSync(text)],
    ['deflate', deflateSync(text)],
    ['br', brotliCompressSync(text)],
  ] as const) {
    const { url } = await serve((_, response) =>
      response.writeHead(200, { 'content-encoding': coding, 'content-length': compressed.length }).end(compressed),
    );
    const answer = await readAll(url);
    assert.is(answer.text, text, coding);
    assert.not(answer.names.some((name) => name === 'content-encoding' || name === 'content-length'));
  }
  const other = await serve((_, response) => response.writeHead(200, { 'content-encoding': 'other' }).end('as it is'));
  const asItIs = await readAll(other.url);
  assert.is(asItIs.text, 'as it is');
  assert.ok(asItIs.names.includes('content-encoding'));
  const empty = await serve((_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end());
  for (const method of ['get', 'head']) assert.is((await readAll(empty.url, method)).text, '');
});

Request('refuses compressed answers that are damaged, cut, or too large when they are decoded', async () => {
  const compressed = gzipSync('x'.repeat(900));
  const errorFor = async (send: (response: ServerResponse) => void): Promise<string> => {
    const { url } = await serve((_, response) => send(response.writeHead(200, { 'content-encoding': 'gzip' })));
    return (await errorOf(readAll(url))).name;
  };
  assert.is(await errorFor((response) => response.end('no gzip')), 'DownloadException');
  assert.is(await errorFor((response) => response.end(compressed.subarray(0, 20))), 'DownloadException');
  assert.is(
    await errorFor((response) => response.write(compressed.subarray(0, 20), () => response.destroy())),
    'DownloadException',
  );
  assert.is(await errorFor((response) => response.flushHeaders() ?? response.destroy()), 'DownloadException');
  assert.is(await errorFor((response) => response.end(gzipSync('x'.repeat(1e6)))), 'ResponseTooLarge');
});

Request('sends headers with names that all objects have, and many with one name', async () => {
  const { url, seen } = await serve((_, response) => response.end());
  const many = Array.from({ length: 400 }, (_, n) => ['x-many', `${n}`] as const);
  await requestGuarded(get(url, [['constructor', 'a'], ['__proto__', 'b'], ['__proto__', 'c'], ...many]), OPTIONS);
  const { rawHeaders } = seen[0]!;
  const valuesOf = (name: string): string[] =>
    rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1] === name);
  assert.equal([valuesOf('constructor'), valuesOf('__proto__')], [['a'], ['b', 'c']]);
  assert.equal(
    valuesOf('x-many'),
    many.map(([, value]) => value),
  );
});

Request('refuses private addresses in every notation, without connecting', async () => {
  const { port, seen } = await serve((_, response) => response.end('secret'));
  for (const host of ['127.0.0.1', '2130706433', '[::ffff:127.0.0.1]', 'localhost', '0.0.0.0', '[::1]']) {
    assert.is(
      (await errorOf(requestGuarded(get(`http://${host}:${port}/`), { ...OPTIONS, allowPrivate: false }))).name,
      'PrivateAddressException',
      host,
    );
  }
  assert.is(seen.length, 0);
});

Request('checks permission and address of every redirect', async () => {
  const inner = await serve((_, response) => response.end('secret'));
  const outer = await serve((_, response) => response.writeHead(302, { location: `${inner.url}/x` }).end());
  const refusalOf = (url: URL): string | undefined =>
    url.port === String(inner.port) ? 'it is not granted' : undefined;
  const error = await errorOf(requestGuarded(get(outer.url), { ...OPTIONS, refusalOf }));
  assert.equal([error.name, error.kind], ['HostDenied', 'denied']);
  const twoWorlds = { allowPrivate: false, isPublic: (address: string) => address === '127.0.0.1' };
  const elsewhere = await serve((_, response) =>
    response.writeHead(307, { location: `http://127.0.0.2:${inner.port}/` }).end(),
  );
  assert.is(
    (await errorOf(requestGuarded(get(elsewhere.url), { ...OPTIONS, ...twoWorlds }))).name,
    'PrivateAddressException',
  );
  assert.is(inner.seen.length, 0);
});

Request(
  'follows redirects like browsers: other origins get no headers of the caller, and a POST becomes GET ' +
    'except after 307',
  async () => {
    const target = await serve((_, response) => response.end('there'));
    const start = await serve(({ url }, response) =>
      response.writeHead(Number(url?.slice(1)), { location: target.url }).end(),
    );
    const headers = [
      ['authorization', 's'],
      ['Cookie', 's'],
      ['X-Api-Key', 's'],
      ['Accept', 's'],
      ['User-Agent', 's'],
      ['content-type', 'text/plain'],
    ] as const;
    for (const status of [303, 307]) {
      const answer = await requestGuarded(
        { method: 'post', url: `${start.url}/${status}`, headers, body: Buffer.from('b') },
        OPTIONS,
      );
      assert.is(answer.url, `${target.url}/`);
    }
    const [asGet, asPost] = target.seen;
    const { host, connection } = asGet?.headers ?? {};
    const own = { host, connection, 'user-agent': 'aana-host', accept: '*/*', 'accept-encoding': 'identity' };
    assert.equal([asGet?.method, asGet?.body, asGet?.headers], ['GET', '', own]);
    assert.equal(
      [asPost?.method, asPost?.body, asPost?.headers],
      ['POST', 'b', { ...own, 'content-type': 'text/plain', 'content-length': '1' }],
    );
  },
);

Request('keeps the headers of the caller at a redirect within the origin', async () => {
  const { url, seen } = await serve((request, response) =>
    request.url === '/b' ? response.end('there') : response.writeHead(302, { location: '/b' }).end(),
  );
  await requestGuarded(
    get(`${url}/a`, [
      ['Authorization', 's'],
      ['X-Api-Key', 'k'],
      ['Accept', 'a/b'],
    ]),
    OPTIONS,
  );
  for (const { headers } of seen)
    assert.equal([headers.authorization, headers['x-api-key'], headers.accept], ['s', 'k', 'a/b']);
  assert.is(seen.length, 2);
});

Request('ends endless redirects, answers that are too large, and silence', async () => {
  const looping = await serve((_, response) => response.writeHead(302, { location: '/' }).end());
  assert.match((await errorOf(requestGuarded(get(looping.url), OPTIONS))).message, /redirects more than 2 times/);
  const large = await serve((_, response) => response.end('x'.repeat(1001)));
  assert.equal((({ name, kind }) => [name, kind])(await errorOf(requestGuarded(get(large.url), OPTIONS))), [
    'ResponseTooLarge',
    'too-large',
  ]);
  const silent = await serve((_, response) => response.write('x'));
  assert.match(
    (await errorOf(requestGuarded(get(silent.url), { ...OPTIONS, timeoutMs: 200 }))).message,
    /took longer than 0.2 s/,
  );
  assert.match(
    (await errorOf(requestGuarded(get(silent.url), { ...OPTIONS, idleTimeoutMs: 100 }))).message,
    /sent nothing for 0.1 s/,
  );
});

Request('takes interim answers, but not an endless number of them', async () => {
  const interim = 'HTTP/1.1 102 Processing\r\n\r\n';
  const early = await serve(({ socket }, response) => {
    socket.write(interim.repeat(5));
    response.end('real');
  });
  assert.is(Buffer.from((await requestGuarded(get(early.url), OPTIONS)).body).toString(), 'real');
  const endless = await serve(async ({ socket }) => {
    while (socket.writable) {
      socket.write(interim.repeat(100));
      await setImmediate();
    }
  });
  const error = await errorOf(requestGuarded(get(endless.url), { ...OPTIONS, timeoutMs: 2_000 }));
  assert.match(error.message, /more than 32 interim answers/);
});

Request('ends with its signal', async () => {
  const silent = await serve(() => client.abort(gone));
  const client = new AbortController();
  const gone = cancelledError();
  assert.is(await errorOf(requestGuarded(get(silent.url), { ...OPTIONS, signal: client.signal })), gone);
});

const refused: readonly { what: string; request: Partial<GuardedRequest> }[] = [
  { what: 'a header of the connection', request: { headers: [['Host', 'internal']] } },
  { what: 'a length of its own', request: { headers: [['content-length', '0']] } },
  { what: 'a second request in a header', request: { headers: [['x', 'a\r\nGET / HTTP/1.1']] } },
  {
    what: 'tens of thousands of headers',
    request: { headers: Array.from({ length: 33_000 }, () => ['a', 'b'] as const) },
  },
  { what: 'a name that is none', request: { headers: [['a b', '1']] } },
  { what: 'a GET with a body', request: { body: new Uint8Array(1) } },
  { what: 'a password in the URL', request: { url: 'http://a:b@127.0.0.1/' } },
];
for (const { what, request } of refused) {
  Request(`refuses ${what}`, async () => {
    assert.is(
      (await errorOf(requestGuarded({ ...get('http://127.0.0.1:8/'), ...request }, OPTIONS))).name,
      'InvalidRequest',
    );
  });
}

Request('fetches only http and https', async () => {
  assert.match((await errorOf(requestGuarded(get('file:///etc/passwd'), OPTIONS))).message, /only http and https/);
});

Request('a server may be silent while nobody reads its answer, and not while somebody does', async () => {
  let finish = (): void => {};
  const { url } = await serve((request, response) => {
    response.write('begun');
    finish = () => response.end(' and done');
    if (request.url === '/silent') finish = () => {};
  });
  const guards = { ...OPTIONS, idleTimeoutMs: 100 };
  const { body } = await openGuarded(get(url), guards);
  assert.is(Buffer.from(await body.read(1, 5)).toString(), 'begun');
  await delay(300);
  finish();
  assert.is(Buffer.from(await body.rest()).toString(), ' and done');
  const silent = await openGuarded(get(`${url}/silent`), guards);
  assert.match((await errorOf(silent.body.rest())).message, /the server sent nothing for 0\.1 s/);
});

Request.run();
