// Attempts of clients, plugins and servers to make the host request addresses that only the host can reach. Nothing
// leaves the machine: 127.0.0.1 represents the public internet (by an injected policy), 127.0.0.2 the private network
// behind it.
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { toErrorRecord } from '../../base/core/errors.ts';
import { ASKING_WAYS, type AskOptions, refusalOf } from '../../test/helpers/asking-ways.ts';
import { startNameServer } from '../../test/helpers/outgoing.ts';

const Ssrf = suite('outgoing requests that must not be made');
const closers: (() => void)[] = [];
Ssrf.after.each(() => {
  for (const close of closers.splice(0)) close();
});

const STRICT: AskOptions = {
  maxBytes: 2000,
  timeoutMs: 30_000,
  idleTimeoutMs: 30_000,
  maxRedirects: 3,
  allowPrivate: false,
};
const TWO_WORLDS: AskOptions = { ...STRICT, isPublic: (address) => address === '127.0.0.1' };

interface Server {
  readonly port: number;
  readonly requests: IncomingMessage[];
}

async function serve(listener: RequestListener, host = '127.0.0.1', port = 0): Promise<Server> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    listener(request, response);
  });
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  return { port: (server.address() as AddressInfo).port, requests };
}

/** Answers each connection with raw bytes. */
async function serveRaw(answer: (socket: Socket) => void): Promise<{ port: number; closed: Promise<void> }> {
  let onClosed!: () => void;
  const closed = new Promise<void>((resolve) => (onClosed = resolve));
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', onClosed);
    socket.once('data', () => answer(socket));
  });
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port, closed };
}

/** PORT belongs to a server on this machine that must never get a request. */
const PRIVATE_URLS: readonly string[] = [
  ...[
    '127.0.0.1',
    '127.1',
    '127.0.1',
    '2130706433',
    '0x7f000001',
    '0x7F.1',
    '0177.0.0.1',
    '017700000001',
    '0x7f.0.0.0x1',
    '127.0.0.1.',
    '0',
    '0.0.0.0',
  ],
  ...[
    '①②⑦.⓪.⓪.①',
    '１２７.０.０.１',
    '127。0。0。1',
    '127．0．0．1',
    '%31%32%37.0.0.1',
    '127%2e0%2e0%2e1',
    '𝟙𝟚𝟟.0.0.1',
  ],
  ...[
    '[::]',
    '[::1]',
    '[0:0:0:0:0:0:0:1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    '[::ffff:0:127.0.0.1]',
  ],
  ...[
    '[64:ff9b::127.0.0.1]',
    '[64:ff9b:1::7f00:1]',
    '[2002:7f00:1::]',
    '[2001:0:7f00:1::]',
    '[2001:0:4136:e378:8000:63bf:80ff:fffe]',
  ],
  ...['localhost', 'LOCALHOST', 'localhost.', 'a.localhost', 'ⓛⓞⓒⓐⓛⓗⓞⓢⓣ', 'ｌｏｃａｌｈｏｓｔ', 'lo\u00adcalhost'],
]
  .map((host) => `http://${host}:PORT/`)
  .concat(
    [
      'http:\\\\127.0.0.1:PORT\\',
      'http:127.0.0.1:PORT/',
      'http:///127.0.0.1:PORT/',
      'HTTP://127.0.0.1:PORT',
      'ht\ntp://127.0.\t0.1:PORT/',
      ' http://127.0.0.1:PORT/ ',
      'https://127.0.0.1:PORT/',
    ],
    [
      'http://127.0.0.1:PORT\\@media.test/',
      'http://127.0.0.1:PORT#@media.test/',
      'http://127.0.0.1:PORT?@media.test/',
      'http://127.0.0.1:PORT/@media.test',
    ],
    // metadata services of clouds, which reveal secrets of a machine, and other special networks
    [
      '169.254.169.254',
      '2852039166',
      '0xa9fea9fe',
      '0251.0376.0251.0376',
      '[::ffff:169.254.169.254]',
      '[fd00:ec2::254]',
      '100.100.100.200',
      '168.63.129.16',
      '192.0.0.192',
    ].map((host) => `http://${host}/latest/meta-data/`),
    [
      '10.0.0.1',
      '172.16.0.1',
      '192.168.0.1',
      '100.64.0.1',
      '198.18.0.1',
      '224.0.0.1',
      '255.255.255.255',
      '[fe80::1]',
      '[fec0::1]',
      '[fc00::1]',
      '[ff02::1]',
    ].map((host) => `https://${host}/`),
  );

for (const { name, ask } of ASKING_WAYS.slice(0, 3)) {
  Ssrf(`${name} reaches no private address, however the URL is written`, async () => {
    const { port, requests } = await serve((_, response) => response.end('secret'));
    for (const url of PRIVATE_URLS) {
      const error = await refusalOf(ask(url.replace('PORT', String(port)), STRICT));
      assert.equal([error.name, error.kind], ['PrivateAddressException', 'denied'], `${url}: ${error.message}`);
      assert.match(
        error.message,
        /^the host \S+ has a private address, or one of this server; start .* --allow-private-urls to allow it$/,
      );
    }
    assert.is(requests.length, 0);
  });

  Ssrf(`${name} whose name is hidden behind a user name reaches no private address`, async () => {
    const { port, requests } = await serve((_, response) => response.end('secret'));
    for (const userinfo of ['media.test', 'media.test:80', 'media.test%20', 'a:b', 'media.test%40x']) {
      const error = await refusalOf(ask(`http://${userinfo}@127.0.0.1:${port}/`, STRICT));
      assert.ok(['PrivateAddressException', 'InvalidRequest'].includes(error.name), error.message);
    }
    assert.is(requests.length, 0);
  });

  Ssrf(
    `${name} that is no URL of http, or goes to the port of another protocol, is a mistake that is named`,
    async () => {
      const { requests, port } = await serve((_, response) => response.end('secret'));
      const wrong = [
        'file:///etc/passwd',
        'ftp://media.test/',
        'gopher://media.test/_x',
        'data:text/plain,x',
        'javascript:0',
        'jar:http://127.0.0.1!/',
        'unix:/run/x.sock',
        'http+unix://%2frun%2fx',
        'ws://media.test/',
      ];
      for (const url of wrong)
        assert.match((await refusalOf(ask(url, STRICT))).message, /only http and https are supported, not /, url);
      for (const url of [
        '',
        'media.test',
        '//media.test/',
        'http://',
        'http://[::1%25lo]/',
        'http://[fe80::1%eth0]/',
        'http://256.0.0.1/',
        'http://127.0.0.1:99999/',
        'http://a b/',
        'http://me\0dia.test/',
        'http://%00/',
        `http://[::1]${port}/`,
      ]) {
        const error = await refusalOf(ask(url, STRICT));
        assert.equal([error.name, error.kind], ['DownloadException', 'bad-request'], url);
        assert.match(error.message, /it is not a URL$/);
      }
      for (const bad of [22, 25, 110, 6667])
        assert.match(
          (await refusalOf(ask(`http://media.test:${bad}/`, { ...STRICT, allowPrivate: true }))).message,
          new RegExp(`port ${bad} belongs to another protocol`),
        );
      assert.match(
        (await refusalOf(ask(`http://media.test/${'a'.repeat(10_000)}`, STRICT))).message,
        /longer than 8192 characters/,
      );
      assert.is(requests.length, 0);
    },
  );
}

for (const { name, followsRedirects, ask } of ASKING_WAYS) {
  Ssrf(
    `${name} goes where its name led when it was checked, although a name server answers otherwise later`,
    async () => {
      const outer = await serve((_, response) => response.end('public'));
      const inner = await serve((_, response) => response.end('secret'), '127.0.0.2', outer.port);
      await using names = await startNameServer((_, count) => [count === 0 ? '127.0.0.1' : '127.0.0.2']);
      const options = { ...TWO_WORLDS, lookup: names.lookup };
      assert.is(await ask(`http://rebind.test:${outer.port}/`, options), 'public');
      assert.equal(names.asked, ['rebind.test']);
      assert.is((await refusalOf(ask(`http://rebind.test:${outer.port}/`, options))).name, 'PrivateAddressException');
      assert.is(inner.requests.length, 0);
    },
  );

  Ssrf(
    `${name} whose name has one private address among others, or is that of a cloud's service, is refused`,
    async () => {
      const outer = await serve((_, response) => response.end('public'));
      const inner = await serve((_, response) => response.end('secret'), '127.0.0.2', outer.port);
      const answers: Readonly<Record<string, string[]>> = {
        'both.test': ['127.0.0.1', '127.0.0.2'],
        'both2.test': ['127.0.0.2', '127.0.0.1'],
        'metadata.google.internal': ['169.254.169.254'],
        'zero.test': ['0.0.0.0'],
      };
      await using names = await startNameServer((host) => answers[host] ?? []);
      for (const host of Object.keys(answers)) {
        assert.is(
          (await refusalOf(ask(`http://${host}:${outer.port}/`, { ...TWO_WORLDS, lookup: names.lookup }))).name,
          'PrivateAddressException',
          host,
        );
      }
      assert.not.match(
        JSON.stringify(
          toErrorRecord(
            await refusalOf(ask(`http://both.test:${outer.port}/`, { ...TWO_WORLDS, lookup: names.lookup })),
          ),
        ),
        /127\.0\.0\.2/,
        'the address is not told',
      );
      assert.match(
        (await refusalOf(ask('http://unknown.test/', { ...TWO_WORLDS, lookup: names.lookup }))).message,
        /the host unknown\.test is not known/,
      );
      assert.is(inner.requests.length + outer.requests.length, 0);
    },
  );

  Ssrf(`${name} is not led elsewhere by a redirect`, async () => {
    const inner = await serve((_, response) => response.end('secret'), '127.0.0.2');
    const outer = await serve((request, response) =>
      response
        .writeHead(302, {
          location: decodeURIComponent(new URL(request.url ?? '', 'http://x').searchParams.get('to') ?? ''),
        })
        .end('moved'),
    );
    const via = (to: string): string =>
      `http://127.0.0.1:${outer.port}/?to=${encodeURIComponent(encodeURIComponent(to))}`;
    const targets: readonly (readonly [to: string, error: string])[] = [
      ...[
        `http://127.0.0.2:${inner.port}/`,
        `//127.0.0.2:${inner.port}/`,
        `\\\\127.0.0.2:${inner.port}\\`,
        `http://2130706434:${inner.port}/`,
        `http://[::ffff:127.0.0.2]:${inner.port}/`,
      ].map((to) => [to, 'PrivateAddressException'] as const),
      ...[
        `http://media.test@127.0.0.2:${inner.port}/`,
        'http://169.254.169.254/latest/meta-data/',
        'https://10.0.0.1/',
      ].map((to) => [to, 'PrivateAddressException'] as const),
      ...['http://127.0.0.1:25/', 'http://[broken/'].map((to) => [to, 'DownloadException'] as const),
    ];
    for (const [to, expected] of targets) {
      if (!followsRedirects) assert.is(await ask(via(to), TWO_WORLDS), 'moved');
      // The child decides about these.
      else if (name.startsWith('a child') && (/broken|@|\[|\\/.test(to) || to.startsWith('https'))) continue;
      else assert.is((await refusalOf(ask(via(to), TWO_WORLDS))).name, expected, to);
    }
    assert.is(inner.requests.length, 0);
  });

  Ssrf(`${name} ends an answer that is not HTTP, or has no end`, async () => {
    const raw: Readonly<Record<string, (socket: Socket) => void>> = {
      'HTTP/0.9': (socket) => socket.end('<html>hello</html>'),
      'another protocol': (socket) => socket.end('220 mail.test ESMTP\r\n'),
      'headers without end': (socket) => {
        socket.write('HTTP/1.1 200 OK\r\n');
        const timer = setInterval(() => socket.write(`x-more: ${'a'.repeat(4000)}\r\n`), 1);
        socket.on('close', () => clearInterval(timer));
      },
      'a header without end': (socket) => {
        socket.write('HTTP/1.1 200 OK\r\nx: ');
        const timer = setInterval(() => socket.write('a'.repeat(4000)), 1);
        socket.on('close', () => clearInterval(timer));
      },
      'a body without end': (socket) => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        const timer = setInterval(() => socket.write('a'.repeat(500)), 1);
        socket.on('close', () => clearInterval(timer));
      },
      'chunks without end': (socket) => {
        socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
        const timer = setInterval(() => socket.write(`64\r\n${'a'.repeat(100)}\r\n`), 1);
        socket.on('close', () => clearInterval(timer));
      },
      'a chunk that is longer than any': (socket) =>
        socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\naaa'),
      'a shorter body than announced': (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\nabc'),
      'two lengths': (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabcd'),
      'a length and chunks': (socket) =>
        socket.end('HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n'),
      'a length below zero': (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: -3\r\n\r\nabc'),
      'another protocol after the head': (socket) =>
        socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\nhello'),
      nothing: (socket) => socket.end(),
    };
    for (const [what, answer] of Object.entries(raw)) {
      const { port, closed } = await serveRaw(answer);
      const error = await refusalOf(ask(`http://127.0.0.1:${port}/`, TWO_WORLDS));
      assert.ok(
        ['DownloadException', 'MediaTooLargeException', 'ResponseTooLarge'].includes(error.name),
        `${what}: ${error.message}`,
      );
      await closed;
    }
  });

  Ssrf(`${name} is not kept waiting by a slow server`, async () => {
    const slow: Readonly<Record<string, (socket: Socket) => void>> = {
      'no answer': () => {},
      'a byte of a header at a time': (socket) => {
        socket.write('HTTP/1.1 200 OK\r\nx: ');
        const timer = setInterval(() => socket.write('a'), 10);
        socket.on('close', () => clearInterval(timer));
      },
      'a byte of the body at a time': (socket) => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n');
        const timer = setInterval(() => socket.write('a'), 10);
        socket.on('close', () => clearInterval(timer));
      },
      'answers before the answer, without end': (socket) => {
        const timer = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'), 10);
        socket.on('close', () => clearInterval(timer));
      },
    };
    const gaveUp = async ([what, answer]: [string, (socket: Socket) => void]): Promise<void> => {
      const { port, closed } = await serveRaw(answer);
      assert.is(
        (await refusalOf(ask(`http://127.0.0.1:${port}/`, { ...TWO_WORLDS, timeoutMs: 300 }))).name,
        'DownloadException',
        what,
      );
      await closed;
    };
    await Promise.all(Object.entries(slow).map(gaveUp));
  });

  Ssrf(`${name} unpacks nothing: a small body stays small`, async () => {
    const bomb = gzipSync(Buffer.alloc(500_000));
    const { port, requests } = await serve((_, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
    );
    const answer = await ask(`http://127.0.0.1:${port}/`, TWO_WORLDS).catch((error: Error) => error);
    if (answer instanceof Error) assert.match(answer.message, /the encoding gzip, which the request did not accept/);
    else assert.is(answer.length, bomb.length);
    if (!name.startsWith('a child')) assert.is(requests[0]?.headers['accept-encoding'], 'identity');
  });
}

for (const { name, ask } of ASKING_WAYS.filter(({ followsRedirects }) => followsRedirects).slice(0, 2)) {
  Ssrf(`${name} follows redirects to http alone, not in circles, and with nobody's password`, async () => {
    let location = '';
    const outer = await serve((request, response) =>
      request.url === '/end' ? response.end('end') : response.writeHead(302, { location }).end(),
    );
    for (location of [
      'file:///etc/passwd',
      'ftp://127.0.0.1/',
      'gopher://127.0.0.1/_x',
      'data:text/plain,x',
      'javascript:0',
    ]) {
      assert.match(
        (await refusalOf(ask(`http://127.0.0.1:${outer.port}/`, TWO_WORLDS))).message,
        /only http and https are supported/,
        location,
      );
    }
    for (location of ['', '?', '/', `http://127.0.0.1:${outer.port}/again`])
      assert.match(
        (await refusalOf(ask(`http://127.0.0.1:${outer.port}/`, TWO_WORLDS))).message,
        /redirects more than 3 times/,
      );
    location = `http://user:s3cret@127.0.0.1:${outer.port}/end`;
    assert.is(await ask(`http://127.0.0.1:${outer.port}/`, TWO_WORLDS), 'end');
    assert.is(outer.requests.at(-1)?.headers.authorization, undefined);
  });

  Ssrf(`${name} is checked at each redirect, also to a name that it was at before`, async () => {
    const outer = await serve((_, response) => response.writeHead(302, { location: '/again' }).end());
    const inner = await serve((_, response) => response.end('secret'), '127.0.0.2', outer.port);
    await using names = await startNameServer((_, count) => [count === 0 ? '127.0.0.1' : '127.0.0.2']);
    assert.is(
      (await refusalOf(ask(`http://rebind.test:${outer.port}/`, { ...TWO_WORLDS, lookup: names.lookup }))).name,
      'PrivateAddressException',
    );
    assert.is(inner.requests.length, 0);
  });
}

Ssrf.run();
