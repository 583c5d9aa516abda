// What of a plugin's media reaches a server: real requests of a real media service, answered by servers that count
// them.
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../../../base/core/log/logger.ts';
import type { RequestContext } from '../../../../base/core/request-context.ts';
import { MediaService } from '../../../../io/media/index.ts';
import { FakePorts } from '../../fixtures/fake-ports.ts';
import { grantTo, type PluginGrants } from '../../rights/grants.ts';
import { defaultLimits } from '../../rights/limits.ts';
import type { PluginManifest } from '../../set/manifest.ts';
import type { HostReply } from '../../invocation/protocol.ts';
import { InvocationScope } from './invocation-scope.ts';
import { RequestUrls } from './request-urls.ts';

const manifest: PluginManifest = {
  ...{
    dir: '/p',
    name: 'sample',
    version: '1.0.0',
    description: undefined,
    runtime: 'component',
    component: '/p/sample.wasm',
    entry: '/p/index.ts',
  },
  ...{ capabilities: ['media'], deployments: [], hosts: ['*'], limits: {}, endpoints: {}, settings: {} },
};

const Source = suite('media that a plugin opens');
const servers: Server[] = [];
const asked: string[] = [];
Source.before.each(() => void asked.splice(0));
Source.after(() => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
});

/** Starts a server that records its requests. Returns its host and port. */
async function serve(listener: RequestListener): Promise<string> {
  const server = createServer((request, response) => {
    asked.push(`${request.headers.host}${request.url}`);
    listener(request, response);
  }).listen(0, '127.0.0.1');
  servers.push(server);
  await new Promise((resolve) => server.once('listening', resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const media = new MediaService({
  ...{
    ffmpegPath: '/bin/false',
    allowPaths: [],
    allowPrivateUrls: true,
    maxBytes: 10_000,
    maxDurationS: 10,
    fetchTimeoutMs: 20_000,
    maxRedirects: 3,
  },
  ...{ tempDir: tmpdir(), log: silentLogger },
});
Source.after(() => media.close());

const ports = Object.assign(new FakePorts(), {
  openMediaScope: (context: RequestContext) => media.openScope({ context }),
});

/**
 * Opens `url` in an invocation with that input (a text is JSON already), as a video and as an image: the error that
 * both ended with.
 */
async function open(
  url: string,
  input: unknown,
  grants: PluginGrants = {},
): Promise<{ name: string; message: string }> {
  const granted = grantTo(manifest, grants, defaultLimits);
  const errors = ['media.open', 'media.open-image'].map(async (operation) => {
    const requestUrls = new RequestUrls(typeof input === 'string' ? input : JSON.stringify(input));
    await using scope = new InvocationScope({
      ports,
      plugin: 'sample',
      context: { requestId: 'r' },
      files: new Map(),
      requestUrls,
      write: undefined,
      granted,
      startHelper: undefined,
    });
    const reply: HostReply = await scope.answer({ operation, args: [{ url }] } as never);
    assert.ok('error' in reply, 'there is no such media');
    return reply.error;
  });
  const [video, image] = await Promise.all(errors);
  assert.is(video!.name === 'HostDenied', image!.name === 'HostDenied');
  return video!;
}
const PROBED = 'VideoReadingException';

Source(
  'is fetched from a URL that stands anywhere in the input, as it stands there or in another spelling',
  async () => {
    const host = await serve((_, response) => response.end('no video'));
    const url = `http://${host}/a b?x=ü`;
    for (const input of [
      { video: { url } },
      { urls: ['http://other.test/', [[url]]] },
      { [url]: 1 },
      { url: ` ${url} ` },
      { url: url.replace('http', 'HTTP') },
      { url: new URL(url).href },
    ]) {
      assert.is((await open(url, input)).name, PROBED, JSON.stringify(input));
      assert.is((await open(new URL(url).href, input)).name, PROBED, JSON.stringify(input));
    }
    assert.equal([...new Set(asked)], [`${host}/a%20b?x=%C3%BC`]);
  },
);

Source('is refused, with the host and the grant, from a URL that the input does not have as a whole', async () => {
  const host = await serve((_, response) => response.end('no video'));
  const url = `http://${host}/a`;
  for (const input of [
    {},
    { url, secret: 's3cret' },
    { text: `see ${url}?s3cret for more` },
    { parts: [url, '?s3cret'] },
    { url: `"${url}?s3cret"` },
  ]) {
    const { name, message } = await open(`${url}?s3cret`, input);
    assert.is(name, 'HostDenied', JSON.stringify(input));
    assert.is(
      message,
      `media of ${host} cannot be opened: the URL is not in the request's input, and plugin_grants does not grant ` +
        `the host ${host} to plugin sample`,
    );
  }
  for (const leak of [
    `http://${host.replace('127.0.0.1', 's3cret.localhost')}/a`,
    `http://s3cret:s3cret@${host}/a`,
    `http://${host}/a#s3cret`,
    `http://${host}/A`,
  ])
    assert.is((await open(leak, { url })).name, 'HostDenied', leak);
  assert.equal(asked, []);
});

Source('is fetched from every URL of a granted host, and not from where that one redirects to', async () => {
  const elsewhere = await serve((_, response) => response.end('no video'));
  const host = await serve((request, response) =>
    request.url === '/to'
      ? response.writeHead(302, { location: `http://${elsewhere}/?s3cret` }).end()
      : response.end('no video'),
  );
  const grants = { sample: { hosts: [host] } };
  assert.is((await open(`http://${host}/x?y`, {}, grants)).name, PROBED);
  assert.is((await open(`http://${host}/to`, {}, grants)).name, 'HostDenied');
  assert.not.ok(asked.some((line) => line.startsWith(elsewhere)));
  assert.is(
    (await open(`http://${host}/to`, { url: `http://${host}/to` })).name,
    PROBED,
    'what the client names may lead anywhere',
  );
});

Source('is looked for in deep and long inputs without a stack or much time', async () => {
  const host = await serve((_, response) => response.end('no video'));
  const url = `http://${host}/deep`;
  assert.is((await open(url, `${'['.repeat(100_000)}${JSON.stringify(url)}${']'.repeat(100_000)}`)).name, PROBED);
  const many = Array.from({ length: 50_000 }, (_, n) => `http://a.test/${n}`);
  assert.is((await open(url, [...many, url])).name, PROBED, 'after the first ones, too, by its exact text');
});

Source('that is no URL of http is refused by its name', async () => {
  for (const url of ['', 'file:///etc/passwd', 'ftp://a.test/', 'not a URL'])
    assert.is((await open(url, {})).name, 'DownloadException', url);
});

Source('is fetched once for invocations of a plugin by one user, also from a granted host', async () => {
  const host = await serve((_, response) => void setImmediate(() => response.end('no video')));
  const url = `http://${host}/a`;
  const granted = grantTo(manifest, { sample: { hosts: [host] } }, defaultLimits);
  const openAs = async (userId: string, input: string): Promise<void> => {
    await using scope = new InvocationScope({
      ...{ ports, plugin: 'sample', context: { userId }, files: new Map(), requestUrls: new RequestUrls(input) },
      ...{ write: undefined, granted, startHelper: undefined },
    });
    const reply: HostReply = await scope.answer({ operation: 'media.open', args: [{ url }] } as never);
    assert.ok('error' in reply && reply.error.name === PROBED, JSON.stringify(reply));
  };
  for (const input of [JSON.stringify(url), '""']) {
    asked.splice(0);
    await Promise.all(['ann', 'ann', 'bob'].map((userId) => openAs(userId, input)));
    assert.is(asked.length, 2, input);
  }
});

Source.run();
