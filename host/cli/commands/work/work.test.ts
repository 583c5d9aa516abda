import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay } from '../../../base/core/abort.ts';
import { type DashboardApp, startDashboardApp } from '../../../apis/http/dashboard/fixtures/dashboard-app.ts';
import { command, type CommandResult } from '../../../test/helpers/command-line/command.ts';
import { Receiver } from '../../../data/webhooks/fixtures/receiver.ts';
import type { ApplicationCommand } from '../application.ts';
import { applyConfiguration } from '../apply.ts';
import { listEndpoints } from './endpoints.ts';
import { changeTasks, listTasks, showTask } from './tasks.ts';
import { changeWebhook, listDeliveries, listWebhooks, replayDeliveries } from './webhooks.ts';

const Work = suite('aana-host tasks and webhooks');
const MISSING = '00000000-0000-4000-8000-000000000000';
let at: DashboardApp;
let receiver: Receiver;

Work.before(async () => {
  receiver = await Receiver.start();
  at = await startDashboardApp({
    webhook: { allow_private_urls: true, retry_delay: 3600, max_retry_delay: 3600 },
    task_queue: { max_retries: 1 },
  });
});
Work.after(async () => {
  await at?.[Symbol.asyncDispose]();
  await receiver?.close();
});

/** Runs a command in this process, and returns what it printed. */
async function printed(run: (to: ApplicationCommand) => Promise<number>): Promise<string> {
  let out = '';
  const to = {
    runtimeDir: at.app.config.runtime_dir,
    port: undefined,
    out: { write: (text: string) => (out += text) },
  };
  assert.is(await run(to), 0);
  return out;
}
const reasonOf = (work: Promise<unknown>): Promise<string> => work.then(String, ({ message }: Error) => message);

async function post(path: string, body: object = {}): Promise<Record<string, string>> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${at.app.url}${path}`, { method: 'POST', body: JSON.stringify(body), headers });
  return (await answer.json()) as Record<string, string>;
}

async function taskWith(path: string, status: string): Promise<string> {
  const { task_id: id = '' } = await post(`${path}?defer=true`);
  while (!(await printed((to) => showTask(to, id, false))).includes(`status    ${status}`)) await delay(10);
  return id;
}

Work('tasks are listed, shown, cancelled, retried and removed', async () => {
  const [held, broken] = [await taskWith('/held', 'running'), await taskWith('/broken', 'failed')];
  const all = await printed((to) => listTasks(to, {}, false));
  assert.match(all, /^TASK +STATUS +ENDPOINT +USER +CREATED +ERROR\n/);
  assert.match(all, new RegExp(`^${broken}  failed +/broken +- +\\d{4}-\\S+  Error$`, 'm'));
  assert.not.match(await printed((to) => listTasks(to, { status: 'failed' }, false)), held);
  const json = JSON.parse(await printed((to) => listTasks(to, { endpoint: '/held' }, true))) as { id: string }[];
  assert.equal(
    json.map(({ id }) => id),
    [held],
  );
  assert.not('data' in json[0]!, 'contents are hidden');
  assert.match(await printed((to) => showTask(to, broken, false)), /^1 +failed +\S+ +\S+ +\S+\/\S+ +Error$/m);
  assert.is(await printed((to) => changeTasks(to, 'cancel', [held])), `${held}: cancelled\n`);
  assert.match(await printed((to) => changeTasks(to, 'retry', [broken])), new RegExp(`^${broken}: \\w+\n$`));
  assert.is(await printed((to) => changeTasks(to, 'remove', [held])), `${held} is removed\n`);
  assert.match(await reasonOf(printed((to) => showTask(to, held, false))), `there is no task "${held}"`);
  assert.match(await reasonOf(printed((to) => showTask(to, 'odd', false))), 'there is no task "odd"');
  assert.is(await printed((to) => listTasks(to, { user_id: 'nobody' }, false)), 'there are no such tasks\n');
});

Work('webhooks are listed, and their deliveries are listed and replayed', async () => {
  assert.is(await printed((to) => listWebhooks(to, undefined, false)), 'there are no webhooks\n');
  receiver.answer = (_, before) => (before === 0 ? 500 : 200);
  const { id = '' } = await post('/webhooks', { url: receiver.url, events: ['task.failed'] });
  assert.match(
    await printed((to) => listWebhooks(to, undefined, false)),
    new RegExp(`^${id}  enabled  - +${new URL(receiver.url).origin} +task\\.failed$`, 'm'),
  );
  await taskWith('/broken', 'failed');
  await receiver.until(1);
  const waiting = async (): Promise<string> => printed((to) => listDeliveries(to, id, { status: 'pending' }, false));
  while (!(await waiting()).includes('the target answered 500')) await delay(10);
  assert.match(await waiting(), / pending +task\.failed +\S+ +1 +\d{4}-\S+ +the target answered 500\n$/);
  const [delivery] = JSON.parse(await printed((to) => listDeliveries(to, id, {}, true))) as { id: string }[];
  assert.is(await printed((to) => replayDeliveries(to, id, [delivery!.id])), `${delivery!.id} is sent again\n`);
  await receiver.until(2);
  assert.is(await printed((to) => changeWebhook(to, 'enable', id)), `${id} is enabled\n`);
  assert.match(await reasonOf(printed((to) => replayDeliveries(to, id, [MISSING]))), `there is no delivery`);
  assert.is(await printed((to) => changeWebhook(to, 'remove', id)), `${id} is removed\n`);
  assert.match(await reasonOf(printed((to) => changeWebhook(to, 'enable', id))), `there is no webhook "${id}"`);
});

Work('endpoints are listed with their requests, and other routes that had some', async () => {
  interface Report {
    readonly endpoints: readonly {
      readonly path: string;
      readonly plugin: unknown;
      readonly work: { readonly requests: number; readonly failed: number };
    }[];
  }
  const { endpoints } = JSON.parse(await printed((to) => listEndpoints(to, true))) as Report;
  assert.equal(
    endpoints.map(({ path, plugin }) => [path, plugin]),
    [
      ['/held', null],
      ['/broken', null],
    ],
  );
  const { requests, failed } = endpoints[1]!.work;
  await post('/broken');
  const text = await printed((to) => listEndpoints(to, false));
  assert.match(text, /^ENDPOINT +PLUGIN +REQUESTS +REFUSED +FAILED +P50 +P95\n/);
  assert.match(text, new RegExp(`^/broken +- +${requests + 1} +0 +${failed + 1} +[\\d.]+ m?s +[\\d.]+ m?s$`, 'm'));
  assert.match(text, /^\/webhooks +\d/m);
});

Work('a configuration cannot be taken back before one was applied', async () => {
  const back = printed((to) => applyConfiguration(to, undefined, { dryRun: true, previous: true }));
  assert.match(await reasonOf(back), 'no configuration was applied since the start');
});

Work('the program takes them with their flags', async () => {
  const run = (args: readonly string[]): Promise<CommandResult> =>
    command([...args, '--runtime-dir', '/nonexistent-aana'], { cwd: '/' });
  for (const args of [
    ['tasks', '--status', 'failed', '--user', 'ann', '-n', '5'],
    ['tasks', 'show', MISSING],
    ['tasks', 'cancel', MISSING, MISSING],
    ['webhooks', '--json'],
    ['webhooks', 'deliveries', MISSING, '--status', 'failed'],
    ['webhooks', 'replay', MISSING, MISSING],
    ['webhooks', 'enable', MISSING],
    ['endpoints', '--json'],
    ['logs', '--replica', 'asr#1'],
    ['apply', '--previous', '--yes'],
  ])
    assert.match((await run(args)).err, /no aana-host application of this user is running/, args.join(' '));
  for (const args of [
    ['tasks', '--status', 'odd'],
    ['tasks', '-n', '0'],
    ['webhooks', 'replay', MISSING],
    ['apply', 'x.json', '--previous'],
  ])
    assert.is((await run(args)).code, 2, args.join(' '));
});

Work.run();
