import { type Database, hasEnded, Repositories, type TaskStatus } from '../../../data/storage/index.ts';
import type { Received } from './receiver.ts';

interface Delivery {
  readonly id: string;
  readonly event: string;
  readonly task_id: string;
  readonly task_status: string;
  readonly status: string;
}

const PAGE = 500;
const MOST_EVENTS = 10_000;
const DELIVERIES = 'select id, event, task_id, task_status, status from webhook_deliveries order by seq';

/**
 * Checks that the outbox has every beginning and every end of a task exactly once, and that each was received with its
 * id in the outbox. Returns the problems.
 */
export async function checkDeliveries(
  database: Database,
  received: ReadonlyMap<string, Received>,
): Promise<{ readonly outbox: number; readonly problems: readonly string[] }> {
  const problems: string[] = [];
  const outbox = await database.read((connection) => connection.query<Delivery>(DELIVERIES));
  const ofTasks = new Map<string, string[]>();
  for (const { id, event, task_id: task, task_status: taskStatus, status } of outbox) {
    ofTasks.set(task, [...(ofTasks.get(task) ?? []), event]);
    const got = received.get(id);
    if (status !== 'delivered') problems.push(`the delivery ${id} of ${event} of ${task} is ${status}`);
    else if (!got) problems.push(`the delivery ${id} of ${event} of ${task} was not received`);
    if (got && (got.event !== event || got.task !== task || got.status !== taskStatus))
      problems.push(`the delivery ${id} of ${event} of ${task} said ${JSON.stringify(got)}`);
  }
  const ids = new Set(outbox.map(({ id }) => id));
  for (const [id, { event, task }] of received)
    if (!ids.has(id)) problems.push(`a delivery ${id} of ${event} of ${task} was received, and is not in the outbox`);
  for (let offset = 0, found = PAGE; found === PAGE; offset += PAGE) {
    const tasks = await database.read(async (connection) => {
      const { tasks: repository } = new Repositories(connection);
      const page = await repository.list(null, { limit: PAGE, offset });
      return Promise.all(page.map(async ({ id }) => ({ id, events: await repository.events(id, 0, MOST_EVENTS) })));
    });
    found = tasks.length;
    for (const { id, events } of tasks) {
      const told = events.flatMap(({ event }) =>
        event === 'running' ? ['task.started'] : hasEnded(event as TaskStatus) ? [`task.${event}`] : [],
      );
      const rows = (ofTasks.get(id) ?? []).filter((event) => event !== 'task.expired');
      if (told.toSorted().join() !== rows.toSorted().join())
        problems.push(`the outbox of ${id} has ${rows.join(', ')}; it should have ${told.join(', ')}`);
    }
  }
  return { outbox: outbox.length, problems };
}
