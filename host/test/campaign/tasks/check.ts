import {
  type Database,
  hasEnded,
  nextTaskStatus,
  Repositories,
  type TaskEvent,
  type TaskRecord,
  type TaskStatus,
  type TaskTransition,
} from '../../../data/storage/index.ts';
import type { Accepted } from './client.ts';

type Attempt = Awaited<ReturnType<Repositories['tasks']['attempts']>>[number];

/** The records of one task in the database. */
interface History {
  readonly task: TaskRecord;
  readonly attempts: readonly Attempt[];
  readonly events: readonly TaskEvent[];
}

export interface Checked {
  readonly tasks: number;
  readonly attempts: number;
  /** Number of attempts that a host lost. */
  readonly lost: number;
  readonly events: number;
  readonly statuses: Readonly<Record<string, number>>;
  /** The problems, each with the history of its task. */
  readonly problems: readonly string[];
}

const PAGE = 500;
const MOST_EVENTS = 10_000;

/**
 * Checks every task of the database, and the accepted tasks in particular. `retried` are the tasks that were retried
 * after they had failed.
 */
export async function checkTasks(
  database: Database,
  accepted: readonly Accepted[],
  retried: ReadonlySet<string>,
): Promise<Checked> {
  const statuses: Record<string, number> = {};
  const problems: string[] = [];
  const byId = new Map(accepted.map((one) => [one.id, one]));
  let [tasks, attempts, lost, events] = [0, 0, 0, 0];
  for (let offset = 0, found = PAGE; found === PAGE; offset += PAGE) {
    const histories = await database.read((connection) => readPage(new Repositories(connection), offset));
    found = histories.length;
    for (const history of histories) {
      const { task } = history;
      tasks += 1;
      attempts += history.attempts.length;
      lost += history.attempts.filter(({ outcome }) => outcome === 'lost').length;
      events += history.events.length;
      statuses[task.status] = (statuses[task.status] ?? 0) + 1;
      const known = byId.get(task.id);
      byId.delete(task.id);
      const wrong = [
        ...problemsOf(history, retried.has(task.id)),
        ...(known ? problemsOfAccepted(history, known) : []),
      ];
      if (wrong.length > 0) problems.push(`${wrong.join('; ')}\n${describe(history)}`);
    }
  }
  for (const { id, work, n } of byId.values())
    problems.push(`task ${id} (${work.path}, ${n}) was accepted but is not in the database`);
  return { tasks, attempts, lost, events, statuses, problems };
}

async function readPage({ tasks }: Repositories, offset: number): Promise<History[]> {
  const histories: History[] = [];
  for (const { id } of await tasks.list(null, { limit: PAGE, offset })) {
    const task = await tasks.read(id, null);
    if (!task) throw new Error(`${id} is missing`);
    histories.push({
      task,
      attempts: await tasks.attempts(task.id),
      events: await tasks.events(task.id, 0, MOST_EVENTS),
    });
  }
  return histories;
}

/** Checks that hold for every task of any client. */
function problemsOf({ task, attempts, events }: History, wasRetried: boolean): string[] {
  const wrong: string[] = [];
  if (!hasEnded(task.status)) wrong.push(`it is ${task.status} and has not ended`);
  const last = attempts.at(-1);
  const ends = events.filter(({ event }) => hasEnded(event as TaskStatus));
  const expectedEnds = wasRetried ? 2 : 1;
  if (ends.length !== expectedEnds) wrong.push(`it has ${ends.length} events of its end`);
  if (events.at(-1)?.event !== task.status) wrong.push(`its last event is ${events.at(-1)?.event}`);
  if (attempts.some(({ lease_token: token }, index) => token !== index + 1))
    wrong.push('its attempts do not have the tokens 1, 2, …');
  if (attempts.some(({ ended_at: ended, outcome }) => ended === null || outcome === null))
    wrong.push('an attempt has no end');
  const stored = attempts.filter(({ outcome }) => outcome === 'completed').length;
  if (stored !== (task.status === 'completed' ? 1 : 0)) wrong.push(`${stored} attempts stored a result`);
  if (task.status === 'completed' && last?.outcome !== 'completed') wrong.push('its last attempt did not complete it');
  const begun = events.filter(({ event }) => event === 'assigned').length;
  if (begun !== attempts.length)
    wrong.push(`it has ${attempts.length} attempts, but ${begun} events of their beginning`);
  return [...wrong, ...wrongOrder(events)];
}

const TRANSITIONS: Readonly<Record<string, TaskTransition>> = {
  running: 'claim',
  completed: 'complete',
  failed: 'fail',
  not_finished: 'release',
  cancelled: 'cancel',
  created: 'retry',
};

/** Checks that the events form a path through the table of states. */
function wrongOrder(events: readonly TaskEvent[]): string[] {
  let status: TaskStatus | undefined;
  for (const [index, { id, event }] of events.entries()) {
    if (event === 'chunk' || event === 'progress') {
      if (status !== 'running') return [`event ${id}, a ${event}, came while it was ${status}`];
      continue;
    }
    if (event === 'assigned') {
      const next = events[index + 1]?.event;
      if (next !== 'running') return [`event ${id}, assigned, is followed by ${next ?? 'nothing'} and not by running`];
      continue;
    }
    const transition = TRANSITIONS[event];
    const next =
      status === undefined
        ? event === 'created'
          ? 'created'
          : undefined
        : transition && nextTaskStatus(status, transition);
    if (next !== event) return [`event ${id} makes it ${event} from ${status ?? 'nothing'}`];
    status = next;
  }
  return [];
}

/** Checks the promises to the client of a task. */
function problemsOfAccepted({ task, events }: History, { work, n, isCancelled, seen }: Accepted): string[] {
  const wrong: string[] = [];
  if (task.endpoint !== work.path) wrong.push(`its client sent it to ${work.path}`);
  const result: unknown = task.result === null ? null : JSON.parse(task.result);
  const mayBe = [work.error === undefined ? 'completed' : 'failed', ...(isCancelled ? ['cancelled'] : [])];
  if (!mayBe.includes(task.status)) wrong.push(`it should be ${mayBe.join(' or ')}`);
  if (task.status === 'completed') {
    if (JSON.stringify(result) !== JSON.stringify(work.result(n))) wrong.push('its result is wrong');
    const run = events.slice(events.findLastIndex(({ event }) => event === 'running'));
    const chunks = run.filter(({ event }) => event === 'chunk').map(({ data }) => JSON.parse(data) as unknown);
    if (Array.isArray(result) && JSON.stringify(chunks) !== JSON.stringify(result))
      wrong.push('its chunks differ from its result');
  }
  if (task.status === 'failed' && (result as { error: string }).error !== work.error)
    wrong.push(`it failed with ${(result as { error: string }).error}`);
  const stored = events.slice(0, seen?.length).map(({ id, event }) => `${id} ${event}`);
  if (seen && stored.join() !== seen.join()) wrong.push(`its client saw ${seen.join(', ')}`);
  return wrong;
}

function describe({ task, attempts, events }: History): string {
  const lines = [
    `  task ${task.id} (${task.endpoint}) ${task.status}: ${task.data} → ${task.result?.slice(0, 300)}`,
    ...attempts.map(
      ({ lease_token: token, host, started_at: from, ended_at: to, outcome, error }) =>
        `  attempt ${token} of ${host} from ${from} to ${to}: ${outcome} ${error?.slice(0, 300) ?? ''}`,
    ),
    `  events: ${events
      .map(({ id, event, created_at: at }) => `${id} ${event} ${at}`)
      .join(', ')
      .slice(0, 3000)}`,
  ];
  return lines.join('\n');
}
