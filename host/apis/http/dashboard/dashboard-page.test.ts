// The dashboard in a real browser, over a real application.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Browser, findChromium, type Page, startBrowser } from '../../../test/helpers/browser.ts';
import { until } from '../../../test/helpers/server.ts';
import { identityOf } from '../../../application/start/identity.ts';
import { npmPackages } from '../../../test/helpers/installed-packages.ts';
import { skip } from '../../../test/skip.ts';
import { Receiver } from '../../../data/webhooks/fixtures/receiver.ts';
import { socketPath } from '../server/listening.ts';
import { type DashboardApp, startDashboardApp } from './fixtures/dashboard-app.ts';

const Dashboard = suite('the dashboard in a browser');
const program = findChromium();
let at: DashboardApp;
let receiver: Receiver;
let browser: Browser;
let page: Page;

Dashboard.before(async () => {
  receiver = await Receiver.start();
  at = await startDashboardApp(
    {
      api_service: { enabled: true },
      alerts: { interval_s: 0.5, rules: { disk: { threshold: 0.000_001, for_s: 0 } } },
      webhook: { allow_private_urls: true },
      task_queue: { max_retries: 1 },
      devices: { gpus: [{ name: 'NVIDIA A100', memory_bytes: 80_000_000_000 }], cpus: 4 },
    },
    { hasPlugin: true },
  );
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
  const before = await page.evaluate('location.hash');
  await page.evaluate(
    `[...document.querySelectorAll('nav a')].find((link) => link.innerText === ${JSON.stringify(title)}).click()`,
  );
  await page.until(`document.querySelector('h1').innerText === ${JSON.stringify(title)}`);
  if (before !== (await page.evaluate('location.hash')))
    await page.until(`document.activeElement === document.querySelector('h1')`);
}

/** Clicks the button with this text: in the row that has `inRow`, else anywhere in the page. */
async function press(text: string, inRow?: string): Promise<void> {
  const rows = `[...document.querySelectorAll('tr')].filter((row) => row.innerText.includes(${JSON.stringify(inRow)}))`;
  return pressOf(inRow === undefined ? `[document.querySelector('main')]` : rows, text);
}

const pressIn = (selector: string, text: string): Promise<void> =>
  pressOf(`[...document.querySelectorAll(${JSON.stringify(selector)})]`, text);

async function pressOf(within: string, text: string): Promise<void> {
  const buttons = `${within}.flatMap((part) => [...part.querySelectorAll('button')])`;
  const find = `${buttons}.find((one) => one.innerText === ${JSON.stringify(text)} && !one.disabled)`;
  // Finds and clicks in one step, because the page can draw its rows again between two steps.
  await page.until(`(() => { const found = ${find}; found?.focus(); found?.click(); return found !== undefined; })()`);
}

/** Chooses a word in the list with this label. An empty word means all. */
async function choose(label: string, word: string): Promise<void> {
  await page.evaluate(`(() => {
    const found = [...document.querySelectorAll('label')]
      .find((one) => one.innerText.startsWith(${JSON.stringify(label)}));
    const list = found.querySelector('select');
    list.value = ${JSON.stringify(word)};
    list.dispatchEvent(new Event('change', { bubbles: true }));
  })()`);
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

Dashboard('shows the devices and the replicas of a deployment, and scales it', async () => {
  await go('Deployments');
  const replicas = `document.querySelectorAll('tbody tr').length`;
  await page.until(`${replicas} === 1`);
  const devices = `[...document.querySelectorAll('.device .title')].map((one) => one.innerText).join()`;
  assert.is(await page.evaluate(devices), 'GPU 0,CPU');
  assert.match(await textOf('.device'), /Share\s+25 % of 100 %\s+sentiment#1 25 %/);
  assert.match(await textOf('tbody'), '25 % of GPU 0');
  await page.fill('input[type=number]', '2');
  await press('Scale');
  await page.until(`${replicas} === 2`);
  await page.fill('input[type=number]', '5000');
  await press('Scale');
  await page.until(`document.querySelector('.problem').innerText !== ''`);
  assert.match(await textOf('.device'), /50 % of 100 %\s+sentiment#1 25 %\s+sentiment#2 25 %/);
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

  // Without the timers of the page, only the stream tells it of webhooks.
  await page.evaluate('for (let timer = setInterval(() => {}, 1000); timer > 0; timer -= 1) clearInterval(timer)');
  const rows = (number: number): Promise<void> =>
    page.until(`document.querySelectorAll('tbody tr').length === ${number}`);
  await rows(1);
  const { id: another } = await send('POST', '/webhooks', { url: receiver.url, events: ['task.expired'] });
  await rows(2);
  await send('DELETE', `/webhooks/${another}`, {});
  await rows(1);
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

Dashboard('makes an API key, shows it once, and changes it, all with the keyboard', async () => {
  await go('API keys');
  await shows('rate_limits.default');
  const focused = `document.activeElement?.closest('label, button')?.innerText.trim()`;
  await page.press('Tab');
  assert.is(await page.evaluate(focused), 'Create a key');
  await page.press('Enter');
  await page.until(`${focused} === 'User'`);
  for (let times = 0; times < 20; times += 1) {
    await page.press('Tab');
    assert.ok(
      await page.evaluate(`document.activeElement === document.body || document.activeElement.closest('dialog')`),
    );
  }
  await page.press('Escape');
  await page.until(`document.querySelector('dialog') === null`);
  assert.is(await page.evaluate(focused), 'Create a key');
  await page.press('Enter');
  await page.until(`${focused} === 'User'`);
  await page.press('Enter');
  await page.until(`document.querySelector('dialog .problem').innerText !== ''`);
  await page.type('eve');
  await page.press('Tab');
  await page.type('key-of-eve');
  await page.press('Enter');
  await page.until(`document.querySelector('dialog .secret')`);
  const apiKey = await textOf('dialog .secret');
  const status = async (): Promise<number> =>
    (await fetch(`${at.app.url}/tasks`, { headers: { 'x-api-key': apiKey } })).status;
  assert.is(await status(), 200);
  await page.press('Escape');
  await page.until(`document.querySelector('dialog') === null`);
  assert.not.match(String(await page.evaluate('document.body.innerText')), apiKey);
  await press('Change', 'key-of-eve');
  await page.until(`${focused} === 'Scopes'`);
  await page.type('webhooks');
  await page.press('Enter');
  await page.until(`[...document.querySelectorAll('tbody td')].some((one) => one.innerText === 'webhooks')`);
  assert.is(await status(), 403);
});

Dashboard('lists and revokes API keys, and asks first', async () => {
  const { apiKey, record } = await at.app.apiKeys!.create({ user_id: 'bob' });
  await go('API keys');
  await press('Revoke', record.key_id);
  assert.is((await fetch(`${at.app.url}/tasks`, { headers: { 'x-api-key': apiKey } })).status, 200);
  await press('Revoke it for ever?', record.key_id);
  await page.until(`!document.querySelector('main').innerText.includes('${record.key_id}')`);
});

Dashboard('shows endpoints with their requests, what a plugin may do, and reloads it', async () => {
  const { apiKey } = await at.app.apiKeys!.create({ user_id: 'ann' });
  const headers = { 'content-type': 'application/json', 'x-api-key': apiKey };
  for (const path of ['/sample/hello', '/sample/hello', '/broken'])
    await fetch(`${at.app.url}${path}`, { method: 'POST', body: '{}', headers });
  await go('Endpoints');
  const cells = (of: string): string =>
    `[...[...document.querySelectorAll('tr')].find((row) => row.innerText.includes('${of}')).cells].map((one) => ` +
    `one.innerText)`;
  await page.until(`document.querySelectorAll('tbody').length >= 2`);
  await page.until(`${cells('/sample/hello')}[3] === '2'`);
  assert.equal(((await page.evaluate(cells('/broken'))) as string[]).slice(1, 3), ['the program', '–']);
  assert.match(((await page.evaluate(cells('/broken'))) as string[]).join(' '), / \d+ 0 \d+ /);
  assert.match(await textOf('.rights'), 'not granted: api.example.org');
  assert.match(await textOf('.rights'), 'setting key: missing');
  const version = await page.evaluate(cells('sample 1.2.3'));
  assert.match(String(version), 'running');
  await press('Reload', 'sample 1.2.3');
  await until(async () => {
    const { records } = (await (await at.ask('/api/logs?lines=50')).json()) as { records: { message: string }[] };
    return records.some(({ message }) => message === 'plugins reloaded by an admin');
  });
});

Dashboard('applies a configuration after its plan, follows it, and goes back', async () => {
  await go('Configuration');
  await press('Apply a configuration');
  const enter = async (text: string): Promise<void> => {
    await page.until(`document.activeElement?.closest('dialog')`);
    await page.fill('textarea', text);
    await pressIn('dialog', 'Show the plan');
  };
  await enter('{');
  await page.until(`document.querySelector('dialog .problem')?.innerText.startsWith('This is not JSON')`);
  await enter('{"port": 1234}');
  await page.until(`document.querySelector('dialog').innerText.includes('port: it is read at the start')`);
  await pressIn('dialog', 'Back');
  const sentimentWith = (change: object): string =>
    JSON.stringify({
      deployments: { sentiment: { type: 'SentimentDeployment', ray_actor_options: { num_gpus: 0.25 }, ...change } },
    });
  await enter(sentimentWith({ user_config: { broken: 'config' } }));
  await page.until(`document.querySelector('dialog .plan')?.innerText.includes('sentiment')`);
  await pressIn('dialog', 'Apply');
  await page.until(`document.querySelector('dialog .badge')?.innerText === 'taken back'`);
  await page.until(`document.querySelector('dialog').innerText.includes('the list of words is empty')`);
  await page.press('Escape');
  await page.until(`document.querySelector('dialog') === null`);
  await press('Apply a configuration');
  await enter(sentimentWith({ num_replicas: 2 }));
  await page.until(`document.querySelector('dialog .plan')?.innerText.includes('changed in place')`);
  await pressIn('dialog', 'Apply');
  await page.until(`document.querySelector('dialog .badge')?.innerText === 'applied'`);
  await page.press('Escape');
  await shows('deployments');
  await press('Go back to the one before');
  await pressIn('dialog', 'Show the plan');
  await pressIn('dialog', 'Apply');
  await page.until(`document.querySelector('dialog .badge')?.innerText === 'applied'`);
  await page.press('Escape');
  await page.until(`document.querySelector('dialog') === null`);
});

Dashboard('has the other pages: configuration and logs', async () => {
  await go('Configuration');
  await shows('api_service.enabled');
  assert.not.match(await textOf('main'), 'openai.enabled'); // a default
  await page.click('input[type=checkbox]');
  await shows('openai.enabled');
  await go('Logs');
  await shows('deployment scaled by an admin');
  const lines = `document.querySelectorAll('.log li').length`;
  await choose('Level', 'error');
  await page.until(`${lines} < 100`);
  await choose('Level', '');
  await choose('Deployment', 'sentiment');
  await choose('Replica', 'sentiment#1');
  await page.until(
    `${lines} > 0 && [...document.querySelectorAll('.log li')].every((one) => one.innerText.includes('sentiment#1'))`,
  );
  await page.click('.levels summary');
  await choose('webhooks', 'debug');
  await page.until(`document.querySelector('.levels summary').innerText.includes('webhooks debug')`);
  await choose('webhooks', '');
});

Dashboard('shares its token with other tabs, and asks for it where there is none', async () => {
  const second = await browser.open(`${at.origin}/`);
  await second.until(`document.querySelector('h1')?.innerText === 'Overview'`);
  const streams = (tab: Page): string[] => tab.requests.filter((url) => url.endsWith('/events'));
  assert.equal([streams(page), streams(second)], [[], []], 'the stream belongs to the worker that tabs share');
  await page.until('document.hidden');
  await page.evaluate(`location.hash = '#/tasks'`);
  await page.until(`document.querySelector('h1').innerText === 'Tasks'`);
  assert.is(await page.evaluate(`document.querySelector('table')`), null, 'a tab that nobody sees asks for nothing');
  await page.show();
  await page.until(`document.querySelector('table') !== null`);

  await using other = await startBrowser(program!);
  const locked = await other.open(`${at.origin}/`);
  const unlock = async (token: string): Promise<void> => {
    await locked.until(`document.querySelector('input')`);
    await locked.fill('input', token);
    await locked.click('button');
  };
  await unlock('wrong');
  await locked.until(`document.body.innerText.includes('this is not the token of the dashboard')`);
  await unlock(at.token);
  await locked.until(`document.querySelector('h1').innerText === 'Overview'`);
});

Dashboard('shows what operators changed, that another host is the controller, and a drain', async () => {
  await using kept = await startDashboardApp({}, { socket: 'http.sock' });
  const tab = await browser.open(kept.app.dashboardUrl!);
  const says = (text: string): Promise<void> =>
    tab.until(`document.querySelector('main')?.innerText.includes(${JSON.stringify(text)})`);
  await tab.until(`document.querySelector('h1')?.innerText === 'Overview'`);
  await tab.evaluate(`location.hash = '#/deployments'`);
  await says('No operator has changed a deployment.');
  const put = (path: string, body: object): Promise<Response> =>
    kept.ask(path, { method: 'PUT', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } });
  assert.is((await put('/api/deployments/sentiment/replicas', { replicas: 2 })).status, 200);
  await says('scale: 1 to 2');
  assert.is((await put('/api/drain', { draining: true })).status, 200);
  await says('The application takes no new requests and tasks. Still running: 0 requests, 0 tasks, 0 calls.');
  assert.is((await put('/api/drain', { draining: false })).status, 200);
  const application = identityOf(kept.app.name, socketPath(kept.app.url!), kept.app.config)!;
  await kept.app.storage.write(({ controllers }) => controllers.takeOver(application, 'process 7 of b'));
  await says('process 7 of b (epoch 2) has become the controller');
  assert.not.ok(await tab.evaluate(`document.querySelector('main').innerText.includes('no new requests')`));
});

Dashboard('can be used with a keyboard and a screen reader, in the dark and on a phone', async () => {
  const folder = await npmPackages('axe-core', { 'axe-core': '4.14.1' });
  if (folder === undefined) return skip('the accessibility of the dashboard', 'npm cannot install axe-core');
  const axe = await readFile(join(folder, 'node_modules/axe-core/axe.min.js'), 'utf8');
  await page.show();
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
        await accessible(`${title}, ${scheme}, ${width}`);
      }
    }
  for (const [title, link] of [
    ['Tasks', 'tbody a'],
    ['Webhooks', 'tbody a'],
    ['Requests', 'tbody a'],
  ] as const) {
    await go(title);
    await page.until(`document.querySelector('${link}')`);
    await page.evaluate(`document.querySelector('${link}').click()`);
    await page.until(`document.querySelector('h2')`);
    await accessible(`one of ${title}`);
  }
  for (const [title, button] of [
    ['API keys', 'Create a key'],
    ['Configuration', 'Apply a configuration'],
  ] as const) {
    await go(title);
    await press(button);
    await page.until(`document.querySelector('dialog[open]')`);
    await accessible(button);
    await page.press('Escape');
  }
});

/** Asserts that axe finds nothing, and that the page is not wider than the window. */
async function accessible(where: string): Promise<void> {
  const found = await page.evaluate(
    `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => ` +
      `html).join(' ')))`,
  );
  assert.equal(found, [], where);
  assert.is(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true, where);
}

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
