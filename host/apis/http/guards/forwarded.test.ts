import { mkdtempSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Router } from '@koa/router';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startServer, type TestServer } from '../fixtures/test-server.ts';
import { forwardedFrom, trustOf } from './forwarded.ts';
import { type RouterLike, RouterSet } from '../routes/routers.ts';

const Proxies = suite('trusted proxies');

const clientOf = (peer: string, forwardedFor: string, proxies: readonly string[]): string | undefined =>
  forwardedFrom(peer, (name) => (name === 'x-forwarded-for' ? forwardedFor : ''), trustOf(proxies))?.ip;

Proxies('are addresses, networks, `loopback` and `unix`', () => {
  const trusted: readonly [string, string[], boolean][] = [
    ['127.0.0.1', ['loopback'], true],
    ['127.9.9.9', ['loopback'], true],
    ['::1', ['loopback'], true],
    ['::ffff:127.0.0.1', ['loopback'], true],
    ['10.1.2.3', ['loopback'], false],
    ['10.1.2.3', ['10.0.0.0/8'], true],
    ['::ffff:10.1.2.3', ['10.0.0.0/8'], true],
    ['11.1.2.3', ['10.0.0.0/8'], false],
    ['10.1.2.3', ['10.1.2.3'], true],
    ['10.1.2.4', ['10.1.2.3'], false],
    ['2001:db8::7', ['2001:db8::/32'], true],
    ['2001:db9::7', ['2001:db8::/32'], false],
    ['unix', ['unix'], true],
    ['unix', ['loopback', '0.0.0.0/0'], false],
    ['', ['0.0.0.0/0', '::/0'], false],
  ];
  for (const [peer, proxies, expected] of trusted)
    assert.is(trustOf(proxies)(peer), expected, `${peer} of ${proxies.join(' ')}`);
});

Proxies('are skipped from the right up to the first other address', () => {
  const proxies = ['10.0.0.0/8', 'loopback'];
  const cases: readonly [peer: string, header: string, client: string | undefined][] = [
    ['192.0.2.1', '198.51.100.1', undefined], // no proxy: the header is ignored
    ['10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['10.0.0.1', '203.0.113.9, 198.51.100.1', '198.51.100.1'], // the left one was sent by the client
    ['10.0.0.1', '198.51.100.1, 10.0.0.2, 10.0.0.3', '198.51.100.1'],
    ['10.0.0.1', '10.0.0.2, 10.0.0.3', '10.0.0.2'],
    ['10.0.0.1', '', '10.0.0.1'],
    ['::ffff:10.0.0.1', '', '10.0.0.1'],
    ['10.0.0.1', '198.51.100.1, unknown', '10.0.0.1'],
    ['10.0.0.1', '198.51.100.1, 10.0.0.2, , 10.0.0.3', '10.0.0.3'],
    ['10.0.0.1', '198.51.100.1:4711', '198.51.100.1'],
    ['10.0.0.1', '[2001:db8::1]:4711', '2001:db8::1'],
    ['10.0.0.1', '2001:db8::1', '2001:db8::1'],
    ['10.0.0.1', '::ffff:198.51.100.1', '198.51.100.1'],
    ['10.0.0.1', '127.1', '10.0.0.1'], // no other spelling of an address
    ['10.0.0.1', '0x7f000001', '10.0.0.1'],
    ['10.0.0.1', '<script>', '10.0.0.1'],
  ];
  for (const [peer, header, client] of cases) assert.is(clientOf(peer, header, proxies), client, `${peer}: ${header}`);
});

const SPOOFED = {
  'x-forwarded-for': '203.0.113.9, 198.51.100.1',
  'x-forwarded-proto': 'https',
  'x-forwarded-host': 'api.example.org',
  'x-forwarded-prefix': '/ai/',
};

function routers(): RouterSet {
  const router = new Router();
  router.get(
    '/who',
    ({
      request: { ip, protocol, secure, host, hostname, href },
    }: { request: Record<string, unknown> } & Record<string, unknown>) => {
      seen = { ip, protocol, secure, host, hostname, href };
    },
  );
  const set = new RouterSet();
  set.add('who', router as RouterLike, []);
  return set;
}

let seen: Record<string, unknown> = {};

async function seenBy(at: TestServer, headers: Record<string, string>): Promise<Record<string, unknown>> {
  await fetch(`${at.url}/who`, { headers });
  return seen;
}

Proxies('set the address, protocol and host of a request if they are trusted', async () => {
  await using at = await startServer({ trustedProxies: ['loopback'], routers: routers() });
  assert.equal(await seenBy(at, SPOOFED), {
    ip: '198.51.100.1',
    protocol: 'https',
    secure: true,
    host: 'api.example.org',
    hostname: 'api.example.org',
    href: 'https://api.example.org/who',
  });
  const plain = await seenBy(at, {});
  assert.equal([plain['ip'], plain['protocol'], plain['host']], ['127.0.0.1', 'http', `127.0.0.1:${at.port}`]);
});

Proxies('are none unless the configuration names them', async () => {
  for (const trustedProxies of [undefined, [], ['10.0.0.0/8'], ['unix']]) {
    await using at = await startServer({ trustedProxies, routers: routers() });
    const { ip, protocol, host } = await seenBy(at, SPOOFED);
    assert.equal([ip, protocol, host], ['127.0.0.1', 'http', `127.0.0.1:${at.port}`]);
    const document = await fetch(`${at.url}/openapi.json`, { headers: SPOOFED }).then((response) => response.text());
    assert.not.match(document, /"\/ai|api\.example\.org/);
    assert.match(document, `http://127.0.0.1:${at.port}/echo`);
  }
});

Proxies('are believed only if their headers are well formed', async () => {
  await using at = await startServer({ trustedProxies: ['loopback'], routers: routers() });
  const { ip, protocol, host } = await seenBy(at, {
    'x-forwarded-for': 'x',
    'x-forwarded-proto': 'gopher',
    'x-forwarded-host': 'a b/../c',
  });
  assert.equal([ip, protocol, host], ['127.0.0.1', 'http', `127.0.0.1:${at.port}`]);
  for (const prefix of ['ai', '/a/../b', '//evil.example', '/a b', '/"', 'https://evil.example', '/.', '/']) {
    const document = await fetch(`${at.url}/openapi.json`, { headers: { 'x-forwarded-prefix': prefix } }).then(
      (response) => response.text(),
    );
    assert.match(document, `http://127.0.0.1:${at.port}/echo`, prefix);
    assert.not.match(document, 'evil.example', prefix);
  }
  const last = await seenBy(at, {
    'x-forwarded-proto': 'http, https',
    'x-forwarded-host': 'evil.example, api.example.org:8443',
  });
  assert.equal([last['protocol'], last['host']], ['https', 'api.example.org:8443']);
});

Proxies('give the API documentation the address that clients use', async () => {
  await using at = await startServer({ trustedProxies: ['loopback'] });
  const document = (await fetch(`${at.url}/openapi.json`, { headers: SPOOFED }).then((response) =>
    response.json(),
  )) as { servers: unknown };
  assert.equal(document.servers, [{ url: '/ai' }]);
  assert.match(JSON.stringify(document), 'https://api.example.org/ai/echo');
});

Proxies('on the other end of a Unix socket are trusted as `unix`', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'aana-proxy-'));
  await using at = await startServer({ trustedProxies: ['unix'] });
  await at.server.close(0);
  const socketPath = join(folder, 'http.sock');
  await at.server.listenOnSocket(socketPath, 0o600);
  const [response] = (await once(
    request({ socketPath, path: '/openapi.json', headers: SPOOFED, agent: false }).end(),
    'response',
  )) as [NodeJS.ReadableStream];
  assert.match(await text(response), 'https://api.example.org/ai/echo');
  at.server.destroy();
  rmSync(folder, { recursive: true, force: true });
});

Proxies.run();
