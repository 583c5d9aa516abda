import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { TaskFilter } from '../api.ts';
import { number, time } from '../format.ts';
import { Choice, Pager, Problem, StateBadge, Table } from '../parts.tsx';
import { linkTo, useRoute } from '../router.ts';
import { useDashboard, useLoaded } from '../state.ts';
import { TaskActions, TaskPage } from './task.tsx';

const STATUSES = ['created', 'assigned', 'running', 'not_finished', 'completed', 'failed', 'cancelled'];
const PER_PAGE = 50;
const TASK_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The tasks of all users, and what happened with one of them. */
export function TasksPage(): JSX.Element {
  const id = useRoute().query.get('task');
  return id === null ? <Tasks /> : <TaskPage key={id} id={id} />;
}

function Tasks(): JSX.Element {
  const { api } = useDashboard();
  const { query } = useRoute();
  const of = (name: string): string | undefined => query.get(name) ?? undefined;
  const page = Math.max(1, Number(query.get('page')) || 1);
  const filter = { status: of('status'), endpoint: of('endpoint'), user_id: of('user_id'), error: of('error') };
  const { value, error, reload } = useLoaded('tasks', JSON.stringify([filter, page]), async () => ({
    ...(await api.tasks({ ...filter, page, per_page: PER_PAGE })),
    counts: await api.countTasks(),
  }));
  return (
    <>
      <Search key={JSON.stringify(filter)} filter={filter} />
      {value && <p class="quiet">{countsText(value.counts)}</p>}
      <Problem text={error} />
      {value && (
        <Table
          label="Tasks"
          rows={value.tasks}
          keyOf={({ id }) => id}
          empty="There are no such tasks."
          columns={[
            {
              head: 'Task',
              cell: ({ id }) => (
                <a class="id" href={linkTo('tasks', { task: id })}>
                  {id}
                </a>
              ),
            },
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
      <Pager page={page} hasMore={value?.tasks.length === PER_PAGE} go={(to) => goTo(filter, to)} />
    </>
  );
}

type Wanted = Omit<TaskFilter, 'page' | 'per_page'>;

/** Shows the tasks that match, in the address, so that it can be kept and sent. */
function goTo(filter: Wanted, page = 1): void {
  const given = Object.entries(filter).filter(([, value]) => value !== undefined && value !== '');
  location.hash = linkTo('tasks', { ...Object.fromEntries(given), ...(page > 1 && { page: String(page) }) });
}

/** Searches for tasks. The id of a task opens it. */
function Search({ filter }: { readonly filter: Wanted }): JSX.Element {
  const [text, setText] = useState({ endpoint: filter.endpoint ?? '', user_id: filter.user_id ?? '', id: '' });
  const field = (name: keyof typeof text, label: string, placeholder: string): JSX.Element => (
    <label>
      {label}{' '}
      <input
        type="search"
        value={text[name]}
        placeholder={placeholder}
        onInput={({ currentTarget }) => setText({ ...text, [name]: currentTarget.value.trim() })}
      />
    </label>
  );
  return (
    <form
      class="actions search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        const { id, ...rest } = text;
        if (TASK_ID.test(id)) location.hash = linkTo('tasks', { task: id.toLowerCase() });
        else goTo({ ...filter, ...rest });
      }}
    >
      <Choice
        label="Status"
        value={filter.status ?? ''}
        words={STATUSES}
        onChange={(status) => goTo({ ...filter, status })}
      />
      {field('endpoint', 'Endpoint', '/path')}
      {field('user_id', 'User', 'id')}
      {field('id', 'Task', 'whole id')}
      <button type="submit">Search</button>
    </form>
  );
}

function countsText(counts: object): string {
  return Object.entries(counts)
    .map(([name, value]) => `${name.replaceAll('_', ' ')} ${number(Number(value))}`)
    .join(', ');
}
