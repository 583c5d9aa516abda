import type { Connection } from '../../database.ts';
import { loadStatements } from '../../statements.ts';

const sql = loadStatements('task-claims', [
  'ofNobody',
  'ofUser',
  'endpoints',
  'active',
  'waiting',
  'lock',
  'leave',
  'nobody',
  'turn',
  'waitingOfUser',
]);

/**
 * Hosts claim tasks of users one after the other. Two claims at once would both count the running tasks before either
 * takes some.
 */
const CLAIM_LOCK = 4_161_616_174;

/**
 * For the rest of the transaction, PostgreSQL uses indexes. It keeps the plans of a connection, and one that it made
 * for a hundred waiting users, without an index, would take 50 ms for 20,000.
 */
const BEGIN_CLAIM = "select pg_advisory_xact_lock($1), set_config('enable_seqscan', 'off', true)";

/** Rows of waiting users that one statement reads. Most claims need one page. */
const PAGE = 32;

/** The tasks that may be claimed, and their holder. */
export interface NextTasksOptions {
  /** The holder, which is unique for each process. */
  readonly owner: string;
  /** Paths of the endpoints of the holder. */
  readonly endpoints: readonly string[];
  readonly limit: number;
  /** Most tasks of one user that run at a time, on all hosts together. */
  readonly activeOfUser: number;
  /** Most tasks of one user that `owner` has at a time. Default: no limit. */
  readonly activeOfUserHere?: number | undefined;
  /** Whether tasks of users without an active subscription wait. Default: false. */
  readonly subscribersOnly?: boolean | undefined;
}

/** The number of running tasks of a user, and how many of them one host has. */
interface ActiveRow {
  readonly user_id: string;
  readonly active: number;
  readonly here: number;
}

/** A user who waits for an endpoint. */
interface WaitingRow {
  readonly id: number;
  readonly user_id: string;
  readonly turn_at: number;
  /** When the first task is due; null if none waits any more. */
  readonly due_at: number | null;
  readonly may_run: boolean | number;
}

/** A user with tasks that may be claimed; null is the tasks without a user. */
interface WaitingUser {
  readonly user: string | null;
  /** The number of running tasks. */
  readonly active: number;
  /** The time of the last claim, or of the first waiting task: milliseconds since 1970. */
  readonly turnAt: number;
  /** Most tasks that may be claimed now. */
  readonly room: number;
}

/** The users who may be next, and the rows of users who no longer wait. */
interface Found {
  readonly users: ReadonlyMap<string, WaitingUser>;
  readonly left: readonly number[];
}

interface Share extends WaitingUser {
  /** The number of tasks chosen so far. */
  taken: number;
  /** The number of further tasks to choose. */
  wanted: number;
}

/**
 * Returns the ids of the next tasks. Each place goes to the user with the fewest running tasks, and among users with
 * equally many to the user whose turn was longest ago. Priority and age order the tasks of one user only. Tasks without
 * a user count as the tasks of one more user.
 */
export async function nextTasks(connection: Connection, options: NextTasksOptions): Promise<string[]> {
  const { endpoints, limit } = options;
  const now = connection.now();
  const due = [now, JSON.stringify(endpoints)] as const;
  const [ofNobody, waitedFor] = await Promise.all([
    idsOf(connection, sql.ofNobody, [...due, limit]),
    connection.query<{ endpoint: string }>(sql.endpoints, [due[1]]),
  ]);
  if (waitedFor.length === 0) return ofNobody;
  if (connection.dialect === 'postgresql') await connection.query(BEGIN_CLAIM, [CLAIM_LOCK]);
  const found = await usersWaitingFor(
    connection,
    waitedFor.map(({ endpoint }) => endpoint),
    options,
  );
  const users = [...found.users.values()];
  if (ofNobody.length > 0) users.push(await nobody(connection));
  users.sort((a, b) => a.active - b.active || a.turnAt - b.turnAt);
  const chosen = await choose(users, limit, async (user, count, from) =>
    user === null ? ofNobody.slice(from, from + count) : idsOf(connection, sql.ofUser, [...due, count, user, from]),
  );
  const served = [...chosen.keys()].map((user) => user ?? '');
  if (served.length > 0) await connection.query(sql.turn, [JSON.stringify(served), now]);
  if (found.left.length > 0) await removeRows(connection, found.left);
  return [...chosen.values()].flat();
}

/**
 * Finds the users who have due tasks for one of `endpoints` and room for one more task. Reads waiting users in the
 * order of their turns, and no further than to `limit` users without running tasks, who go before all others. So the
 * number of waiting users costs no time.
 */
async function usersWaitingFor(
  connection: Connection,
  endpoints: readonly string[],
  {
    owner,
    limit,
    activeOfUser,
    activeOfUserHere = Number.MAX_SAFE_INTEGER,
    subscribersOnly = false,
  }: Omit<NextTasksOptions, 'endpoints'>,
): Promise<Found> {
  const rows = await connection.query<ActiveRow>(sql.active, [owner]);
  const running = new Map(rows.map((row) => [row.user_id, row]));
  const now = connection.now();
  const users = new Map<string, WaitingUser>();
  const left: number[] = [];
  for (const endpoint of endpoints) {
    let idle = 0;
    let last: Pick<WaitingRow, 'turn_at' | 'id'> | undefined = { turn_at: -1, id: 0 };
    while (last && idle < limit) {
      const page: WaitingRow[] = await connection.query<WaitingRow>(sql.waiting, [
        endpoint,
        last.turn_at,
        last.id,
        PAGE,
        subscribersOnly,
      ]);
      for (const { id, user_id: user, turn_at: turnAt, due_at: dueAt, may_run: mayRun } of page) {
        if (dueAt === null) left.push(id);
        if (dueAt === null || dueAt > now || !mayRun) continue;
        const { active, here } = running.get(user) ?? { active: 0, here: 0 };
        const room = Math.min(activeOfUser - active, activeOfUserHere - here);
        if (room <= 0) continue;
        const before = users.get(user);
        users.set(user, { user, active, turnAt: Math.min(turnAt, before?.turnAt ?? turnAt), room });
        if (active === 0 && !before) idle += 1;
      }
      last = page.length === PAGE ? page.at(-1) : undefined;
    }
  }
  return { users, left };
}

/** Removes rows of users who no longer wait. A row to which a running transaction adds a task is left for later. */
async function removeRows(connection: Connection, ids: readonly number[]): Promise<void> {
  const locked = await connection.query<{ id: number }>(sql.lock, [JSON.stringify(ids)]);
  await connection.query(sql.leave, [JSON.stringify(locked.map(({ id }) => id))]); // sees what was committed meanwhile
}

/** Returns how many tasks of a user wait, at most `most`. */
export async function waitingOfUser(connection: Connection, user: string, most: number): Promise<number> {
  return (await connection.query<{ count: number }>(sql.waitingOfUser, [user, most]))[0]?.count ?? 0;
}

async function idsOf(
  connection: Connection,
  statement: (typeof sql)['ofUser'],
  values: readonly (string | number)[],
): Promise<string[]> {
  return (await connection.query<{ id: string }>(statement, values)).map(({ id }) => id);
}

async function nobody(connection: Connection): Promise<WaitingUser> {
  const [row] = await connection.query<{ active: number; turn_at: number }>(sql.nobody);
  return { user: null, active: row?.active ?? 0, turnAt: row?.turn_at ?? 0, room: Number.MAX_SAFE_INTEGER };
}

/**
 * Chooses `limit` tasks of `users`, which are in the order of their turns. Users with fewer due tasks than their share
 * leave the rest to others.
 */
async function choose(
  users: readonly WaitingUser[],
  limit: number,
  idsOfUser: (user: string | null, count: number, from: number) => Promise<string[]>,
): Promise<Map<string | null, string[]>> {
  const chosen = new Map<string | null, string[]>();
  let open: Share[] = users.map((user) => ({ ...user, taken: 0, wanted: 0 }));
  for (let room = limit; room > 0;) {
    share(open, room);
    const asking = open.filter(({ wanted }) => wanted > 0);
    if (asking.length === 0) break;
    const found = await Promise.all(asking.map(({ user, wanted, taken }) => idsOfUser(user, wanted, taken)));
    for (const [index, each] of asking.entries()) {
      const ids = found[index] ?? [];
      if (ids.length > 0) chosen.set(each.user, [...(chosen.get(each.user) ?? []), ...ids]);
      room -= ids.length;
      each.taken += ids.length;
      if (ids.length < each.wanted) open = open.filter((other) => other !== each);
      each.wanted = 0;
    }
  }
  return chosen;
}

/** Gives `room` places one by one, each to the first user with the fewest tasks. */
function share(users: readonly Share[], room: number): void {
  const tasksOf = ({ active, taken, wanted }: Share): number => active + taken + wanted;
  for (let left = room; left > 0; left -= 1) {
    let least: Share | undefined;
    for (const each of users)
      if (each.taken + each.wanted < each.room && (!least || tasksOf(each) < tasksOf(least))) least = each;
    if (!least) return;
    least.wanted += 1;
  }
}
