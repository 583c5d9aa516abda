// Tests with a real browser what pages of other servers can do to a server on the same machine.
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Router } from '@koa/router';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import type { AanaApp } from '../../application/app.ts';
import { guardedApp } from '../../apis/http/fixtures/guarded-app.ts';
import { type Browser, findChromium, type Page, startBrowser } from '../helpers/browser.ts';
import { skip } from '../skip.ts';

const Foreign = suite('pages of other servers');
const program = findChromium();
/** The name of the foreign server. In the browser it resolves to this machine. */
const EVIL = 'evil.example';
/**
 * A name of this machine in its network. Browsers send a server less information about requests to such a name than to
 * localhost.
 */
const LAN = 'gpubox.lan';
/** Another name of the foreign server, which a server allows. */
const FRIEND = 'friend.example';
const SECRET = 'only for the person at this machine';

let folder = '';
let browser: Browser;
let evil: Server;
let evilPort = 0;
/** The default server. It listens at the address that the foreign server had when `rebound` was loaded from it. */
let app: AanaApp;
let port = 0;
let rebound: Page;
/** A server that is used under the name {@link LAN}. */
let lanApp: AanaApp;
let lanPort = 0;
/** A server that allows the pages of {@link FRIEND}. */
let openApp: AanaApp;
/** Requests that reached code of the application: its endpoints and its routes. */
const reached: string[] = [];

async function serveEmptyPages(): Promise<{ server: Server; port: number }> {
  const server = createServer((_req, res) =>
    res.setHeader('content-type', 'text/html').end('<!doctype html><title>pages</title><body></body>'),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}

async function close(server: Server): Promise<void> {
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
}

async function startApp(name: string, at: number, config: Parameters<typeof guardedApp>[1]): Promise<AanaApp> {
  const started = guardedApp(join(folder, name), config);
  const run = async ({ text }: { text: string }): Promise<{ text: string }> => {
    reached.push(`${name} endpoint ${text}`);
    return { text };
  };
  started.registerEndpoint({
    ...{ name: 'picture', path: '/pictures/{text}', output: z.any(), run },
    input: z.strictObject({ text: z.string() }).meta({ 'x-aana-method': 'get' }),
  });
  started.registerEndpoint({
    name: 'note',
    path: '/note',
    input: z.strictObject({ text: z.string() }),
    output: z.any(),
    run,
  });
  const router = new Router();
  router.all('/any', (ctx) => {
    reached.push(`${name} route ${ctx.method}`);
    ctx.body = 'any';
  });
  started.registerRouter('any', router as never);
  await started.listen({ host: '127.0.0.1', port: at });
  await started.deploy();
  return started;
}

Foreign.before(async () => {
  if (program === undefined) return;
  folder = await mkdtemp(join(tmpdir(), 'aana-foreign-'));
  browser = await startBrowser(program, {
    hosts: { [EVIL]: '127.0.0.1', [FRIEND]: '127.0.0.1', [LAN]: '127.0.0.1' },
  });
  ({ server: evil, port: evilPort } = await serveEmptyPages());
  const first = await serveEmptyPages();
  rebound = await browser.open(`http://${EVIL}:${first.port}/`);
  await close(first.server);
  port = first.port;
  app = await startApp('app', port, {});
  lanApp = await startApp('lan', 0, { allowed_hosts: [LAN] });
  openApp = await startApp('open', 0, { cors: { allow_origins: [`http://${FRIEND}:${evilPort}`] } });
  lanPort = Number(new URL(lanApp.url ?? '').port);
});
Foreign.before.each(() => void reached.splice(0));
Foreign.after(async () => {
  if (program === undefined) return;
  await browser[Symbol.asyncDispose]();
  await Promise.all([
    app.shutdown({ graceMs: 0 }),
    openApp.shutdown({ graceMs: 0 }),
    lanApp.shutdown({ graceMs: 0 }),
    close(evil),
  ]);
  await rm(folder, { recursive: true, force: true });
});

function inBrowser(title: string, test: () => Promise<void>): void {
  Foreign(title, async () => (program === undefined ? skip(title, 'Chromium is missing') : test()));
}

inBrowser('use what has GET only if they are allowed, also by links and images', async () => {
  const url = `${openApp.url}/pictures/`;
  // It sends what an image sends, and ends as the image does.
  const embed = (text: string): string =>
    `fetch('${url}${text}', { mode: 'no-cors' }).then(({ type }) => type, () => 'failed')`;
  const friend = await browser.open(`http://${FRIEND}:${evilPort}/`);
  assert.is(await friend.evaluate(embed('a')), 'opaque');
  await friend.evaluate(`location.href = '${url}b'`);
  await friend.until(`location.pathname === '/pictures/b' && document.body.innerText.includes('"b"')`);
  const foreign = await browser.open(`http://${EVIL}:${evilPort}/`);
  assert.is(await foreign.evaluate(embed('c')), 'failed');
  await foreign.evaluate(`location.href = '${url}d'`);
  await foreign.until(`location.pathname === '/pictures/d' && document.body.innerText.includes('OriginNotAllowed')`);
  assert.equal(reached, ['open endpoint a', 'open endpoint b']);
});

/** Returns the id of a task that has ended, so that it can be deleted. */
async function endedTask(at = port, path = '/echo', input: object = { n: 7 }): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${at}${path}?defer=true`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(input),
  });
  const { task_id: id } = (await response.json()) as { task_id: string };
  for (;;) {
    const { status } = (await (await fetch(`http://127.0.0.1:${at}/tasks/${id}`)).json()) as { status: string };
    if (status === 'completed') return id;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function statusOfTask(id: string, at = port): Promise<number> {
  return (await fetch(`http://127.0.0.1:${at}/tasks/${id}`)).status;
}

async function webhookCount(at = port): Promise<number> {
  return ((await (await fetch(`http://127.0.0.1:${at}/webhooks`)).json()) as { webhooks: unknown[] }).webhooks.length;
}

/** Returns the text that a script of the page reads, or the name of the error. */
async function read(page: Page, url: string, init: RequestInit = {}): Promise<string> {
  return String(
    await page.evaluate(
      `fetch(${JSON.stringify(url)}, ${JSON.stringify(init)}).then((r) => r.text()).catch((e) => e.name)`,
    ),
  );
}

/** Makes the page load an element, and waits until the browser has an answer or an error. */
async function load(page: Page, html: string): Promise<void> {
  await page.evaluate(`new Promise((resolve) => {
    const box = document.createElement('div');
    box.innerHTML = ${JSON.stringify(html)};
    const first = box.firstElementChild;
    const isScript = first.tagName === 'SCRIPT';
    const loaded = isScript ? Object.assign(document.createElement('script'), { src: first.src }) : first;
    loaded.onload = loaded.onerror = () => resolve(true);
    document.body.append(loaded);
  })`);
}

/** Makes the page send a form, and waits until a frame shows the answer. */
async function sendForm(
  page: Page,
  action: string,
  {
    method = 'POST',
    type = 'application/x-www-form-urlencoded',
    fields,
  }: { readonly method?: string; readonly type?: string; readonly fields: Readonly<Record<string, string>> },
): Promise<void> {
  await page.evaluate(`new Promise((resolve) => {
    const frame = Object.assign(document.createElement('iframe'), { name: 'answer' + Math.random() });
    document.body.append(frame);
    const form = Object.assign(document.createElement('form'), {
      action: ${JSON.stringify(action)}, method: '${method}', enctype: '${type}', target: frame.name,
    });
    for (const [name, value] of Object.entries(${JSON.stringify(fields)}))
      form.append(Object.assign(document.createElement('input'), { name, value }));
    document.body.append(form);
    frame.onload = () => { if (frame.seen) resolve(true); };
    setTimeout(() => { frame.seen = true; form.submit(); }, 50);
  })`);
}

inBrowser('whose name suddenly resolves to this machine read nothing and send nothing', async () => {
  const id = await endedTask();
  await endedTask(port, '/note', { text: SECRET });
  reached.splice(0);
  for (const path of [
    '/tasks',
    `/tasks/${id}`,
    '/api/status',
    '/api/ready',
    '/openapi.json',
    '/docs',
    '/nothing',
    '/any',
  ]) {
    const text = await read(rebound, path);
    assert.match(text, '"error":"HostNotAllowed"', path);
    assert.not.match(text, SECRET);
  }
  const json = { 'content-type': 'application/json' };
  const sent: readonly [string, RequestInit][] = [
    ['/note', { method: 'POST', headers: json, body: '{"text":"x"}' }],
    ['/webhooks', { method: 'POST', headers: json, body: '{"url":"https://evil.example/"}' }],
    [`/tasks/delete/${id}`, {}],
    [`/tasks/${id}`, { method: 'DELETE' }],
    ['/any', { method: 'OPTIONS' }],
    ['/any', { method: 'PUT' }],
  ];
  for (const [path, init] of sent) assert.match(await read(rebound, path, init), '"error":"HostNotAllowed"', path);
  assert.equal([await statusOfTask(id), await webhookCount(), reached], [200, 0, []]);
});

const forms: readonly [type: string, fields: Readonly<Record<string, string>>][] = [
  ['application/x-www-form-urlencoded', { body: '{"text":"x"}' }],
  ['multipart/form-data', { body: '{"text":"x"}' }],
  ['text/plain', { '{"text":"x","more":"': '"}' }],
];
for (const host of [EVIL, 'localhost']) {
  inBrowser(`at http://${host} send no form`, async () => {
    const page = await browser.open(`http://${host}:${evilPort}/`);
    for (const [type, fields] of forms)
      for (const target of ['127.0.0.1', 'localhost'])
        await sendForm(page, `http://${target}:${port}/note`, { type, fields });
    await sendForm(page, `http://127.0.0.1:${port}/any`, { fields: {} });
    await sendForm(page, `http://127.0.0.1:${port}/webhooks`, {
      type: 'text/plain',
      fields: { '{"url":"https://evil.example/","events":["': '"]}' },
    });
    assert.equal([await webhookCount(), reached], [0, []]);
  });

  inBrowser(`at http://${host} delete no task by loading anything from this server`, async () => {
    const id = await endedTask();
    const page = await browser.open(`http://${host}:${evilPort}/`);
    const url = `http://127.0.0.1:${port}/tasks/delete/${id}`;
    for (const html of [
      `<img src="${url}">`,
      `<img src="${url}" referrerpolicy="no-referrer">`,
      `<script src="${url}"></script>`,
      `<link rel="stylesheet" href="${url}">`,
      `<iframe src="${url}"></iframe>`,
    ]) {
      await load(page, html);
      assert.is(await statusOfTask(id), 200, html);
    }
    for (const init of [
      {},
      { mode: 'no-cors' },
      { mode: 'no-cors', credentials: 'include', referrerPolicy: 'no-referrer' },
      { method: 'HEAD', mode: 'no-cors' },
    ] as const) {
      await read(page, url, init);
      assert.is(await statusOfTask(id), 200, JSON.stringify(init));
    }
    await sendForm(page, url, { method: 'GET', fields: {} });
    assert.is(await statusOfTask(id), 200, 'a form');
    await page.evaluate(`void (location.href = ${JSON.stringify(url)})`);
    await page.until(`location.href === ${JSON.stringify(url)}`);
    assert.is(await statusOfTask(id), 200, 'a link');
  });

  inBrowser(`at http://${host} read no answer, and reach no code with preflight requests`, async () => {
    const id = await endedTask();
    const page = await browser.open(`http://${host}:${evilPort}/`);
    for (const path of ['/tasks', `/tasks/${id}`, '/api/status', '/openapi.json'])
      assert.is(await read(page, `http://127.0.0.1:${port}${path}`), 'TypeError', path);
    reached.splice(0);
    const inits: RequestInit[] = [
      { method: 'OPTIONS' },
      { method: 'PUT' },
      { method: 'DELETE' },
      { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' },
      { headers: { 'x-other': '1' } },
    ];
    for (const init of inits)
      assert.is(await read(page, `http://127.0.0.1:${port}/any`, init), 'TypeError', JSON.stringify(init));
    assert.equal(reached, []);
  });
}

inBrowser('delete no task if the browser does not name the origin of a request', async () => {
  const id = await endedTask(lanPort);
  const page = await browser.open(`http://${EVIL}:${evilPort}/`);
  const url = `http://${LAN}:${lanPort}/tasks/delete/${id}`;
  for (const html of [
    `<img src="${url}">`,
    `<img src="${url}" referrerpolicy="no-referrer">`,
    `<iframe src="${url}" referrerpolicy="no-referrer"></iframe>`,
  ]) {
    await load(page, html);
    assert.is(await statusOfTask(id, lanPort), 200, html);
  }
});

inBrowser('are distinguished from pages of the server itself, which may do everything', async () => {
  for (const [origin, at] of [
    [`http://127.0.0.1:${port}`, port],
    [`http://localhost:${port}`, port],
    [`http://${LAN}:${lanPort}`, lanPort],
  ] as const) {
    const id = await endedTask(at);
    const page = await browser.open(`${origin}/docs`);
    assert.match(await read(page, '/tasks'), id, origin);
    assert.is(
      await read(page, '/note', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"text":"own"}',
      }),
      '{"text":"own"}',
    );
    assert.match(await read(page, `/tasks/delete/${id}`), id);
    assert.is(await statusOfTask(id, at), 404, origin);
  }
});

Foreign.run();
