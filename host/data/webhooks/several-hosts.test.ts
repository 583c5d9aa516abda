// Hosts in separate processes that share a database and are killed.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { postgresDatabases, sqliteDatabases, type TestDatabases } from '../storage/fixtures/databases.ts';
import { ANYBODY } from '../tasks/fixtures/queue-config.ts';
import type { StorageConfig } from '../storage/index.ts';
import { skip } from '../../test/skip.ts';
import { makeHost, runTask, type TestHost } from './fixtures/hosts.ts';
import { Receiver } from './fixtures/receiver.ts';

interface Context {
  config: StorageConfig;
  children: ChildProcess[];
  receiver: Receiver;
  /** Makes and reads webhooks, and sends nothing. */
  watcher: TestHost;
  webhook: string;
}

function hostTests(databases: TestDatabases): void {
  const Hosts = suite<Context>(`webhooks of hosts that share ${databases.title}`);
  Hosts.before.each(async (context) => {
    context.config = await databases.createMigrated();
    context.children = [];
    context.receiver = await Receiver.start();
    context.watcher = makeHost(context.config);
    context.webhook = (
      await context.watcher.webhooks.as(ANYBODY).create({ url: context.receiver.url, events: ['task.completed'] })
    ).webhook.id;
  });
  Hosts.after.each(async ({ children, receiver, watcher }) => {
    await receiver.close();
    for (const child of children) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.disconnect();
      await once(child, 'exit');
    }
    await watcher.storage.close();
  });
  Hosts.after(() => databases.end());

  const run = ({ config, children }: Context, script: string, timeoutS = 60): ChildProcess => {
    const child = fork(new URL(`fixtures/${script}.js`, import.meta.url), [JSON.stringify(config), String(timeoutS)], {
      execArgv: ['--enable-source-maps'],
    });
    children.push(child);
    return child;
  };
  const sender = async (context: Context, timeoutS?: number): Promise<ChildProcess> => {
    const child = run(context, 'sending-host', timeoutS);
    await once(child, 'message');
    return child;
  };
  const statuses = async ({ watcher, webhook }: Context): Promise<string[]> =>
    (await watcher.webhooks.as(ANYBODY).deliveries(webhook, { page: 1, perPage: 1000 })).map(({ status }) => status);
  const untilDelivered = async (context: Context, count: number): Promise<void> => {
    while ((await statuses(context)).filter((status) => status === 'delivered').length < count)
      await new Promise((resolve) => setTimeout(resolve, 20));
  };

  Hosts('receive the events that a host had committed when it was killed', async (context) => {
    const [, signal] = (await once(run(context, 'dying-host'), 'exit')) as [null, string];
    assert.equal([signal, await statuses(context), context.receiver.received.length], ['SIGKILL', ['pending'], 0]);
    await sender(context);
    await untilDelivered(context, 1);
    assert.is(context.receiver.received.length, 1);
  });

  Hosts('send the deliveries of a killed host again, under the same id', async (context) => {
    const { receiver, watcher } = context;
    const id = (n: number): unknown => receiver.received[n]?.headers['webhook-id'];
    receiver.answer = (_, before) => (before === 0 ? 'nothing' : 200);
    const first = await sender(context, 1);
    await runTask(watcher.storage);
    await receiver.until(1);
    first.kill('SIGKILL');
    await once(first, 'exit');
    await sender(context);
    await receiver.until(2); // when the lease is over
    await untilDelivered(context, 1);
    assert.is(id(0), id(1));
  });

  Hosts('send each delivery once while nothing goes wrong', async (context) => {
    const { receiver, watcher } = context;
    await Promise.all([sender(context), sender(context)]);
    for (let count = 0; count < 40; count += 1) await runTask(watcher.storage);
    await untilDelivered(context, 40);
    const ids = receiver.received.map(({ headers }) => headers['webhook-id']);
    assert.equal([ids.length, new Set(ids).size], [40, 40]);
    assert.ok(receiver.most <= 4, 'over what one target is sent at a time by all hosts');
  });

  Hosts('are told once of an alert that several of them see', async (context) => {
    const { watcher, receiver, config } = context;
    const other = makeHost(config);
    const all = { page: 1, perPage: 100 };
    const hook = async (userId: string | null, events: readonly string[]): Promise<string> =>
      (await watcher.webhooks.as({ userId }).create({ url: receiver.url, events, followsAlerts: true })).webhook.id;
    const [named, unnamed, ofAdmin, ofUser] = [
      await hook(null, ['alert.firing']),
      await hook(null, []),
      await hook('operator', ['alert.firing', 'alert.resolved']),
      await hook('somebody', ['alert.firing']),
    ];
    await watcher.storage.write(({ apiKeys }) =>
      apiKeys.save('a key', {
        ...{ key_id: 'k', user_id: 'operator', subscription_id: 'operator', is_subscription_active: true },
        ...{ is_admin: true, scopes: null, hmac_secret: null, expired_at: null },
      }),
    );
    const tell = (has_keys: boolean, alert_id: string): Promise<unknown> =>
      Promise.all(
        [watcher, other].map(({ webhooks }) =>
          webhooks.announce({ event: 'alert.firing', alert_id, payload: '{"rule":"disk"}', has_keys }),
        ),
      );
    const counts = (): Promise<number[]> =>
      Promise.all(
        [
          [named, null],
          [unnamed, null],
          [ofAdmin, 'operator'],
          [ofUser, 'somebody'],
        ].map(
          async ([id, user]) =>
            (await watcher.webhooks.as({ userId: user as never }).deliveries(id as string, all)).length,
        ),
      );
    await tell(false, 'a');
    assert.equal(await counts(), [1, 0, 0, 0]);
    await tell(true, 'a');
    await tell(true, 'a');
    assert.equal(await counts(), [1, 0, 1, 0], 'with keys, admins have them');
    await tell(true, 'b');
    assert.equal(await counts(), [1, 0, 2, 0]);
    await sender(context);
    await receiver.until(3);
    assert.equal(JSON.parse(receiver.received[0]?.body.toString() ?? ''), {
      event: 'alert.firing',
      payload: { rule: 'disk' },
    });
    await other.storage.close();
  });

  Hosts.run();
}

const postgres = await postgresDatabases();
hostTests(sqliteDatabases());
if (typeof postgres === 'string') skip('webhooks of hosts that share PostgreSQL', postgres);
else hostTests(postgres);
