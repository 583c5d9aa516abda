import type { JSX } from 'preact';
import type { AnyTask } from '../api.ts';
import { number, time } from '../format.ts';
import { ActionButton, Problem, StateBadge, Table } from '../parts.tsx';
import { linkTo, usePlace } from '../router.ts';
import { useDashboard, useLoaded } from '../state.ts';

const STATUSES = ['created', 'assigned', 'running', 'not_finished', 'completed', 'failed', 'cancelled'];
const PER_PAGE = 50;

export function TasksPage(): JSX.Element {
  const { api } = useDashboard();
  const { query } = usePlace();
  const status = query.get('status') ?? '';
  const page = Math.max(1, Number(query.get('page')) || 1);
  const filter = { status, page, per_page: PER_PAGE };
  const { value, error, reload } = useLoaded(JSON.stringify(filter), async () => ({
    ...(await api.tasks(filter)),
    counts: await api.countTasks(),
  }));
  const go = (to: { readonly status: string; readonly page: number }): void => {
    location.hash = linkTo('tasks', { ...(to.status !== '' && { status: to.status }), page: String(to.page) });
  };
  return (
    <>
      <div class="actions">
        <label>
          Status{' '}
          <select value={status} onChange={({ currentTarget }) => go({ status: currentTarget.value, page: 1 })}>
            <option value="">all</option>
            {STATUSES.map((name) => (
              <option key={name} value={name}>
                {name.replaceAll('_', ' ')}
              </option>
            ))}
          </select>
        </label>
        {value && <span class="quiet">{countsText(value.counts)}</span>}
      </div>
      <Problem text={error} />
      {value && (
        <Table
          label="Tasks"
          rows={value.tasks}
          keyOf={({ id }) => id}
          empty="There are no such tasks."
          columns={[
            { head: 'Task', cell: ({ id }) => <code>{id}</code> },
            { head: 'Endpoint', cell: ({ endpoint }) => endpoint },
            { head: 'Status', cell: (task) => <StateBadge state={task.status} /> },
            { head: 'Progress', isNumber: true, cell: ({ progress }) => `${number(progress)} %` },
            { head: 'Attempts', isNumber: true, cell: ({ num_retries: attempts }) => attempts },
            { head: 'User', cell: ({ user_id: user }) => user ?? '–' },
            { head: 'Created', cell: ({ created_at: at }) => time(at) },
            { head: 'Ended', cell: ({ completed_at: at }) => time(at) },
            { head: 'Error', cell: ({ error: name }) => name ?? '' },
            { head: 'Action', cell: (task) => <TaskActions task={task} done={reload} /> },
          ]}
        />
      )}
      <div class="actions">
        <button type="button" disabled={page === 1} onClick={() => go({ status, page: page - 1 })}>
          Newer
        </button>
        <span class="quiet">page {page}</span>
        <button
          type="button"
          disabled={(value?.tasks.length ?? 0) < PER_PAGE}
          onClick={() => go({ status, page: page + 1 })}
        >
          Older
        </button>
      </div>
    </>
  );
}

function TaskActions({ task, done }: { readonly task: AnyTask; readonly done: () => void }): JSX.Element {
  const { api } = useDashboard();
  if (task.status === 'completed')
    return <ActionButton label="Delete" confirm="Delete it?" run={() => api.deleteTask(task.id)} done={done} />;
  if (task.status === 'failed' || task.status === 'cancelled')
    return <ActionButton label="Retry" run={() => api.retryTask(task.id)} done={done} />;
  return <ActionButton label="Cancel" confirm="Cancel it?" run={() => api.cancelTask(task.id)} done={done} />;
}

function countsText(counts: object): string {
  return Object.entries(counts)
    .map(([name, value]) => `${name.replaceAll('_', ' ')} ${number(Number(value))}`)
    .join(', ');
}
