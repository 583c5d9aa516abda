import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { AnyTask } from '../api.ts';
import type { SentEvent } from '../events.ts';
import { number, time } from '../format.ts';
import { ActionButton, Facts, Problem, Section, StateBadge, Table } from '../parts.tsx';
import { linkTo } from '../router.ts';
import { useDashboard, useLoaded, useSeen } from '../state.ts';

/** Most events that are shown. The latest ones count. */
const MOST_EVENTS = 500;
const RECONNECT_MS = 2000;
const ENDED: readonly AnyTask['status'][] = ['completed', 'failed', 'cancelled'];

/** A task with its attempts and its events, as they come. */
export function TaskPage({ id }: { readonly id: string }): JSX.Element {
  const { api } = useDashboard();
  const { value, error, reload } = useLoaded('tasks', id, async () => ({
    task: await api.task(id),
    ...(await api.attempts(id)),
  }));
  return (
    <>
      <p>
        <a href={linkTo('tasks')}>All tasks</a>
      </p>
      <Problem text={error} />
      {value && (
        <>
          <Section
            title={`Task ${id}`}
            actions={
              <>
                <StateBadge state={value.task.status} />
                <TaskActions task={value.task} done={reload} />
              </>
            }
          >
            <Facts facts={factsOf(value.task)} />
          </Section>
          <Section title="Attempts">
            <Table
              label="Attempts"
              rows={value.attempts}
              keyOf={({ attempt }) => String(attempt)}
              empty="No attempt has begun."
              columns={[
                { head: 'Attempt', isNumber: true, cell: ({ attempt }) => attempt },
                { head: 'Outcome', cell: ({ outcome }) => <StateBadge state={outcome ?? 'running'} /> },
                { head: 'Started', cell: ({ started_at: at }) => time(at) },
                { head: 'Ended', cell: ({ ended_at: at }) => time(at) },
                { head: 'Host', cell: ({ host }) => host },
                { head: 'Error', cell: ({ error: reason }) => reason && errorText(reason) },
              ]}
            />
          </Section>
          <Events
            id={id}
            hasEnded={ENDED.includes(value.task.status)}
            attempts={value.attempts.length}
            onEvent={reload}
          />
        </>
      )}
    </>
  );
}

/** The actions that the status of a task allows. */
export function TaskActions({
  task: { id, status },
  done,
}: {
  readonly task: AnyTask;
  /** Called after a change. */
  readonly done: () => void;
}): JSX.Element {
  const { api } = useDashboard();
  if (status === 'failed') return <ActionButton key="retry" label="Retry" run={() => api.retryTask(id)} done={done} />;
  if (status === 'completed' || status === 'cancelled')
    return <ActionButton key="delete" label="Delete" confirm="Delete it?" run={() => api.deleteTask(id)} done={done} />;
  return <ActionButton key="cancel" label="Cancel" confirm="Cancel it?" run={() => api.cancelTask(id)} done={done} />;
}

function factsOf(task: AnyTask): [string, JSX.Element | string][] {
  const { endpoint, user_id: user, progress, priority, error, data, result } = task;
  const contents = (name: string, value: unknown): [string, JSX.Element][] =>
    value === undefined ? [] : [[name, <pre>{JSON.stringify(value, undefined, 2)}</pre>]];
  return [
    ['Endpoint', endpoint],
    ['User', user ?? '–'],
    ['Progress', `${number(progress)} %`],
    ['Priority', String(priority)],
    ['Created', time(task.created_at)],
    ['Ended', time(task.completed_at)],
    ...(error === null ? [] : ([['Error', error]] as [string, string][])),
    ...contents('Input', data),
    ...contents('Result', result),
  ];
}

function errorText(error: Readonly<Record<string, unknown>>): string {
  return [error['error'], error['message']].filter((part) => typeof part === 'string').join(': ');
}

/** The events of a task, the newest first. */
function Events({
  id,
  hasEnded,
  attempts,
  onEvent,
}: {
  readonly id: string;
  readonly hasEnded: boolean;
  /** Tells a task that ended from one that was retried and ended again before the page was loaded anew. */
  readonly attempts: number;
  readonly onEvent: () => void;
}): JSX.Element {
  const { api } = useDashboard();
  const isSeen = useSeen();
  const [events, setEvents] = useState<readonly SentEvent[]>([]);
  useEffect(() => {
    if (!isSeen) return; // a browser has few connections to a server
    const end = new AbortController();
    let last = events.at(-1)?.id ?? '0';
    const follow = async (): Promise<void> => {
      for await (const event of api.taskEvents(id, last, end.signal)) {
        last = event.id;
        setEvents((now) => [...now, event].slice(-MOST_EVENTS));
        if (event.event !== 'chunk' && event.event !== 'progress') onEvent();
      }
    };
    const again = (): void => {
      if (!end.signal.aborted) setTimeout(() => void start(), RECONNECT_MS);
    };
    // The stream ends without an error when the task has ended.
    const start = (): Promise<void> => follow().catch(again);
    void start();
    return () => end.abort();
  }, [id, hasEnded, attempts, isSeen]);
  return (
    <Section title="Events" actions={!hasEnded && <span class="quiet">live</span>}>
      <ol class="log" aria-label="Events, the newest first" tabIndex={0}>
        {events.toReversed().map((event) => (
          <li key={event.id}>
            <b>{event.event.replaceAll('_', ' ')}</b> <span class="quiet">{contentOf(event)}</span>
          </li>
        ))}
      </ol>
    </Section>
  );
}

/** Returns the data of an event for people. */
function contentOf({ event, data }: SentEvent): string {
  if (data === '{}' || data === 'null') return event === 'chunk' ? 'its content is hidden' : '';
  return data;
}
