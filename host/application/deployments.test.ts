// Deployments that are added, changed and removed while the application serves.
import { rmSync } from 'node:fs';
import { kill } from 'node:process';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import * as z from 'zod';
import { delay } from '../base/core/abort.ts';
import { LogLevels } from '../base/core/log/log-levels.ts';
import { createLogger } from '../base/core/log/logger.ts';
import { SentimentDeployment } from '../inference/deployments/fixtures/sentiment-deployment.ts';
import type { AanaApp } from 'aana-host';
import { makeApp, makeFolder, postJson, started } from './fixtures/test-app.ts';
import { errorOf } from '../test/helpers/error-of.ts';

const Deployments = suite('deployments of a running application');
let folder = '';

Deployments.before(() => {
  folder = makeFolder();
});
Deployments.after(() => rmSync(folder, { recursive: true, force: true }));

const good = (...words: string[]) => SentimentDeployment.options({ user_config: { good: words } });
const label = async (app: AanaApp, text: string): Promise<string> =>
  (await app.handle(SentimentDeployment, 'sentiment').classify({ text })).label;

Deployments('one starts at once with `deploy: true`, and is removed when the start fails', async () => {
  await using app = await makeApp(folder).deploy();
  assert.is(await app.registerDeployment('sentiment', good('fine'), { deploy: true }), app);
  assert.equal([await label(app, 'fine'), app.status().status], ['positive', 'RUNNING']);
  const broken = SentimentDeployment.options({ user_config: { broken: 'config' } });
  const error = await errorOf(app.registerDeployment('other', broken, { deploy: true }));
  assert.match(error.message, /other.*the list of words is empty/s);
  assert.equal([Object.keys(app.status().deployments), app.status().status], [['app', 'sentiment'], 'RUNNING']);
  await app.registerDeployment('other', good('nice'), { deploy: true });
  assert.throws(() => app.registerDeployment('other', good('nice')), /deployment other is already registered/);
});

Deployments('one can start before the application is deployed, which then starts the others', async () => {
  await using app = makeApp(folder);
  await app.registerDeployment('sentiment', good('fine'), { deploy: true });
  assert.is(await label(app, 'fine'), 'positive');
  await app.registerDeployment('other', good('nice')).deploy();
  assert.equal(
    Object.values(app.status().deployments).map(({ status }) => status),
    ['RUNNING', 'RUNNING', 'RUNNING'],
  );
});

Deployments('an unregistered one is gone, and its name can be used again', async () => {
  await using app = await makeApp(folder).registerDeployment('sentiment', good('fine')).deploy();
  await app.unregisterDeployment('sentiment');
  assert.throws(() => app.handle('sentiment'), /there is no deployment sentiment; deployments are: none/);
  assert.match((await errorOf(app.unregisterDeployment('sentiment'))).message, /there is no deployment sentiment/);
  await app.registerDeployment('sentiment', good('nice'), { deploy: true });
  assert.is(await label(app, 'nice'), 'positive');
});

Deployments('the calls of a request have lines while their area has the level debug', async () => {
  const levels = new LogLevels('info');
  const lines: Record<string, unknown>[] = [];
  const write = (line: string): void => void lines.push(JSON.parse(line) as Record<string, unknown>);
  const log = createLogger({ level: (area) => levels.of(area), format: 'json', write });
  await using app = makeApp(folder, { log }).registerDeployment('sentiment', good('fine'));
  app.registerEndpoint({
    name: 'label',
    path: '/label',
    input: z.strictObject({ how: z.enum(['classify', 'fail']) }),
    output: z.any(),
    run: async ({ how }) => app.handle('sentiment').call(how, how === 'fail' ? { how: 'own' } : { text: 'fine' }),
  });
  await started(app);
  const linesOf = async (how: 'classify' | 'fail'): Promise<Record<string, unknown>[]> => {
    const id = (await postJson(`${app.url}/label`, { how })).headers.get('x-request-id');
    return lines.filter(({ requestId, level }) => requestId === id && level === 'debug');
  };
  assert.equal(await linesOf('classify'), []);
  levels.change({ levels: { deployments: 'debug' } });
  const [line, ...others] = await linesOf('classify');
  assert.equal(others, []);
  const { deployment, area, message, method, replica, outcome, ms } = line!;
  assert.equal(
    [deployment, area, message, method, replica, outcome, typeof ms],
    ['sentiment', 'deployments', 'call ended', 'classify', 'sentiment#1', 'ok', 'number'],
  );
  const [failed] = await linesOf('fail');
  assert.equal([failed!['method'], failed!['outcome'], failed!['error']], ['fail', 'deployment', 'WordUnknown']);
});

Deployments('one is changed and scaled, and keeps serving', async () => {
  await using app = await makeApp(folder).registerDeployment('sentiment', good('fine')).deploy();
  const { outcome } = await app.updateDeployment('sentiment', good('nice'));
  assert.equal([outcome, await label(app, 'nice')], ['updated', 'positive']);
  await app.scaleDeployment('sentiment', 2);
  const facts = (): Promise<Record<string, unknown>> => app.handle(SentimentDeployment, 'sentiment').facts();
  const processes = new Set<unknown>();
  while (processes.size < 2) processes.add((await facts())['pid']);
  assert.match(
    (await errorOf(app.updateDeployment('sentiment', { type: 'SentimentDeployment', user_config: { worse: 1 } })))
      .message,
    /deployment sentiment: user_config: worse: /,
  );
  assert.is(await label(app, 'nice'), 'positive');
});

const READY_PATHS = ['/api/ready', '/readyz'];

/** Returns each distinct triple of the application's state, a path and its HTTP status until `until` holds. */
async function said(app: AanaApp, until: (status: string) => boolean): Promise<Set<string>> {
  const seen = new Set<string>();
  for (;;) {
    const before = app.status().status;
    const answers = await Promise.all(
      READY_PATHS.map(async (path) => `${before} ${path} ${(await fetch(`${app.url}${path}`)).status}`),
    );
    // The state can change between the two answers, so they are not compared with each other.
    if (before === app.status().status) for (const answer of answers) seen.add(answer);
    if (until(app.status().status)) return seen;
    await delay(10);
  }
}

async function pids(app: AanaApp, count: number): Promise<number[]> {
  const found = new Set<number>();
  while (found.size < count) found.add((await app.handle(SentimentDeployment, 'sentiment').facts())['pid'] as number);
  return [...found];
}

Deployments(
  'the application is ready while one of two replicas restarts, but not while the only one does',
  async () => {
    await using app = await started(
      makeApp(folder).registerDeployment(
        'sentiment',
        SentimentDeployment.options({ user_config: { good: ['fine'] }, num_replicas: 2 }),
      ),
    );
    const [first = 0] = await pids(app, 2);
    kill(first, 'SIGKILL');
    const during = new Set([
      ...(await said(app, (status) => status === 'UNHEALTHY')),
      ...(await said(app, (status) => status === 'RUNNING')),
    ]);
    assert.equal(
      [...during].filter((one) => one.endsWith('503')),
      [],
      'a balancer keeps sending requests',
    );
    for (const path of READY_PATHS) assert.ok(during.has(`UNHEALTHY ${path} 200`), 'the status says what is wrong');
    for (const pid of await pids(app, 2)) kill(pid, 'SIGKILL');
    await said(app, (status) => status === 'UNHEALTHY');
    const without = await said(app, (status) => status === 'RUNNING');
    for (const path of READY_PATHS) {
      assert.ok(without.has(`UNHEALTHY ${path} 503`));
      assert.is((await fetch(`${app.url}${path}`)).status, 200);
    }
  },
);

Deployments('the application is ready while one sleeps or is scaled, changed, added or removed', async () => {
  const sleeping = SentimentDeployment.options({
    user_config: { good: ['fine'] },
    autoscaling_config: { min_replicas: 0, max_replicas: 1 },
  });
  await using app = await started(
    makeApp(folder).registerDeployment('asleep', sleeping).registerDeployment('sentiment', good('fine')),
  );
  const ready = async (): Promise<number> => (await fetch(`${app.url}/api/ready`)).status;
  assert.is(await ready(), 200);
  const steps: (() => Promise<unknown>)[] = [
    () => app.handle(SentimentDeployment, 'asleep').classify({ text: 'fine' }),
    () => app.scaleDeployment('sentiment', 2),
    () => app.updateDeployment('sentiment', good('nice')),
    () => app.registerDeployment('late', good('fine'), { deploy: true }),
    () => app.unregisterDeployment('late'),
    () =>
      app
        .registerDeployment('broken', SentimentDeployment.options({ user_config: { broken: 'config' } }), {
          deploy: true,
        })
        .catch(() => {}),
  ];
  for (const [n, step] of steps.entries()) {
    let hasEnded = false;
    const done = step().finally(() => (hasEnded = true));
    done.catch(() => {}); // seen below
    while (!hasEnded) {
      assert.is(await ready(), 200, `step ${n}`);
      await delay(5);
    }
    await done;
  }
});

Deployments.run();
