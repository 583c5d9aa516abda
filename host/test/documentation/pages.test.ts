// Tests the pages of the documentation in a real browser.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Koa from 'koa';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Browser, findChromium, type Page, startBrowser } from '../helpers/browser.ts';
import { startVariedApp, type VariedApp } from '../helpers/varied-app.ts';
import { skip } from '../skip.ts';

const Pages = suite('the pages of the documentation in a browser');
const program = findChromium();
let varied: VariedApp;
let browser: Browser;
let folder = '';

Pages.before(async () => {
  varied = await startVariedApp();
  folder = await mkdtemp(join(tmpdir(), 'aana-pages-'));
  await writeFile(join(folder, 'talk.mp4'), 'what the file holds');
  if (program !== undefined) browser = await startBrowser(program);
});
Pages.after(async () => {
  await browser?.[Symbol.asyncDispose]();
  await varied[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

function inBrowser(title: string, test: () => Promise<void>): void {
  Pages(title, async () => (program === undefined ? skip(title, 'Chromium is missing') : test()));
}

/** Asserts that the page logged no complaint and sent requests only to its own origin. */
function assertQuiet(page: Page, origin: string): void {
  assert.equal(page.complaints, []);
  assert.equal(
    page.requests.filter((url) => !url.startsWith(`${origin}/`) && !/^(data|blob):/.test(url)),
    [],
  );
  assert.ok(page.requests.length >= 3);
}

/** Opens an endpoint, fills in the form and sends it. Returns the status and the answer that the page shows. */
async function execute(
  page: Page,
  id: string,
  body?: string,
  file?: string,
): Promise<{ status: string; answer: string }> {
  const block = `#operations-${id}`;
  await page.click(`${block} .opblock-summary-control`);
  await page.click(`${block} .try-out__btn`);
  if (body !== undefined) await page.fill(`${block} textarea`, body);
  if (file !== undefined) await page.attach(`${block} input[type=file]`, file);
  await page.click(`${block} .execute`);
  await page.until(`document.querySelector('${block} .live-responses-table .response-col_status')?.innerText.trim()`);
  return {
    status: String(
      await page.evaluate(
        `document.querySelector('${block} .live-responses-table tbody .response-col_status').innerText`,
      ),
    ).trim(),
    answer: String(
      await page.evaluate(`document.querySelector('${block} .live-responses-table tbody .highlight-code').innerText`),
    ),
  };
}

inBrowser('/docs sends a form with a file and shows the answer', async () => {
  const page = await browser.open(`${varied.url}/docs`);
  const { status, answer } = await execute(
    page,
    'app-describe_video',
    '{"video":{"content":"video"}}',
    join(folder, 'talk.mp4'),
  );
  assert.is(status, '200');
  assert.equal(JSON.parse(answer.replace('Download', '')), {
    bytes: 19,
    filename: 'talk.mp4',
    text: 'what the file holds',
  });
  assertQuiet(page, varied.url);
});

inBrowser('/docs prefills the form with an input that is accepted unchanged', async () => {
  const page = await browser.open(`${varied.url}/docs`);
  const { status, answer } = await execute(page, 'app-describe_video', undefined, join(folder, 'talk.mp4'));
  assert.is(status, '200', answer);
  assert.match(answer, 'what the file holds');
  assertQuiet(page, varied.url);
});

inBrowser('/docs shows the mistakes of an input', async () => {
  const page = await browser.open(`${varied.url}/docs`);
  const { status, answer } = await execute(page, 'colours-mix_colours', '{"colours":[{"name":""}],"wrong":1}');
  assert.match(status, '422');
  assert.match(answer, '"ValidationError"');
  assert.match(answer, '"wrong"');
  // The browser itself logs that a request was answered with an error.
  assert.equal(
    page.complaints.filter((text) => !/status of 422/.test(text)),
    [],
  );
});

inBrowser('/docs shows a stream', async () => {
  const page = await browser.open(`${varied.url}/docs`);
  const { status, answer } = await execute(page, 'app-count_stream', '{"until":2}');
  assert.is(status, '200');
  assert.match(answer, /"n":\s*0/);
  assert.match(answer, /"n":\s*1/);
  assertQuiet(page, varied.url);
});

/** Asserts that the page shows every operation with its samples. */
async function assertRedoc(page: Page, origin: string): Promise<void> {
  const wanted = [
    'Mix colours',
    'A tree with one more leaf',
    'Describe a video file',
    'Count, one value at a time',
    'Always run as a task',
    'Tasks, the newest first',
  ];
  await page.until(`[...${JSON.stringify(wanted)}].every((text) => document.body.innerText.includes(text))`);
  await page.until(`document.body.innerText.includes('curl')`);
  assertQuiet(page, origin);
}

inBrowser('/redoc shows the operations', async () =>
  assertRedoc(await browser.open(`${varied.url}/redoc`), varied.url),
);

inBrowser('both work when the application is mounted in another one', async () => {
  const koa = new Koa().use(varied.app.middleware({ prefix: '/ai' }));
  const server: Server = createServer(koa.callback()).listen(0, '127.0.0.1');
  try {
    await once(server, 'listening');
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await assertRedoc(await browser.open(`${origin}/ai/redoc`), origin);
    const page = await browser.open(`${origin}/ai/docs`);
    assert.is((await execute(page, 'app-never_kept', '{"flag":true}')).status, '200');
    assertQuiet(page, origin);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

Pages.run();
