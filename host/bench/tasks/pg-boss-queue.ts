// pg-boss, configured for speed: it is notified of new jobs, takes them in batches, and continues without a pause while
// batches are full.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { WORKERS } from './protocol.ts';
import { type MeasuredQueue, serveJobs } from './run-job.ts';

/** The part of its interface that is used. */
interface PgBoss {
  on(event: 'error', listener: (error: Error) => void): void;
  start(): Promise<unknown>;
  createQueue(name: string, options: object): Promise<unknown>;
  work(
    name: string,
    options: object,
    handler: (jobs: readonly { readonly data: { readonly n: number } }[]) => Promise<void>,
  ): Promise<unknown>;
  send(name: string, data: object): Promise<unknown>;
  getDb(): { executeSql(text: string, values: unknown[]): Promise<{ rows: { count: string }[] }> };
  stop(options: object): Promise<unknown>;
}

const QUEUE = 'noop';
const BATCHES = 2;

await serveJobs(
  async ({
    database: {
      datastore_config: { host, port, user, database },
      pool_size: size,
      max_overflow: more,
    },
    module = '',
  }) => {
    const entry = createRequire(module).resolve('pg-boss');
    const { PgBoss: Boss } = (await import(pathToFileURL(entry).href)) as { PgBoss: new (options: object) => PgBoss };
    const boss = new Boss({ host, port, user, database, max: size + more, useListenNotify: true });
    boss.on('error', (error) => process.stderr.write(`pg-boss: ${error.message}\n`));
    await boss.start();
    await boss.createQueue(QUEUE, { notify: true });
    const measured: MeasuredQueue = {
      onRun: () => {},
      add: async (n) => void (await boss.send(QUEUE, { n })),
      completed: async () =>
        Number(
          (
            await boss
              .getDb()
              .executeSql("select count(*) as count from pgboss.job where name = $1 and state = 'completed'", [QUEUE])
          ).rows[0]?.count,
        ),
      close: async () => void (await boss.stop({ graceful: false })),
    };
    const options = {
      batchSize: WORKERS / BATCHES,
      localConcurrency: BATCHES,
      burstWhenBatchFull: true,
      pollingIntervalSeconds: 0.5,
    };
    await boss.work(QUEUE, options, async (jobs) => {
      for (const { data } of jobs) measured.onRun(data.n);
    });
    return measured;
  },
);
