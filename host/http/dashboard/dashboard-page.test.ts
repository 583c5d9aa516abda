// The dashboard in a real browser, over a real application.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Browser, findChromium, type Page, startBrowser } from '../../test/helpers/browser.ts';
import { npmPackages } from '../../test/helpers/installed-packages.ts';
import { skip } from '../../test/skip.ts';
import { Receiver } from '../../webhooks/fixtures/receiver.ts';
import { type DashboardApp, startDashboardApp } from './fixtures/dashboard-app.ts';

const Dashboard = suite('the dashboard in a browser');
const program = findChromium();
let at: DashboardApp;
let receiver: Receiver;
let browser: Browser;
let page: Page;

Dashboard.before(async () => {
  receiver = await Receiver.start();
  at = await startDashboardApp({
    api_service: { enabled: true },
    alerts: { interval_s: 0.5, rules: { disk: { threshold: 0.000_001, for_s: 0 } } },
    webhook: { allow_private_urls: true },
    task_queue: { max_retries: 1 },
  });
  browser = await startBrowser(program!);
  page = await browser.open(at.app.dashboardUrl!);
});
Dashboard.after(async () => {
  await browser?.[Symbol.asyncDispose]();
  await at?.[Symbol.asyncDispose]();
  await receiver?.close();
});

const textOf = async (selector: string): Promise<string> =>
  String(await page.evaluate(`document.querySelector(${JSON.stringify(selector)})?.innerText ?? ''`));
const shows = (text: string): Promise<void> =>
  page.until(`document.querySelector('main').innerText.includes(${JSON.stringify(text)})`);

/** Opens a page by its link, as a person does. */
async function go(title: string): Promise<void> {
  await page.until(
    `[...document.querySelectorAll('nav a')].some((link) => link.innerText === ${JSON.stringify(title)})`,
  );
  await page.evaluate(
    `[...document.querySelectorAll('nav a')].find((link) => link.innerText === ${JSON.stringify(title)}).click()`,
  );
  await page.until(`document.querySelector('h1').innerText === ${JSON.stringify(title)}`);
  await page.until(`document.activeElement === document.querySelector('h1')`);
}

/** Clicks the button with this text: in the row that has `inRow`, else anywhere in the page. */
async function press(text: string, inRow?: string): Promise<void> {
  const rows = `[...document.querySelectorAll('tr')].filter((row) => row.innerText.includes(${JSON.stringify(inRow)}))`;
  const within = inRow === undefined ? `[document.querySelector('main')]` : rows;
  const buttons = `${within}.flatMap((part) => [...part.querySelectorAll('button')])`;
  const find = `${buttons}.find((one) => one.innerText === ${JSON.stringify(text)} && !one.disabled)`;
  await page.until(find);
  await page.evaluate(`${find}.focus(), ${find}.click()`);
}

async function defer(path: string, apiKey: string): Promise<string> {
  const headers = { 'content-type': 'application/json', 'x-api-key': apiKey };
  const answer = await fetch(`${at.app.url}${path}?defer=true`, { method: 'POST', body: '{}', headers });
  return ((await answer.json()) as { task_id: string }).task_id;
}

Dashboard('opens by its address, hides the token, and shows live figures', async () => {
  await page.until(`document.querySelector('h1')?.innerText === 'Overview'`);
  assert.is(await page.evaluate('location.hash'), '#/');
  await shows('sentiment');
  assert.is(await textOf('header .badge'), 'running');
  await page.until(`document.querySelectorAll('.chart canvas').length === 5`);
  await page.until(`document.querySelector('[aria-label=Alerts]')?.innerText.includes('the disk is used to')`);
  const stop = new AbortController();
  const load = (async () => {
    while (!stop.signal.aborted) await fetch(`${at.app.url}/api/ready`);
  })();
  await page.until(`Number(document.querySelector('.legend b').innerText.replaceAll(',', '')) > 5`);
  stop.abort();
  await load;
});

Dashboard('shows the replicas of a deployment and scales it', async () => {
  await go('Deployments');
  const replicas = `document.querySelectorAll('tbody tr').length`;
  await page.until(`${replicas} === 1`);
  await page.fill('input[type=number]', '2');
  await press('Scale');
  await page.until(`${replicas} === 2`);
  await page.fill('input[type=number]', '5000');
  await press('Scale');
  await page.until(`document.querySelector('.problem').innerText !== ''`);
  await page.fill('input[type=number]', '1');
  await press('Scale');
  await page.until(`${replicas} === 1`);
});

Dashboard('unloads a deployment after a question, and loads it again', async () => {
  await press('Unload');
  await press('Unload it? Its requests will be refused.');
  await shows('unloaded');
  await press('Load');
  await page.until(`document.querySelectorAll('tbody tr').length === 1`);
  await page.until(`document.querySelector('main .badge').innerText === 'running'`);
});

Dashboard('pulls a model, shows its progress, and deletes it after a question', async () => {
  await go('Models');
  await shows('whisper-base');
  await page.fill('input[type=text]', 'owner/tiny/tiny.gguf');
  await press('Pull');
  await page.until(`document.querySelector('progress') !== null`);
  at.hub.release();
  const row = `[...document.querySelectorAll('tr')].find((one) => one.innerText.includes('owner/tiny/tiny.gguf'))`;
  await page.until(`${row}?.querySelector('.badge')?.innerText === 'here'`);
  await press('Delete', 'owner/tiny');
  await press('Delete its files?', 'owner/tiny');
  await page.until(`${row} === undefined`);
  await page.fill('input[type=text]', 'no-such-model');
  await press('Pull');
  await page.until(`document.querySelector('.problem').innerText.includes('no-such-model')`);
});

Dashboard('cancels and repeats tasks', async () => {
  const { apiKey } = await at.app.apiKeys!.create({ user_id: 'ann' });
  const held = await defer('/held', apiKey);
  const broken = await defer('/broken', apiKey);
  await go('Tasks');
  await shows(broken);
  await press('Cancel', held);
  await press('Cancel it?', held);
  await shows('cancelled');
  await page.evaluate(`location.hash = '#/tasks?status=failed&page=1'`);
  await page.until(`document.querySelectorAll('tbody tr').length === 1`);
  await shows(broken);
  await press('Retry');
  await page.evaluate(`location.hash = '#/tasks?status=completed&page=1'`);
  await shows('There are no such tasks.');
});

Dashboard('shows a task with its attempts and its events, as they come', async () => {
  const { apiKey } = await at.app.apiKeys!.create({ user_id: 'ann' });
  const broken = await defer('/broken', apiKey);
  await page.evaluate(`location.hash = '#/tasks'`);
  await page.fill('input[placeholder="whole id"]', broken);
  await page.press('Enter');
  await page.until(`document.querySelector('h2')?.innerText === 'Task ${broken}'`);
  await page.until(`document.querySelector('main .badge')?.innerText === 'failed'`);
  const events = `[...document.querySelectorAll('.log li b')].map((one) => one.innerText)`;
  await page.until(`${events}[0] === 'failed'`);
  assert.ok(((await page.evaluate(events)) as string[]).includes('running'));
  await page.until(`document.querySelectorAll('tbody tr').length === 1`);
  assert.match(await textOf('tbody'), /^1\s+failed/);
  assert.not.match(await textOf('main'), 'it is broken'); // the message of the error is content
  await press('Retry');
  await page.until(`${events}.filter((one) => one === 'failed').length === 2`);
  await page.evaluate(`location.hash = '#/tasks?endpoint=/none'`);
  await shows('There are no such tasks.');
});

Dashboard('shows deliveries of a webhook, sends one again, and enables the webhook', async () => {
  const { apiKey } = await at.app.apiKeys!.create({ user_id: 'ann' });
  const headers = { 'content-type': 'application/json', 'x-api-key': apiKey };
  const send = async (method: string, path: string, body: object): Promise<{ id: string }> => {
    const answer = await fetch(`${at.app.url}${path}`, { method, body: JSON.stringify(body), headers });
    return (await answer.json()) as { id: string };
  };
  receiver.answer = (_, before) => (before === 0 ? 500 : 200);
  const { id } = await send('POST', '/webhooks', { url: receiver.url, events: ['task.failed'] });
  await defer('/broken', apiKey);
  await go('Webhooks');
  await shows(new URL(receiver.url).origin);
  assert.not.match(await textOf('main'), '/hook');
  await page.click('tbody a');
  await shows('the target answered 500');
  await press('Replay', 'task.failed');
  await page.until(`[...document.querySelectorAll('tbody .badge')].some((one) => one.innerText === 'delivered')`);
  await send('PUT', `/webhooks/${id}`, { enabled: false });
  await go('Webhooks');
  await shows('by request');
  await press('Enable');
  await page.until(`document.querySelector('tbody .badge')?.innerText === 'enabled'`);
});

Dashboard('shows what happened in a request that failed', async () => {
  const { apiKey } = await at.app.apiKeys!.create({ user_id: 'ann' });
  const headers = { 'content-type': 'application/json', 'x-api-key': apiKey };
  assert.is((await fetch(`${at.app.url}/broken`, { method: 'POST', body: '{}', headers })).status, 500);
  await go('Requests');
  await shows('POST /broken');
  await page.click('tbody a');
  await page.until(`document.querySelectorAll('.waterfall .bar.failed').length >= 1`);
  await page.click('.waterfall summary');
  await shows('http.response.status_code');
});

Dashboard('lists and revokes API keys, and asks first', async () => {
  const { apiKey, record } = await at.app.apiKeys!.create({ user_id: 'bob' });
  await go('API keys');
  await press('Revoke', record.key_id);
  assert.is((await fetch(`${at.app.url}/tasks`, { headers: { 'x-api-key': apiKey } })).status, 200);
  await press('Revoke it for ever?', record.key_id);
  await page.until(`!document.querySelector('main').innerText.includes('${record.key_id}')`);
});

Dashboard('has the other pages: endpoints, configuration and logs', async () => {
  await go('Endpoints');
  await shows('The application has no plugins.');
  await go('Configuration');
  await shows('api_service.enabled');
  assert.not.match(await textOf('main'), 'openai.enabled'); // a default
  await page.click('input[type=checkbox]');
  await shows('openai.enabled');
  await go('Logs');
  await shows('deployment scaled by an admin');
  const lines = `document.querySelectorAll('.log li').length`;
  await page.evaluate(`(() => {
    const level = document.querySelectorAll('select')[1];
    level.value = 'error';
    level.dispatchEvent(new Event('change', { bubbles: true }));
  })()`);
  await page.until(`${lines} < 100`);
});

Dashboard('shares its token with other tabs, and asks for it where there is none', async () => {
  const second = await browser.open(`${at.origin}/`);
  await second.until(`document.querySelector('h1')?.innerText === 'Overview'`);
  const streams = (tab: Page): string[] => tab.requests.filter((url) => url.endsWith('/events'));
  assert.equal([streams(page), streams(second)], [[], []], 'the stream belongs to the worker that tabs share');

  await using other = await startBrowser(program!);
  const locked = await other.open(`${at.origin}/`);
  const unlock = async (token: string): Promise<void> => {
    await locked.until(`document.querySelector('input')`);
    await locked.fill('input', token);
    await locked.click('button');
  };
  await unlock('wrong');
  await locked.until(`document.body.innerText.includes('the API key is')`);
  await unlock(at.token);
  await locked.until(`document.querySelector('h1').innerText === 'Overview'`);
});

Dashboard('can be used with a keyboard and a screen reader, in the dark and on a phone', async () => {
  const folder = await npmPackages('axe-core', { 'axe-core': '4.14.1' });
  if (folder === undefined) return skip('the accessibility of the dashboard', 'npm cannot install axe-core');
  const axe = await readFile(join(folder, 'node_modules/axe-core/axe.min.js'), 'utf8');
  await page.evaluate(`${axe}; undefined`);
  for (const scheme of ['light', 'dark'] as const)
    for (const width of [1200, 390]) {
      await page.emulate({ scheme, width });
      for (const title of [
        'Overview',
        'Deployments',
        'Endpoints',
        'Models',
        'Tasks',
        'Requests',
        'Webhooks',
        'API keys',
        'Configuration',
        'Logs',
      ]) {
        await go(title);
        const found = await page.evaluate(
          `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' ')))`,
        );
        assert.equal(found, [], `${title}, ${scheme}, ${width}`);
        assert.is(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true, `${title} ${width}`);
      }
    }
});

Dashboard('says that the application is away, without complaints before', async () => {
  const expected = /status of (401|404|422)/; // the refused number of replicas and the unknown model
  assert.equal(
    page.complaints.filter((text) => !expected.test(text)),
    [],
  );
  assert.equal(
    page.requests.filter((url) => !url.startsWith(`${at.origin}/`) && !url.startsWith('data:')),
    [],
  );
  await at.app.shutdown({ graceMs: 0 });
  await page.until(`!document.querySelector('.away').hidden`);
  assert.is(await textOf('header .badge'), 'unhealthy');
});

if (program === undefined) skip('the dashboard in a browser', 'Chromium is missing');
else Dashboard.run();
