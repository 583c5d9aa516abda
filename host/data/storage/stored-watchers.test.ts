import { setMaxListeners } from 'node:events';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { silentLogger } from '../../base/core/log/logger.ts';
import { postgresDatabases, sqliteDatabases, sqliteModule, type TestDatabases } from './fixtures/databases.ts';
import { task } from './fixtures/tasks/task-suite.ts';
import { Storage, StoredWatchers } from './index.ts';

/** Idle watchers; each would read once a second if it read alone. */
const IDLE = 100;

const Watchers = suite('watchers of stored values');

const open = async (databases: TestDatabases): Promise<[Storage, Storage]> => {
  const config = await databases.create();
  const [first, second] = [1, 2].map(() => new Storage({ config, log: silentLogger, sqliteModule })) as [
    Storage,
    Storage,
  ];
  await first.migrate();
  await second.migrate();
  return [first, second];
};

function watchersOf(storage: Storage): { watchers: StoredWatchers; reads: () => number } {
  let reads = 0;
  const counting = {
    listen: (listener: (message: string) => void) => storage.listen(listener),
    read: <T>(work: Parameters<typeof storage.read<T>>[0]) => {
      reads += 1;
      return storage.read(work);
    },
  };
  const watchers = new StoredWatchers({
    storage: counting,
    readPositions: ({ tasks }, ids) => tasks.positions(ids),
    messageOf: (id) => id,
  });
  return { watchers, reads: () => reads };
}

/** Yields the ids of the events of a task. */
const idsOf = (watchers: StoredWatchers, id: string, signal: AbortSignal): AsyncGenerator<string, void> => {
  let last = 0;
  return watchers.watch({
    id,
    signal,
    read: async ({ tasks }) => {
      const events = await tasks.events(id, last, 100);
      last = events.at(-1)?.id ?? last;
      return { values: events.map(({ event }) => event), hasMore: false, hasEnded: false, position: last };
    },
  });
};

const postgres = await postgresDatabases();
for (const databases of [sqliteDatabases(), ...(typeof postgres === 'string' ? [] : [postgres])]) {
  Watchers.after(() => databases.end());

  Watchers(`share their reads, and see the values that another host stores: ${databases.title}`, async () => {
    const [here, elsewhere] = await open(databases);
    await using _here = here;
    await using _elsewhere = elsewhere;
    const leaving = new AbortController();
    setMaxListeners(0, leaving.signal);
    const { watchers, reads } = watchersOf(here);
    const ids = Array.from({ length: IDLE }, (_, index) => `idle-${index}`);
    await here.write(({ tasks }) => Promise.all(ids.map((id) => tasks.enqueue(task({ id })))));
    const streams = ids.map((id) => idsOf(watchers, id, leaving.signal));
    for (const stream of streams) assert.is((await stream.next()).value, 'created');
    const next = streams.map((stream) => stream.next());
    const [lease] = await elsewhere.write(({ tasks }) =>
      tasks.claim({ owner: 'elsewhere', endpoints: ['/e'], limit: 1, leaseMs: 60_000, activeOfUser: 1 }),
    );
    if (!lease) throw new Error('nothing was claimed');
    const at = ids.indexOf(lease.id);
    assert.is((await next[at])?.value, 'assigned');
    const stream = streams[at];
    assert.is((await stream?.next())?.value, 'running');
    await elsewhere.write(({ tasks }) => tasks.report(lease, { number: 1, chunks: ['1'], progress: undefined }));
    assert.is((await stream?.next())?.value, 'chunk');
    assert.ok(reads() < 2 * IDLE, `${reads()} reads for ${IDLE} watchers`);
    leaving.abort();
    for (const each of await Promise.all(next.filter((_, index) => index !== at))) assert.is(each.done, true);
  });

  Watchers(`do not read again and again for a reader that is ahead of the values: ${databases.title}`, async () => {
    const [here, elsewhere] = await open(databases);
    await using _here = here;
    await using _elsewhere = elsewhere;
    await here.write(({ tasks }) => tasks.enqueue(task({ id: 'ahead' })));
    const { watchers } = watchersOf(here);
    let reads = 0;
    const leaving = new AbortController();
    const stream = watchers.watch({
      id: 'ahead',
      signal: leaving.signal,
      read: async ({ tasks }) => {
        reads += 1;
        const status = await tasks.status('ahead', null);
        return { values: [], hasMore: false, hasEnded: status === undefined, position: 1e9 };
      },
    });
    const end = stream.next();
    await new Promise((resolve) => setTimeout(resolve, 1500)); // longer than the time between two polls
    assert.ok(reads <= 2, `${reads} reads`); // PostgreSQL wakes all watchers when the host begins to listen
    await elsewhere.write(({ tasks }) => tasks.delete('ahead', null));
    assert.is((await end).done, true);
  });
}

Watchers.run();
