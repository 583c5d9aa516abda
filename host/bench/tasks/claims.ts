import { newId } from '../../base/core/ids.ts';
import { migrate, type NewTask, Repositories } from '../../data/storage/index.ts';
import type { TestDatabases } from '../../data/storage/fixtures/databases.ts';
import { median, quantile, round } from '../report.ts';

/** The time of a claim while tasks of many users wait. */
export interface ClaimTimes {
  readonly waitingUsers: number;
  readonly medianMs: number;
  readonly p95Ms: number;
}

/** Tasks that one transaction stores. */
const TOGETHER = 1000;

const task = (user: string): NewTask => ({
  id: newId(),
  endpoint: '/e',
  data: '{}',
  files: [],
  priority: 0,
  user_id: user,
  timeout_ms: 60_000,
  max_attempts: 3,
  idempotency_key: null,
  request_hash: 'h',
});

/** Measures claims of one task each in a new database, for each number of users who wait with one task. */
export async function measureClaims(
  databases: TestDatabases,
  numbersOfUsers: readonly number[],
  claims: number,
): Promise<ClaimTimes[]> {
  await using database = await databases.open(await databases.create());
  await migrate(database);
  const times: ClaimTimes[] = [];
  let users = 0;
  for (const number of numbersOfUsers.toSorted((a, b) => a - b)) {
    while (users < number) {
      const names = Array.from({ length: Math.min(TOGETHER, number - users) }, () => `user-${users++}`);
      await database.write((connection) => {
        const { tasks } = new Repositories(connection);
        return Promise.all(names.map((name) => tasks.enqueue(task(name))));
      });
    }
    const milliseconds: number[] = [];
    for (let claim = 0; claim < claims; claim += 1) {
      const begin = performance.now();
      const [claimed] = await database.write((connection) =>
        new Repositories(connection).tasks.claim({
          owner: 'bench',
          endpoints: ['/e'],
          limit: 1,
          leaseMs: 60_000,
          activeOfUser: 25,
        }),
      );
      milliseconds.push(performance.now() - begin);
      if (!claimed) throw new Error('nothing was claimed');
      const release = { kind: 'release', error: null, delayMs: 0, outcome: 'not_finished' } as const;
      await database.write((connection) => new Repositories(connection).tasks.finish(claimed, release));
    }
    times.push({
      waitingUsers: number,
      medianMs: round(median(milliseconds), 1),
      p95Ms: round(quantile(milliseconds, 0.95), 1),
    });
  }
  return times;
}
