import { callControl, type ControlValue, type ListedTask, type TaskAttempt } from '../../../control/index.ts';
import { columnsText } from '../../columns.ts';
import type { ApplicationCommand } from '../application.ts';

export interface TaskSearch {
  readonly user_id?: string | undefined;
  readonly status?: ListedTaskStatus | undefined;
  readonly endpoint?: string | undefined;
  readonly error?: string | undefined;
  readonly page?: number | undefined;
  readonly per_page?: number | undefined;
}

export const TASK_STATUSES = [
  'created',
  'assigned',
  'running',
  'not_finished',
  'completed',
  'failed',
  'cancelled',
] as const;
type ListedTaskStatus = (typeof TASK_STATUSES)[number];

/** The command `tasks`. Prints the newest tasks of all users that match. */
export async function listTasks(
  { runtimeDir, host, port, out }: ApplicationCommand,
  search: TaskSearch,
  asJson: boolean,
): Promise<number> {
  const tasks = await callControl(runtimeDir, 'tasks.list', search, { host, port });
  out.write(asJson ? json(tasks) : tasksText(tasks));
  return 0;
}

/** The command `tasks show`. Prints a task and its attempts. */
export async function showTask(
  { runtimeDir, host, port, out }: ApplicationCommand,
  id: string,
  asJson: boolean,
): Promise<number> {
  const found: ControlValue<'tasks.get'> = await callControl(runtimeDir, 'tasks.get', { id }, { host, port });
  out.write(asJson ? json(found) : taskText(found.task, found.attempts));
  return 0;
}

/** The commands `tasks cancel`, `tasks retry` and `tasks remove`. */
export async function changeTasks(
  { runtimeDir, host, port, out }: ApplicationCommand,
  operation: 'tasks.cancel' | 'tasks.retry' | 'tasks.remove',
  ids: readonly string[],
): Promise<number> {
  for (const id of ids) {
    const { status } = await callControl(runtimeDir, operation, { id }, { host, port });
    out.write(operation === 'tasks.remove' ? `${id} is removed\n` : `${id}: ${status}\n`);
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
