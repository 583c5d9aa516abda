import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ASKING_WAYS } from '../../test/helpers/asking-ways.ts';
import { makeCertificates, startForwardProxy } from '../../test/helpers/outgoing.ts';
import { skip } from '../../test/skip.ts';
import { type NetworkSettings, networkOf } from './network.ts';
import { requestGuarded, type RequestOptions } from './request.ts';
import { errorOf } from '../../test/helpers/error-of.ts';

const NetworkSuite = suite('proxies and certificates');
const folder = mkdtempSync(join(tmpdir(), 'aana-test-'));
const certificates = await makeCertificates(folder, 'media.test', 'localhost');

const SETTINGS: NetworkSettings = {
  httpProxy: null,
  httpsProxy: null,
  noProxy: [],
  proxyResolves: false,
  authorityFiles: [],
};
const network = (settings: Partial<NetworkSettings>): ReturnType<typeof networkOf> =>
  networkOf({ ...SETTINGS, ...settings });
/** Addresses of media.test, which count as public here. Nothing leaves the machine. */
const lookup = async (): Promise<string[]> => ['127.0.0.1'];
const OPTIONS: RequestOptions = {
  maxBytes: 1000,
  timeoutMs: 20_000,
  idleTimeoutMs: 20_000,
  maxRedirects: 2,
  allowPrivate: false,
  isPublic: (address) => address === '127.0.0.1',
  lookup,
};
const get = (url: string, settings: Partial<NetworkSettings>, more: Partial<RequestOptions> = {}) =>
  requestGuarded({ method: 'get', url, headers: [] }, { ...OPTIONS, network: network(settings), ...more });

const seen: IncomingMessage[] = [];
const plain = createServer((request, response) => {
  seen.push(request);
  if (request.url === '/to-private') response.writeHead(302, { location: 'http://127.0.0.2/' }).end();
  else response.end(`plain ${request.url}`);
});
await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve));
const http = `http://media.test:${(plain.address() as AddressInfo).port}`;
const secure =
  certificates &&
  createTlsServer({ key: certificates.key, cert: certificates.cert }, (_, response) => response.end('secure'));
if (secure) await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve));
const https = secure && `https://media.test:${(secure.address() as AddressInfo).port}`;

NetworkSuite.before.each(() => void seen.splice(0));
NetworkSuite.after(() => {
  for (const server of [plain, secure]) {
    server?.closeAllConnections();
    server?.close();
  }
  rmSync(folder, { recursive: true });
});

NetworkSuite('a proxy opens a tunnel to the checked address', async () => {
  await using proxy = await startForwardProxy();
  const answer = await get(`${http}/a?b`, { httpProxy: proxy.url });
  assert.is(Buffer.from(answer.body).toString(), 'plain /a?b');
  assert.equal(proxy.asked, [`CONNECT 127.0.0.1:${new URL(http).port}`]);
  assert.is(seen[0]?.headers.host, new URL(http).host);
  assert.is(seen[0]?.headers['proxy-authorization'], undefined);
});

for (const { name, ask } of ASKING_WAYS) {
  NetworkSuite(`${name} goes through the proxy, by address or by name`, async () => {
    await using proxy = await startForwardProxy({ credentials: 'me:s3cret' });
    assert.is(await ask(`${http}/x`, { ...OPTIONS, network: network({ httpProxy: proxy.url }) }), 'plain /x');
    await ask(`${http}/x`, { ...OPTIONS, network: network({ httpProxy: proxy.url, proxyResolves: true }) });
    assert.equal(proxy.asked, [
      `CONNECT 127.0.0.1:${new URL(http).port}`,
      `${name === 'a webhook' ? 'POST' : 'GET'} ${http}/x`,
    ]);
  });
}

NetworkSuite('the proxy gets no request to a private address, by name, by address or by redirect', async () => {
  await using proxy = await startForwardProxy();
  const through = { httpProxy: proxy.url, httpsProxy: proxy.url };
  const rebound = { lookup: async () => ['127.0.0.2'] };
  assert.is((await errorOf(get('http://media.test/', through, rebound))).name, 'PrivateAddressException');
  assert.is((await errorOf(get('https://media.test/', through, rebound))).name, 'PrivateAddressException');
  for (const url of ['http://10.0.0.1/', 'https://[fd00:ec2::254]/', 'http://169.254.169.254/'])
    assert.is((await errorOf(get(url, through))).name, 'PrivateAddressException', url);
  assert.equal(proxy.asked, []);
  assert.is((await errorOf(get(`${http}/to-private`, through))).name, 'PrivateAddressException');
  assert.is(proxy.asked.length, 1);
});

NetworkSuite('a resolving proxy gets names, and addresses in URLs are still checked by the host', async () => {
  await using proxy = await startForwardProxy();
  const through = { httpProxy: proxy.url, httpsProxy: proxy.url, proxyResolves: true };
  const nowhere = { lookup: () => Promise.reject(new Error('no name server')) };
  const answer = await get(`${http}/a?b`, through, nowhere);
  assert.is(Buffer.from(answer.body).toString(), 'plain /a');
  assert.equal(proxy.asked, [`GET ${http}/a?b`]);
  assert.is((await errorOf(get('http://169.254.169.254/latest', through, nowhere))).name, 'PrivateAddressException');
  assert.is((await errorOf(get(`${http}/to-private`, through, nowhere))).name, 'PrivateAddressException');
  if (https && certificates) {
    await get(https, { ...through, authorityFiles: [certificates.authorityFile] }, nowhere);
    assert.is(proxy.asked.at(-1), `CONNECT media.test:${new URL(https).port}`);
  }
});

NetworkSuite('user name and password of the proxy are sent only to the proxy, and appear in no message', async () => {
  await using proxy = await startForwardProxy({ credentials: 'me:s3cret' });
  assert.is((await get(http, { httpProxy: proxy.url })).status, 200);
  assert.is((await get(http, { httpProxy: proxy.url, proxyResolves: true })).status, 200);
  assert.equal(
    seen.map(({ headers }) => headers['proxy-authorization']),
    [undefined, undefined],
  );
  const error = await errorOf(get(http, { httpProxy: proxy.url.replace('s3cret', 'wr0ng') }));
  assert.match(error.message, /the proxy requires a user name and password \(407\)$/);
  assert.not.match(JSON.stringify([error.message, error.data]), /wr0ng/);
});

NetworkSuite('errors name a refusal of the proxy, and an unreachable proxy', async () => {
  await using proxy = await startForwardProxy({ refuses: /^CONNECT/ });
  assert.match(
    (await errorOf(get(http, { httpProxy: proxy.url }))).message,
    /a tunnel to the address of media\.test:\d+ \(403\); allow it in the proxy, or set outgoing\.proxy_resolves$/,
  );
  const unknown = { lookup: () => Promise.reject(Object.assign(new Error(), { code: 'ENOTFOUND' })) };
  assert.match(
    (await errorOf(get(http, { httpProxy: proxy.url }, unknown))).message,
    /is not known \(no such host\); if only the proxy can resolve names, set outgoing\.proxy_resolves$/,
  );
  const gone = `http://127.0.0.1:${proxy.port}`;
  await proxy[Symbol.asyncDispose]();
  assert.match((await errorOf(get(http, { httpProxy: gone }))).message, /the proxy cannot be reached/);
});

NetworkSuite('a silent proxy is given up, and the signal ends the wait', async () => {
  const { createServer: createTcpServer } = await import('node:net');
  const sockets: { destroy(): void }[] = [];
  const silent = createTcpServer((socket) => void sockets.push(socket)).listen(0, '127.0.0.1');
  await new Promise((resolve) => silent.once('listening', resolve));
  const httpProxy = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  assert.match(
    (await errorOf(get(http, { httpProxy }, { idleTimeoutMs: 50 }))).message,
    /the proxy did not answer for 0.05 s/,
  );
  const client = new AbortController();
  const gone = new Error('gone');
  silent.once('connection', () => client.abort(gone));
  assert.is(await get(http, { httpProxy }, { signal: client.signal }).catch((error: unknown) => error), gone);
  for (const socket of sockets) socket.destroy();
  silent.close();
});

const EXCEPTIONS: readonly (readonly [entry: string, url: string, isDirect: boolean])[] = [
  ['example.org', 'http://example.org/', true],
  ['example.org', 'http://a.example.org./', true],
  ['.example.org', 'http://example.org/', true],
  ['*.example.org', 'http://a.example.org/', true],
  ['EXAMPLE.org', 'http://example.ORG/', true],
  ['example.org', 'http://badexample.org/', false],
  ['example.org:8080', 'http://example.org/', false],
  ['example.org:8080', 'http://example.org:8080/', true],
  ['example.org:443', 'https://example.org/', true],
  ['10.0.0.0/8', 'http://10.1.2.3/', true],
  ['10.0.0.0/8', 'http://11.1.2.3/', false],
  ['10.0.0.0/8', 'http://[::ffff:10.1.2.3]/', true],
  ['192.0.2.7', 'http://192.0.2.7/', true],
  ['fd00::/8', 'http://[fd00::1]/', true],
  ['[fd00::1]:80', 'http://[fd00::1]/', true],
  ['fd00::1', 'http://[fd00::1]/', true],
  ['*', 'https://anything.example/', true],
  ['', 'http://example.org/', false],
  ['unused', 'http://127.0.0.1/', true],
  ['unused', 'http://localhost/', true],
  ['unused', 'http://[::1]/', true],
];
for (const [entry, url, isDirect] of EXCEPTIONS) {
  NetworkSuite(`no_proxy ${JSON.stringify(entry)} ${isDirect ? 'takes' : 'does not take'} ${url} directly`, () => {
    const { proxyFor } = network({ httpProxy: 'http://p:1', httpsProxy: 'http://p:1', noProxy: [entry] });
    assert.is(proxyFor(new URL(url)) === undefined, isDirect);
  });
}

NetworkSuite('each scheme has its own proxy', () => {
  const { proxyFor } = network({ httpsProxy: 'http://p:1' });
  assert.equal([proxyFor(new URL('http://a.test')), proxyFor(new URL('https://a.test'))?.host], [undefined, 'p:1']);
});

NetworkSuite('an unusable file of authorities is named in a ConfigError', () => {
  const [empty, broken] = [join(folder, 'empty.pem'), join(folder, 'broken.pem')];
  writeFileSync(empty, 'no certificate');
  writeFileSync(broken, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
  for (const file of [join(folder, 'missing.pem'), empty, broken, folder]) {
    assert.throws(
      () => network({ authorityFiles: [file] }),
      (error: Error) => error.name === 'ConfigError' && error.message.includes(file),
    );
  }
});

if (https && certificates) {
  const { authorityFile } = certificates;
  NetworkSuite('a server is trusted by the authority that is named, and by no other', async () => {
    const error = await errorOf(get(https, {}));
    assert.match(error.message, /not signed by a trusted authority; name the authority with outgoing\.ca_file$/);
    assert.is(Buffer.from((await get(https, { authorityFiles: [authorityFile] })).body).toString(), 'secure');
  });

  NetworkSuite(
    'the certificate must be for the host of the URL, also at an address of it and through a proxy',
    async () => {
      await using proxy = await startForwardProxy();
      const other = https.replace('media.test', 'other.test');
      for (const settings of [{}, { httpsProxy: proxy.url }]) {
        assert.match(
          (await errorOf(get(other, { ...settings, authorityFiles: [authorityFile] }))).message,
          /its certificate is for another host/,
        );
      }
      assert.match(
        (await errorOf(get(https.replace('media.test', '127.0.0.1'), { authorityFiles: [authorityFile] }))).message,
        /its certificate is for another host/,
      );
      assert.is((await get(https, { httpsProxy: proxy.url, authorityFiles: [authorityFile] })).status, 200);
    },
  );

  NetworkSuite('a proxy is spoken to over TLS where its address says https', async () => {
    await using proxy = await startForwardProxy();
    const { createServer: createTls } = await import('node:tls');
    const { connect } = await import('node:net');
    const front = createTls({ key: certificates.key, cert: certificates.cert }, (socket) =>
      socket
        .pipe(connect(proxy.port, '127.0.0.1'))
        .pipe(socket)
        .on('error', () => {}),
    ).listen(0, '127.0.0.1');
    await new Promise((resolve) => front.once('listening', resolve));
    const httpProxy = `https://localhost:${(front.address() as AddressInfo).port}`;
    assert.is((await get(http, { httpProxy, authorityFiles: [authorityFile] })).status, 200);
    assert.is((await get(https, { httpsProxy: httpProxy, authorityFiles: [authorityFile] })).status, 200);
    assert.is((await get(http, { httpProxy, proxyResolves: true, authorityFiles: [authorityFile] })).status, 200);
    assert.match((await errorOf(get(http, { httpProxy }))).message, /not signed by a trusted authority/);
    front.close();
  });
} else {
  skip('certificates', 'no openssl');
}

NetworkSuite.run();
