import { askOperator, OperatorClient } from '../../../apis/control/index.ts';
import type { OperatorAnswer, OperatorRequest } from '../../../apis/http/index.ts';
import { columnsText } from '../../columns.ts';
import type { ApplicationCommand } from '../application.ts';

export type TaskSearch = NonNullable<OperatorRequest<'get /api/tasks'>['query']>;
type ListedTask = OperatorAnswer<'get /api/tasks'>['tasks'][number];
type TaskAttempt = OperatorAnswer<'get /api/tasks/{task_id}/attempts'>['attempts'][number];

/** The command `tasks`. Prints the newest tasks of all users that match. */
export async function listTasks(
  { out, ...at }: ApplicationCommand,
  search: TaskSearch,
  asJson: boolean,
): Promise<number> {
  const { tasks } = await askOperator(at, 'get /api/tasks', { query: search });
  out.write(asJson ? json(tasks) : tasksText(tasks));
  return 0;
}

/** The command `tasks show`. Prints a task and its attempts. */
export async function showTask({ out, ...at }: ApplicationCommand, id: string, asJson: boolean): Promise<number> {
  const operator = await OperatorClient.open(at);
  const given = { params: { task_id: id } };
  const task = await operator.ask('get /api/tasks/{task_id}', given);
  const { attempts } = await operator.ask('get /api/tasks/{task_id}/attempts', given);
  out.write(asJson ? json({ task, attempts }) : taskText(task, attempts));
  return 0;
}

const CHANGES = {
  cancel: 'post /api/tasks/{task_id}/cancel',
  retry: 'post /api/tasks/{task_id}/retry',
  remove: 'delete /api/tasks/{task_id}',
} as const;

/** The commands `tasks cancel`, `tasks retry` and `tasks remove`. */
export async function changeTasks(
  { out, ...at }: ApplicationCommand,
  change: keyof typeof CHANGES,
  ids: readonly string[],
): Promise<number> {
  for (const id of ids) {
    const { status } = await askOperator(at, CHANGES[change], { params: { task_id: id } });
    out.write(change === 'remove' ? `${id} is removed\n` : `${id}: ${status}\n`);
  }
  return 0;
}

function tasksText(tasks: readonly ListedTask[]): string {
  if (tasks.length === 0) return 'there are no such tasks\n';
  return columnsText([
    ['TASK', 'STATUS', 'ENDPOINT', 'USER', 'CREATED', 'ERROR'],
    ...tasks.map(({ id, status, endpoint, user_id: user, created_at: created, error }) => {
      return [id, status, endpoint, user ?? '-', created, error ?? ''];
    }),
  ]);
}

function taskText(task: ListedTask, attempts: readonly TaskAttempt[]): string {
  const facts = [
    ['status', task.error === null ? task.status : `${task.status}: ${task.error}`],
    ['endpoint', task.endpoint],
    ['user', task.user_id ?? '-'],
    ['progress', `${task.progress} %`],
    ['created', task.created_at],
    ['ended', task.completed_at ?? '-'],
  ];
  const head = `${task.id}\n${facts.map(([name = '', value = '']) => `  ${name.padEnd(9)} ${value}\n`).join('')}`;
  if (attempts.length === 0) return `${head}  no attempt has begun\n`;
  return `${head}\n${columnsText([
    ['ATTEMPT', 'OUTCOME', 'STARTED', 'ENDED', 'HOST', 'ERROR'],
    ...attempts.map(({ attempt, outcome, started_at: started, ended_at: ended, host, error }) => {
      return [String(attempt), outcome ?? 'runs', started, ended ?? '-', host, String(error?.['error'] ?? '')];
    }),
  ])}`;
}

function json(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
