// The outbox of usage over every database.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { delay } from '../../base/core/abort.ts';
import { silentLogger } from '../../base/core/log/logger.ts';
import { noTelemetry } from '../../base/core/telemetry.ts';
import { postgresDatabases, sqliteDatabases, sqliteModule, type TestDatabases } from '../storage/fixtures/databases.ts';
import { Storage, type StorageConfig } from '../storage/index.ts';
import { until } from '../../test/helpers/server.ts';
import { skip } from '../../test/skip.ts';
import type { UsageRecord } from './record.ts';
import { type PostUsage, UsageOutbox } from './usage-outbox.ts';

interface Host {
  readonly outbox: UsageOutbox;
  readonly storage: Storage;
  readonly lost: string[];
  end(): Promise<void>;
}

function outboxTests(databases: TestDatabases): void {
  const Outbox = suite<{ config: StorageConfig; hosts: Host[] }>(`the outbox of usage over ${databases.title}`);
  Outbox.before.each(async (context) => {
    context.config = await databases.createMigrated();
    context.hosts = [];
  });
  Outbox.after.each(async ({ hosts }) => void (await Promise.all(hosts.map((one) => one.end()))));
  Outbox.after(() => databases.end());

  const host = (context: { config: StorageConfig; hosts: Host[] }, post: PostUsage, change: object = {}): Host => {
    const storage = new Storage({ config: context.config, log: silentLogger, sqliteModule });
    const lost: string[] = [];
    const outbox = new UsageOutbox({
      ...{ storage, post, source: '/test', batchSize: 10, intervalMs: 20, timeoutMs: 500, maxWaiting: 1000 },
      log: silentLogger,
      begin: () => noTelemetry.span(''),
      onDelivered: () => {},
      onLost: (records, reason) => lost.push(`${records} ${reason}`),
      ...change,
    });
    const made = {
      ...{ outbox, storage, lost },
      end: async () => {
        await outbox.stop();
        await storage.close();
      },
    };
    context.hosts.push(made);
    return made;
  };
  const records = (from: number, to: number): UsageRecord[] =>
    Array.from({ length: to - from }, (_, n) => ({ id: `id-${from + n}`, time: 't', user_id: null }) as UsageRecord);
  const ids = (body: string): string[] => (JSON.parse(body) as { id: string }[]).map(({ id }) => id);
  const waiting = ({ storage }: Host): Promise<number> =>
    storage.write(async ({ usageRecords }) => (await usageRecords.claim('reader', 1000, 0)).length);

  Outbox('every record arrives once from hosts that share the work', async (context) => {
    const got: string[] = [];
    const post: PostUsage = async (body) => {
      got.push(...ids(body));
      return 200;
    };
    const hosts = [host(context, post), host(context, post)];
    for (const [n, { outbox }] of hosts.entries()) {
      outbox.start();
      outbox.add(records(n * 100, n * 100 + 100));
    }
    await until(async () => got.length >= 200);
    await delay(100);
    assert.equal([got.length, new Set(got).size], [200, 200]);
  });

  Outbox('another host sends what an ended host left, and what a lost one had claimed', async (context) => {
    const got: string[] = [];
    const stuck = host(
      context,
      (_, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    );
    stuck.outbox.start();
    stuck.outbox.add(records(0, 5));
    const held = 'select count(*) as n from usage_records where lease_owner is not null';
    const count = async (): Promise<number> =>
      Number((await stuck.storage.read(({ connection }) => connection.query<{ n: number }>(held, [])))[0]?.n);
    await until(async () => (await count()) === 5);
    await stuck.end();
    context.hosts.length = 0;
    const other = host(context, async (body) => (got.push(...ids(body)), 200));
    other.outbox.start();
    await until(async () => got.length === 5);
  });

  Outbox('a server that is away or refuses all gets them later; wrong ones are dropped alone', async (context) => {
    const got: string[] = [];
    const answers: (number | undefined)[] = [undefined, 401, 500];
    const { outbox, lost } = host(context, async (body) => {
      if (answers.length > 0) {
        const status = answers.shift();
        if (status === undefined) throw new Error('nobody answers');
        return status;
      }
      if (ids(body).includes('id-3')) return 422;
      got.push(...ids(body));
      return 202;
    });
    outbox.add(records(0, 10));
    outbox.start();
    await until(async () => got.length === 9);
    assert.not.ok(got.includes('id-3'));
    assert.equal(lost, ['1 refused']);
  });

  Outbox('an id is stored once, and newer records are dropped when too many wait', async (context) => {
    const one = host(context, async () => 503, { maxWaiting: 50 });
    one.outbox.add(records(0, 20));
    await one.outbox.stop();
    one.outbox.add(records(0, 20));
    await one.outbox.stop();
    assert.is(await waiting(one), 20);
    one.outbox.add(records(20, 60));
    await one.outbox.stop();
    assert.equal(one.lost, ['40 full']);
    one.outbox.add(records(0, 20_001));
    assert.equal(one.lost, ['40 full', '20001 full']);
  });

  Outbox.run();
}

const postgres = await postgresDatabases();
outboxTests(sqliteDatabases());
if (typeof postgres === 'string') skip('the outbox of usage over PostgreSQL', postgres);
else outboxTests(postgres);
