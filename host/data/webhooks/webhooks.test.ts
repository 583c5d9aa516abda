// Deliveries over real HTTP and real databases, in one process.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay } from '../../base/core/abort.ts';
import { AanaError } from '../../base/core/errors.ts';
import { createLogger, silentLogger } from '../../base/core/log/logger.ts';
import { postgresDatabases, sqliteDatabases, type TestDatabases } from '../storage/fixtures/databases.ts';
import { ANYBODY } from '../tasks/fixtures/queue-config.ts';
import type { DeliveryRecord, StorageConfig } from '../storage/index.ts';
import { endLost } from '../tasks/sweeper.ts';
import { skip } from '../../test/skip.ts';
import { makeHost, runTask, SECRET, type TestHost } from './fixtures/hosts.ts';
import { isSigned, Receiver } from './fixtures/receiver.ts';
import type { WebhookConfig } from './index.ts';

interface Context {
  database: StorageConfig;
  hosts: TestHost[];
  receivers: Receiver[];
}

const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const FAIL = { kind: 'fail', error: '{"error":"E","message":"m","data":{},"stacktrace":"s"}' } as const;

function deliveryTests(databases: TestDatabases): void {
  const Webhooks = suite<Context>(`webhooks over ${databases.title}`);
  Webhooks.before.each(async (context) => {
    context.database = await databases.createMigrated();
    context.hosts = [];
    context.receivers = [];
  });
  Webhooks.after.each(async ({ hosts, receivers }) => {
    for (const receiver of receivers) await receiver.close();
    for (const { webhooks, storage } of hosts) {
      await webhooks.stop(0);
      await storage.close();
    }
  });
  Webhooks.after(() => databases.end());

  const host = async (context: Context, config: Partial<WebhookConfig> = {}): Promise<TestHost> => {
    const made = makeHost(context.database, config);
    context.hosts.push(made);
    await made.webhooks.start();
    return made;
  };
  const receive = async (context: Context): Promise<Receiver> => {
    const receiver = await Receiver.start();
    context.receivers.push(receiver);
    return receiver;
  };
  const hook = async (
    { webhooks }: TestHost,
    { url }: Receiver,
    events: readonly string[] = [],
    userId: string | null = null,
  ): Promise<string> => (await webhooks.as({ userId }).create({ url, events })).webhook.id;
  /** Returns the log of a webhook as soon as `isDone` holds for all of it. */
  const log = async (
    { webhooks }: TestHost,
    id: string,
    isDone: (all: readonly DeliveryRecord[]) => boolean = (all) => all.every(({ status }) => status !== 'pending'),
  ): Promise<DeliveryRecord[]> => {
    for (;;) {
      const all = await webhooks.as(ANYBODY).deliveries(id, { page: 1, perPage: 1000 });
      if (isDone(all)) return all;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  /** Waits until a webhook is disabled, and returns the reason. */
  const reasonOf = async ({ webhooks }: TestHost, id: string): Promise<string> => {
    for (;;) {
      const { disabled_reason: reason } = await webhooks.as(ANYBODY).get(id);
      if (reason !== null) return reason;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  const errorOf = async (work: Promise<unknown>): Promise<string> => {
    const error = await work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    if (!(error instanceof AanaError)) throw error ?? new Error('it did not fail');
    return error.name;
  };

  Webhooks('receive every event once, signed over the sent bytes', async (context) => {
    const [one, receiver] = [await host(context), await receive(context)];
    const id = await hook(one, receiver);
    const done = await runTask(one.storage, undefined, { traceparent: TRACE });
    const failed = await runTask(one.storage, { ...FAIL, expired: true });
    const cancelled = await runTask(one.storage, 'cancel');
    const lost = await runTask(one.storage, {
      kind: 'release',
      error: FAIL.error,
      delayMs: 3_600_000,
      outcome: 'lost',
      expired: true,
    });
    await runTask(one.storage, { kind: 'release', error: FAIL.error, delayMs: 3_600_000, outcome: 'not_finished' });
    const seen = (
      await log(one, id, (all) => all.length === 10 && all.every(({ status }) => status === 'delivered'))
    ).map(({ id: delivery }) => delivery);
    assert.equal(receiver.received.map(({ headers }) => String(headers['webhook-id'])).sort(), seen.sort());
    const of = (task: string): string[] =>
      receiver.received
        .filter(({ payload }) => payload.task_id === task)
        .map(({ event, payload }) => `${event} ${payload.status}`)
        .sort();
    assert.equal(
      [of(done), of(failed), of(cancelled), of(lost)],
      [
        ['task.completed completed', 'task.started running'],
        ['task.expired failed', 'task.failed failed', 'task.started running'],
        ['task.cancelled cancelled', 'task.started running'],
        ['task.expired not_finished', 'task.started running'],
      ],
    );
    for (const message of receiver.received) {
      assert.ok(await isSigned(message, SECRET));
      assert.ok(Math.abs(Number(message.headers['webhook-timestamp']) - Date.now() / 1000) < 300);
      assert.equal(
        [message.path, message.headers['content-type'], message.payload.task_type, message.payload.num_retries],
        ['/hook', 'application/json', '/e', 1],
      );
      assert.is(message.headers['traceparent'], message.payload.task_id === done ? TRACE : undefined);
    }
    assert.equal(receiver.received.find(({ event }) => event === 'task.completed')?.payload.result, { text: 'é' });
    assert.equal(receiver.received.find(({ event }) => event === 'task.failed')?.payload.result, {
      error: 'E',
      message: 'm',
      data: {},
      stacktrace: null,
    });
  });

  Webhooks('receive events of tasks of a lost host', async (context) => {
    const [one, receiver] = [await host(context), await receive(context)];
    await hook(one, receiver, ['task.expired', 'task.failed']);
    const tasks = [await runTask(one.storage, 'lost'), await runTask(one.storage, 'lost', { max_attempts: 1 })];
    await endLost(one.storage, await one.storage.read(({ tasks: queue }) => queue.held()), silentLogger);
    await receiver.until(3);
    const seen = receiver.received.map(({ event, payload }) =>
      [tasks.indexOf(payload.task_id), event, payload.status, (payload.result as { error: string }).error].join(' '),
    );
    assert.equal(seen.sort(), [
      '0 task.expired not_finished HeartbeatTimeoutError',
      '1 task.expired failed HeartbeatTimeoutError',
      '1 task.failed failed HeartbeatTimeoutError',
    ]);
  });

  Webhooks('receive only the chosen events, of tasks of their user', async (context) => {
    const [one, receiver] = [await host(context), await receive(context)];
    const mine = (
      await one.webhooks.as({ userId: 'u' }).create({
        url: `${receiver.url}/mine`,
        events: ['task.completed'],
        secret: 'my own secret, mine',
      })
    ).webhook;
    await one.webhooks.as(ANYBODY).create({ url: `${receiver.url}/nobody`, events: ['task.failed'] });
    await runTask(one.storage, FAIL, { user_id: 'u' });
    await runTask(one.storage, undefined, { user_id: 'u' });
    await runTask(one.storage, FAIL);
    await receiver.until(2);
    assert.equal(receiver.received.map(({ path, event }) => `${path} ${event}`).sort(), [
      '/hook/mine task.completed',
      '/hook/nobody task.failed',
    ]);
    const [message] = receiver.received.filter(({ path }) => path.endsWith('mine'));
    assert.ok(message && (await isSigned(message, 'my own secret, mine')));
    const { webhooks } = one;
    const others = [
      () => webhooks.as(ANYBODY).get(mine.id),
      () => webhooks.as({ userId: 'v' }).delete(mine.id),
      () => webhooks.as(ANYBODY).deliveries(mine.id, { page: 1, perPage: 1 }),
      () => webhooks.as({ userId: 'v' }).update(mine.id, {}),
    ];
    for (const work of others) assert.is(await errorOf(work()), 'NotFoundException');
  });

  Webhooks('are signed with the secret of the newest key of the user, or with a new secret', async (context) => {
    const [one, receiver] = [await host(context, { hmac_secret: null }), await receive(context)];
    const key = {
      key_id: 'k',
      user_id: 'u',
      subscription_id: 's',
      is_subscription_active: true,
      is_admin: false,
      scopes: null,
      hmac_secret: 'secret of the key',
      expired_at: null,
    };
    await one.storage.write(({ apiKeys }) => apiKeys.save('key', key));
    const made = await one.webhooks.as({ userId: 'u' }).create({ url: receiver.url, events: ['task.completed'] });
    assert.is(made.newSecret, undefined);
    await runTask(one.storage, undefined, { user_id: 'u' });
    await receiver.until(1);
    const bare = await one.webhooks.as(ANYBODY).create({ url: receiver.url, events: ['task.completed'] });
    await runTask(one.storage);
    await receiver.until(2);
    const [first, second] = receiver.received;
    assert.ok(
      first && second && (await isSigned(first, 'secret of the key')) && (await isSigned(second, bare.newSecret ?? '')),
    );
  });

  Webhooks(
    'are sent again after each kind of failure, under the same id, with all attempts in the log',
    async (context) => {
      const [one, receiver] = [await host(context, { timeout: 3 }), await receive(context)];
      const elsewhere = await receive(context);
      const answers = [
        500,
        'nothing',
        { status: 302, headers: { location: elsewhere.url } },
        404,
        { status: 429, headers: { 'retry-after': '0' } },
      ] as const;
      receiver.answer = (_, before) => answers[before] ?? 204;
      const id = await hook(one, receiver, ['task.completed']);
      await runTask(one.storage);
      const [delivery] = await log(one, id, ([first]) => first?.status === 'delivered');
      assert.equal(
        delivery?.tries.map(({ response_status: status }) => status),
        [500, null, 302, 404, 429, 204],
      );
      assert.match(delivery?.tries[1]?.error ?? '', 'longer than 3 s');
      assert.match(delivery?.tries[2]?.error ?? '', 'redirects');
      assert.is(delivery?.tries[5]?.error, null);
      assert.equal(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])), new Set([delivery?.id]));
      assert.equal(
        [new Set(receiver.received.map(({ body }) => body.toString())).size, elsewhere.received.length],
        [1, 0],
      );
    },
  );

  Webhooks('reach a target that was down, also after a restart of the server', async (context) => {
    const [first, receiver] = [await host(context, { retry_attempts: 100_000 }), await receive(context)];
    await receiver.close();
    const id = await hook(first, receiver, ['task.completed']);
    await runTask(first.storage);
    await log(first, id, ([delivery]) => (delivery?.tries.length ?? 0) >= 2);
    await first.webhooks.stop(0);
    await first.storage.close();
    const second = await host(context, { retry_attempts: 100_000 });
    await receiver.listen();
    await receiver.until(1);
    const [delivery] = await log(second, id);
    assert.equal([delivery?.status, delivery?.tries.at(-1)?.response_status], ['delivered', 200]);
    assert.match(delivery?.tries[0]?.error ?? '', 'refused');
  });

  Webhooks('fail after the last attempt, and are sent again by a replay', async (context) => {
    const [one, receiver] = [await host(context, { retry_attempts: 2 }), await receive(context)];
    receiver.answer = (_, before) => (before < 2 ? 500 : 200);
    const id = await hook(one, receiver, ['task.completed']);
    await runTask(one.storage);
    const [failed] = await log(one, id, ([first]) => first?.status === 'failed');
    assert.is(receiver.received.length, 2);
    const replayed = await one.webhooks.as(ANYBODY).replay(id, failed?.id ?? '');
    assert.is(replayed.status, 'pending');
    const [delivery] = await log(one, id);
    assert.equal(
      [delivery?.status, delivery?.tries.map(({ response_status: status }) => status)],
      ['delivered', [500, 500, 200]],
    );
    assert.equal(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size, 1);
    assert.is(await errorOf(one.webhooks.as(ANYBODY).replay(id, 'none')), 'NotFoundException');
  });

  Webhooks(
    'whose target is gone are disabled, and receive the missed events when they are enabled',
    async (context) => {
      const [one, receiver] = [await host(context), await receive(context)];
      receiver.answer = () => 410;
      const id = await hook(one, receiver, ['task.completed']);
      await runTask(one.storage);
      assert.match(await reasonOf(one, id), '410');
      await runTask(one.storage);
      const waiting = await log(one, id, (all) => all.length === 2);
      assert.equal(
        waiting.map(({ status, tries }) => [status, tries.length]),
        [
          ['pending', 0],
          ['pending', 1],
        ],
      );
      assert.is(await errorOf(one.webhooks.as(ANYBODY).replay(id, waiting[0]?.id ?? '')), 'WebhookDisabled');
      receiver.answer = () => 200;
      const { disabled_at: disabledAt, disabled_reason: reason } = await one.webhooks.as(ANYBODY).update(id, {
        enabled: true,
      });
      assert.equal([disabledAt, reason], [null, null]);
      assert.equal(
        (await log(one, id)).map(({ status }) => status),
        ['delivered', 'delivered'],
      );
      assert.is(receiver.received.length, 3);
    },
  );

  Webhooks(
    'that fail for long enough are disabled with a reason, which the log of the server contains',
    async (context) => {
      const lines: string[] = [];
      const made = makeHost(
        context.database,
        { disable_after_failures: 3, disable_after: 0 },
        createLogger({ level: 'warn', format: 'json', write: (line) => void lines.push(line) }),
      );
      context.hosts.push(made);
      await made.webhooks.start();
      const receiver = await receive(context);
      receiver.answer = () => 503;
      const id = await hook(made, receiver, ['task.completed']);
      await runTask(made.storage);
      assert.match(await reasonOf(made, id), /^3 attempts in a row failed since .*: the target answered 503$/);
      while (!lines.some((line) => line.includes('webhook disabled') && line.includes(id))) await delay(10);
      assert.is(receiver.received.length, 3);
    },
  );

  Webhooks('that hang do not delay others, and the limit of each target holds', async (context) => {
    const [one, slow, quick] = [
      await host(context, { max_concurrent: 6, max_concurrent_per_target: 2, timeout: 300 }),
      await receive(context),
      await receive(context),
    ];
    slow.answer = () => 'nothing';
    await hook(one, slow, ['task.completed']);
    for (let count = 0; count < 8; count += 1) await runTask(one.storage);
    await slow.until(2);
    const other = await hook(one, quick, ['task.completed']);
    for (let count = 0; count < 8; count += 1) await runTask(one.storage);
    await quick.until(8);
    assert.equal([slow.most, slow.received.length], [2, 2]);
    assert.ok(quick.most <= 2);
    await log(one, other);
  });

  Webhooks('that were being sent when the host stopped are given back at once', async (context) => {
    const [first, receiver] = [await host(context), await receive(context)];
    receiver.answer = (_, before) => (before === 0 ? 'nothing' : 200);
    const id = await hook(first, receiver, ['task.completed']);
    await runTask(first.storage);
    await receiver.until(1);
    await first.webhooks.stop(0);
    const [left] = await first.webhooks.as(ANYBODY).deliveries(id, { page: 1, perPage: 1 });
    assert.equal([left?.status, left?.lease_owner, left?.tries.length], ['pending', null, 0]);
    const second = await host(context);
    await receiver.until(2);
    assert.equal(
      (await log(second, id)).map(({ status }) => status),
      ['delivered'],
    );
  });

  Webhooks('are sent to a new URL and with a new secret from the next attempt on', async (context) => {
    const [one, before, after] = [
      await host(context, { retry_delay: 3600, max_retry_delay: 3600 }),
      await receive(context),
      await receive(context),
    ];
    before.answer = () => 500;
    const id = await hook(one, before, ['task.completed']);
    await runTask(one.storage);
    await log(one, id, ([first]) => first?.tries.length === 1);
    await one.webhooks.as(ANYBODY).update(id, { url: after.url, secret: 'another secret, later' });
    await after.until(1);
    const [message] = after.received;
    assert.ok(message && (await isSigned(message, 'another secret, later')));
    assert.is(message.headers['webhook-id'], before.received[0]?.headers['webhook-id']);
  });

  Webhooks('are removed with their deliveries, and are limited for each user', async (context) => {
    const one = makeHost(context.database, { max_webhooks: 2 }); // not started
    context.hosts.push(one);
    const url = 'https://example.org/hook';
    const { webhook } = await one.webhooks.as(ANYBODY).create({ url, events: [] });
    await one.webhooks.as(ANYBODY).create({ url, events: [] });
    assert.is(await errorOf(one.webhooks.as(ANYBODY).create({ url, events: [] })), 'TooManyWebhooks');
    await one.webhooks.as({ userId: 'u' }).create({ url, events: [] });
    await runTask(one.storage);
    assert.is((await one.webhooks.as(ANYBODY).deliveries(webhook.id, { page: 1, perPage: 10 })).length, 2);
    await one.webhooks.as(ANYBODY).delete(webhook.id);
    const left = await one.storage.read(({ connection }) =>
      connection.query<{ count: number }>('select count(*) as count from webhook_deliveries where webhook_id = $1', [
        webhook.id,
      ]),
    );
    assert.is(left[0]?.count, 0);
  });

  Webhooks('have no delivery after a rollback, and one delivery after a repeated write', async (context) => {
    const one = makeHost(context.database); // not started
    context.hosts.push(one);
    const id = await hook(one, { url: 'https://example.org/hook' } as Receiver);
    const happening = {
      event: 'task.completed',
      task_id: 't',
      lease_token: 1,
      user_id: null,
      endpoint: '/e',
      status: 'completed',
      num_retries: 1,
      result: '1',
    } as const;
    await one.storage
      .write(async ({ webhookDeliveries }) => {
        await webhookDeliveries.add(happening);
        throw new Error('thought better of it');
      })
      .catch(() => {});
    const count = async (): Promise<number> =>
      (await one.webhooks.as(ANYBODY).deliveries(id, { page: 1, perPage: 10 })).length;
    assert.is(await count(), 0);
    for (const token of [1, 1, 2])
      await one.storage.write(({ webhookDeliveries }) => webhookDeliveries.add({ ...happening, lease_token: token }));
    assert.is(await count(), 2);
    await one.storage.write(({ webhookDeliveries }) =>
      webhookDeliveries.add({ ...happening, lease_token: 3, result: JSON.stringify('x'.repeat(3 * 1024 * 1024)) }),
    );
    const [taken] = await one.storage
      .write(({ webhookDeliveries }) =>
        webhookDeliveries.claim({ owner: 'me', limit: 9, limitOfFailing: 9, perTarget: 9, leaseMs: 1000 }),
      )
      .then((all) => all.filter(({ result }) => result === null));
    assert.is(taken?.result, null); // too large to be copied
  });

  Webhooks('are pruned when they are old, except for deliveries that wait for an enabled webhook', async (context) => {
    const one = makeHost(context.database);
    context.hosts.push(one);
    const id = await hook(one, { url: 'https://example.org/hook' } as Receiver);
    await runTask(one.storage);
    const [taken] = await one.storage.write(({ webhookDeliveries }) =>
      webhookDeliveries.claim({ owner: 'me', limit: 1, limitOfFailing: 1, perTarget: 1, leaseMs: 60_000 }),
    );
    if (!taken) throw new Error('nothing was claimed');
    await one.storage.write(({ webhookDeliveries }) =>
      webhookDeliveries.finish(taken, { host: 'me', ms: 5, responseStatus: 200, error: null }, { status: 'delivered' }),
    );
    const prune = (): Promise<number> =>
      one.storage.write(({ webhookDeliveries, connection }) => webhookDeliveries.prune(connection.now() + 1000, 100));
    assert.equal([await prune(), await prune()], [1, 0]);
    await one.webhooks.as(ANYBODY).update(id, { enabled: false });
    assert.equal([await prune(), await prune()], [1, 0]);
  });

  Webhooks.run();
}

const postgres = await postgresDatabases();
deliveryTests(sqliteDatabases());
if (typeof postgres === 'string') skip('webhooks over PostgreSQL', postgres);
else deliveryTests(postgres);
