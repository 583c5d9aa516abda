// The names under which a server can be used, with the whole application.
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, request as requestPlain } from 'node:http';
import { request as requestTls } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { hostname, networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AanaApp } from '../../../application/app.ts';
import type { ConfigInput } from '../../../base/config/index.ts';
import { skip } from '../../../test/skip.ts';
import { CertificateFolder, hasOpenssl } from '../../../base/certificates/fixtures/certificates.ts';
import { guardedApp } from '../fixtures/guarded-app.ts';

const Names = suite('names of the server');
let folder = '';
Names.before(async () => void (folder = await mkdtemp(join(tmpdir(), 'aana-names-'))));
Names.after(() => rm(folder, { recursive: true, force: true }));

async function listening(
  config: ConfigInput = {},
  address: { host?: string; port?: number } = { host: '127.0.0.1', port: 0 },
): Promise<AanaApp> {
  const app = guardedApp(folder, config);
  await app.listen(address);
  return app;
}

/** Asks for `/livez` under a name. */
async function answerTo(
  { url = '' }: AanaApp,
  host: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: string }> {
  const isSocket = url.startsWith('unix:');
  const { port, protocol } = new URL(isSocket ? 'http://localhost' : url);
  const options = {
    path: '/livez',
    agent: false,
    setHost: false,
    rejectUnauthorized: false,
    headers: { host, ...headers },
    ...(isSocket
      ? { socketPath: url.slice(5) }
      : { host: url.includes('://localhost') ? '127.0.0.1' : new URL(url).hostname, port }),
  };
  const req = (protocol === 'https:' ? requestTls : requestPlain)(options).end();
  const [response] = (await once(req, 'response')) as [IncomingMessage];
  return { status: response.statusCode ?? 0, body: await text(response) };
}

async function assertNames(
  app: AanaApp,
  { taken, refused }: { readonly taken: readonly string[]; readonly refused: readonly string[] },
  headers?: Record<string, string>,
): Promise<void> {
  for (const host of taken) assert.is((await answerTo(app, host, headers)).status, 200, host);
  for (const host of refused) assert.is((await answerTo(app, host, headers)).status, 421, host);
}

const OTHERS = [
  'evil.example',
  'evil.example:8000',
  'localhost.evil.example',
  '127.0.0.1.evil.example',
  'evil.example.',
  'aana',
  '2130706433',
  '0x7f.1',
  'local host',
  '[evil]:80',
  'localhost:80:80',
];
const OWN = [
  'localhost',
  'LOCALHOST:8000',
  'localhost.',
  'app.localhost:1',
  '127.0.0.1',
  '127.0.0.1:99',
  '192.168.1.7:8000',
  '[::1]',
  '[::1]:8000',
  '0.0.0.0',
  hostname(),
  `${hostname().toUpperCase()}:8000`,
];

Names('are those that it has: addresses, localhost and what the machine is called', async () => {
  await using app = await listening();
  await assertNames(app, { taken: OWN, refused: OTHERS });
});

Names('are the reason of a refusal, which says how to allow one', async () => {
  await using app = await listening();
  const { body } = await answerTo(app, 'Evil.example:8000');
  assert.equal(JSON.parse(body), {
    error: 'HostNotAllowed',
    message:
      '"evil.example" is not a known name of this server: use its address or localhost, or allow the name with ' +
      'allowed_hosts (--allowed-host, AANA_ALLOWED_HOSTS)',
    data: {},
    stacktrace: null,
  });
});

Names('need not be there: no browser leaves them out', async () => {
  await using app = await listening();
  const socket = connect(Number(new URL(app.url ?? '').port), '127.0.0.1', () =>
    socket.end('GET /livez HTTP/1.0\r\n\r\n'),
  );
  assert.match(await text(socket), /^HTTP\/1\.1 200 /);
});

Names('that are configured are taken too, alone or with all below them', async () => {
  await using app = await listening({ allowed_hosts: ['Aana.example.org', '.lan'] });
  await assertNames(app, {
    taken: [...OWN, 'aana.example.org:80', 'lan', 'gpubox.lan', 'a.b.LAN:1'],
    refused: [...OTHERS, 'example.org', 'x.aana.example.org', 'lan.example', 'evillan'],
  });
  await using every = await listening({ allowed_hosts: ['*'] });
  await assertNames(every, { taken: [...OWN, ...OTHERS], refused: [] });
});

Names('of a server that other machines reach can be those of the local network, which have no dot', async () => {
  await using app = await listening({}, { host: '0.0.0.0', port: 0 });
  await assertNames(app, {
    taken: [...OWN, 'aana', 'aana:8000', 'gpu-box'],
    refused: OTHERS.filter((name) => name !== 'aana'),
  });
});

Names('are not looked at where a foreign name gains nothing: with API keys, and over HTTPS', async () => {
  await using keyed = await listening({ api_service: { enabled: true } });
  await assertNames(keyed, { taken: OTHERS, refused: [] });
  await using strict = await listening({ api_service: { enabled: true }, allowed_hosts: ['aana.example.org'] });
  await assertNames(strict, { taken: [...OWN, 'aana.example.org'], refused: OTHERS });
  if (!hasOpenssl) return skip('names over HTTPS', 'there is no openssl to make certificates with');
  using certificates = new CertificateFolder();
  const { cert, key } = certificates.make('server');
  await using tls = await listening({ tls: { cert, key } });
  await assertNames(tls, { taken: ['aana.example.org', ...OWN], refused: [] });
});

const through = (host: string, protocol: string): Record<string, string> => ({
  'x-forwarded-host': host,
  'x-forwarded-proto': protocol,
});

Names(
  'that a proxy on this machine passes on must be allowed: a page in a browser on this machine can send the same ' +
    'headers, all but Host',
  async () => {
    await using app = await listening({ trusted_proxies: ['loopback'] });
    await assertNames(app, { taken: ['localhost', '127.0.0.1'], refused: ['evil.example'] });
    await assertNames(
      app,
      { taken: [], refused: ['localhost', '127.0.0.1', 'evil.example'] },
      through('aana.example.org', 'https'),
    );
    await assertNames(app, { taken: ['localhost'], refused: ['evil.example'] }, through('localhost', 'https'));
    await using named = await listening({ trusted_proxies: ['loopback'], allowed_hosts: ['aana.example.org'] });
    for (const protocol of ['http', 'https']) {
      await assertNames(
        named,
        { taken: ['aana.example.org', '127.0.0.1:8000', 'localhost'], refused: ['evil.example'] },
        through('aana.example.org', protocol),
      );
      await assertNames(
        named,
        { taken: [], refused: ['aana.example.org', '127.0.0.1'] },
        through('evil.example', protocol),
      );
    }
    await using untrusting = await listening();
    await assertNames(untrusting, { taken: [], refused: ['evil.example'] }, through('localhost', 'https'));
  },
);

Names('are vouched for by the certificate of a trusted proxy on another machine', async () => {
  const [address] = Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .filter(({ internal, family }) => !internal && family === 'IPv4')
    .map(({ address: own }) => own);
  if (address === undefined)
    return skip('names behind a proxy on another machine', 'this machine has no address but loopback');
  await using app = await listening({ trusted_proxies: [address] }, { host: '0.0.0.0', port: 0 });
  const there = { url: (app.url ?? '').replace('localhost', address) } as AanaApp;
  await assertNames(there, { taken: ['backend', 'evil.example'], refused: [] }, through('aana.example.org', 'https'));
  await assertNames(there, { taken: [], refused: ['backend', 'localhost'] }, through('aana.example.org', 'http'));
});

Names('on a Unix socket are those that its proxy passes on', async () => {
  const path = join(folder, 'http.sock');
  await using app = await listening({}, { host: `unix:${path}` });
  await assertNames(app, { taken: ['localhost', 'backend', '127.0.0.1'], refused: ['evil.example'] });
  await using trusting = await listening({ trusted_proxies: ['unix'] }, { host: `unix:${path}.2` });
  await assertNames(trusting, { taken: ['aana.example.org'], refused: [] }, through('aana.example.org', 'https'));
  await assertNames(trusting, { taken: [], refused: ['aana.example.org'] }, through('aana.example.org', 'http'));
});

Names('are left to the program in which the application is mounted, unless they are configured', async () => {
  const cases: [ConfigInput, number][] = [
    [{}, 200],
    [{ allowed_hosts: ['aana.example.org'] }, 421],
  ];
  for (const [config, status] of cases) {
    await using app = guardedApp(folder, config);
    const server = createServer(app.callback()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const at = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` } as AanaApp;
    assert.is((await answerTo(at, 'evil.example')).status, status);
    server.close();
  }
});

/**
 * For each operation of the document that an application gives, how it documents 421. Routes of OpenAI's API have one
 * response for all failures.
 */
async function documented({ url = '' }: Pick<AanaApp, 'url'>): Promise<unknown[]> {
  const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { responses?: Record<string, unknown> }>>;
  };
  return Object.values(paths).flatMap((item) =>
    Object.values(item).flatMap(({ responses }) => (responses ? [responses['421']] : [])),
  );
}

Names('are in the OpenAPI document where they are checked: every operation can answer 421', async () => {
  const cases: [ConfigInput, boolean][] = [
    [{}, true],
    [{ api_service: { enabled: true } }, false],
    [{ api_service: { enabled: true }, allowed_hosts: ['aana.example.org'] }, true],
  ];
  for (const [config, isChecked] of cases) {
    await using app = await listening(config);
    const statuses = await documented(app);
    assert.ok(statuses.length > 15, `${statuses.length} operations`);
    for (const status of statuses)
      if (isChecked)
        assert.match(
          (status as { $ref: string }).$ref,
          /^#\/components\/responses\/(HostNotAllowed|OpenAIError|AnthropicError)$/,
          JSON.stringify(config),
        );
      else assert.is(status, undefined, JSON.stringify(config));
  }
});

Names('are in the document of each server of an application as that server checks them', async () => {
  await using app = await listening();
  const server = createServer(app.callback()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const unchecked = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  try {
    for (const at of [unchecked, app, unchecked])
      assert.is(
        (await documented(at)).every((status) => status === undefined),
        at === unchecked,
      );
  } finally {
    server.close();
  }
});

for (const wrong of ['https://aana.example.org', 'aana.example.org:8000', '*.example.org', 'a b', '', '.', 'a..b']) {
  Names(`are refused with the configuration where they are none: ${JSON.stringify(wrong)}`, () => {
    assert.throws(() => guardedApp(folder, { allowed_hosts: [wrong] }), /allowed_hosts/);
  });
}

Names.run();
