// A real server, started like a user starts it. Clients and plugins name URLs that it must not request, and the
// operator has a proxy.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type ForwardProxy, startForwardProxy } from '../helpers/outgoing.ts';
import { linkDependencies } from '../helpers/plugin-project.ts';
import { post, type RunningServer, serve } from '../helpers/server.ts';

const Outgoing = suite('outgoing requests of a server');

const SOURCE = `import { defineEndpoint, defineHelper, definePlugin, VideoInput, z } from 'aana-host/plugin';
const ask = defineEndpoint({
  name: 'ask', path: '/ask', summary: 'Ask a URL',
  input: z.object({ url: z.string() }), output: z.object({ status: z.number(), text: z.string() }),
  run: async ({ url }) => {
    const answer = await fetch(url);
    return { status: answer.status, text: await answer.text() };
  },
});
const open = defineEndpoint({
  name: 'open', path: '/open', summary: 'Open a video',
  input: z.object({ video: VideoInput }), output: z.object({ duration: z.optional(z.number()) }),
  run: async ({ video }, ctx) => {
    using opened = await ctx.video.open(video);
    return { duration: opened.info.duration };
  },
});
const carry = async (url, ctx) => {
  try { using opened = await ctx.video.open({ url }); return 'opened'; }
  catch ({ name, message }) { return name + ': ' + message; } };
const helper = defineHelper({ name: 'carry', input: z.string(), output: z.string(), run: carry });
const leak = defineEndpoint({
  name: 'leak', path: '/leak', summary: 'Carry a secret out',
  input: z.object({ server: z.string(), video: z.string() }), output: z.array(z.string()), uses: ['remote'],
  run: ({ server, video }, ctx) => {
    const own = server + '/?s3cret';
    return Promise.all([carry(own, ctx), ctx.runRemote(helper, own), ctx.runRemote(helper, video)]);
  },
});
export const endpoint = definePlugin([ask, open, leak], { helpers: [helper] });
`;
const HOSTS = ['127.0.0.1', 'localhost', '169.254.169.254', '10.0.0.1', 'media.test'];

let folder = '';
let server: RunningServer;
let proxy: ForwardProxy;
let target: Server;
let asked = 0;

Outgoing.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'aana-outgoing-'));
  linkDependencies(folder);
  await mkdir(join(folder, 'asking/src'), { recursive: true });
  await writeFile(join(folder, 'package.json'), '{"name":"asking","private":true,"type":"module"}');
  await writeFile(
    join(folder, 'asking/plugin.json'),
    JSON.stringify({ name: 'asking', version: '1.0.0', capabilities: ['media', 'http', 'remote'], hosts: HOSTS }),
  );
  await writeFile(join(folder, 'asking/src/index.ts'), SOURCE);
  target = createServer((_, response) => {
    asked += 1;
    response.end('this is not a video');
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => target.once('listening', resolve));
  proxy = await startForwardProxy({ credentials: 'me:s3cret' });
  server = await serve({
    plugins: [join(folder, 'asking')],
    config: { deployments: {}, strict: true, plugin_grants: { asking: { hosts: ['*'] } } },
    env: { HTTP_PROXY: proxy.url, AANA_PROXY_RESOLVES: 'true', http_proxy: '', NO_PROXY: '', no_proxy: '' },
  });
});
Outgoing.after(async () => {
  await server?.stop();
  await proxy?.[Symbol.asyncDispose]();
  target?.closeAllConnections();
  target?.close();
  await rm(folder, { recursive: true, force: true });
});

async function failure(answer: Promise<Response>): Promise<{ status: number; error: string; message: string }> {
  const response = await answer;
  const text = await response.text();
  const body = JSON.parse(text) as { error: string; message: string };
  assert.equal(Object.keys(body), ['error', 'message', 'data', 'stacktrace'], text);
  return { status: response.status, ...body };
}
const open = (url: string): Promise<Response> => post(`${server.url}/open`, { video: { url } });
const ask = (url: string): Promise<Response> => post(`${server.url}/ask`, { url });

Outgoing('a private address is a 403 that explains how to allow it, for media and for a plugin', async () => {
  const { port } = target.address() as AddressInfo;
  for (const url of [
    `http://127.0.0.1:${port}/`,
    `http://2130706433:${port}/`,
    `http://[::ffff:127.0.0.1]:${port}/`,
    'http://localhost/',
    'http://169.254.169.254/latest/meta-data/',
    'https://10.0.0.1/',
  ]) {
    const { status, error, message } = await failure(open(url));
    assert.equal([status, error], [403, 'PrivateAddressException'], message);
    assert.match(message, /--allow-private-urls/);
  }
  for (const url of [
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://①②⑦.0.0.1/',
    'http://localhost/',
    'http://169.254.169.254/latest/meta-data/',
    'http://10.0.0.1/',
  ]) {
    const { status, error, message } = await failure(ask(url));
    assert.equal([status, error], [403, 'PrivateAddressException'], message);
  }
  assert.equal((({ status, error }) => [status, error])(await failure(ask('http://elsewhere.test/'))), [
    403,
    'HostDenied',
  ]);
  assert.is(asked, 0);
  assert.equal(proxy.asked, []);
});

Outgoing(
  'a webhook is not created for a private address in any spelling, nor for a name that resolves to one',
  async () => {
    const register = (url: string): Promise<Response> =>
      fetch(`${server.url}/webhooks`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ url }),
      });
    for (const url of [
      'http://127.0.0.1/',
      'http://2130706433/',
      'http://[::ffff:7f00:1]/',
      'http://localhost./',
      'http://169.254.169.254/',
      'http://[fd00:ec2::254]/',
      'file:///etc/passwd',
      'http://10.0.0.1\\@media.test/',
    ]) {
      const { status, message } = await failure(register(url));
      assert.ok([400, 403, 422].includes(status), `${url}: ${status} ${message}`);
    }
    assert.equal(proxy.asked, []);
  },
);

Outgoing('a URL that is not http is a 400 or a 422', async () => {
  for (const url of ['file:///etc/passwd', 'ftp://media.test/', 'gopher://media.test/', 'http://media.test:25/']) {
    const { status, error, message } = await failure(open(url));
    assert.is(error === 'ValidationError' ? 422 : 400, status, message);
  }
});

Outgoing('media and plugins use the proxy of the environment, and no answer or log has its password', async () => {
  const { port } = target.address() as AddressInfo;
  const { status, error } = await failure(open(`http://media.test:${port}/a.mp4`));
  assert.equal([status, error], [400, 'VideoReadingException']);
  assert.equal(proxy.asked, [`GET http://media.test:${port}/a.mp4`]);
  const refused = await failure(ask('http://media.test/'));
  assert.is(refused.status, 503); // nothing listens on port 80
  assert.is(proxy.asked[1], 'GET http://media.test/');
  assert.not.match(server.output(), /s3cret/);
});

Outgoing('a plugin cannot open media from a URL that it made up, not even in a helper', async () => {
  const { port } = target.address() as AddressInfo;
  const before = proxy.asked.length;
  const answer = await post(`${server.url}/leak`, {
    server: `http://media.test:${port}`,
    video: `http://media.test:${port}/named.mp4`,
  });
  const [leaked, leakedByHelper, named] = (await answer.json()) as string[];
  const refusal =
    `HostDenied: media of media.test:${port} cannot be opened: the URL is not in the request's input, ` +
    `and the plugin.json of asking does not name media.test:${port} among its hosts`;
  assert.equal([leaked, leakedByHelper], [refusal, refusal]);
  assert.match(named ?? '', /^VideoReadingException/);
  assert.equal(proxy.asked.slice(before), [`GET http://media.test:${port}/named.mp4`]);
});

Outgoing.run();
