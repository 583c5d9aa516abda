import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { LogRecord } from '../api.ts';
import { time } from '../format.ts';
import { Choice, Problem } from '../parts.tsx';
import { linkTo, useRoute } from '../router.ts';
import { useDashboard, useLoaded } from '../state.ts';

const LEVELS = ['debug', 'info', 'warn', 'error'];
const LINES = 500;
/** The areas that log lines have; see `core/log/log-levels.ts`. */
const AREAS = [
  ...['application', 'http', 'access', 'deployments', 'plugins', 'models'],
  ...['media', 'storage', 'tasks', 'webhooks', 'openai', 'telemetry'],
];
const FILTERS = ['deployment', 'replica', 'area', 'worker', 'level'] as const;
type Filter = Readonly<Record<(typeof FILTERS)[number], string>>;

export function LogsPage(): JSX.Element {
  const { api, state } = useDashboard();
  const { query } = useRoute();
  const filter = Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? ''])) as Filter;
  const [follows, setFollows] = useState(true);
  const { value, error } = useLoaded('logs', JSON.stringify(filter), () => api.logs({ lines: LINES, ...filter }));
  const held = useRef<readonly LogRecord[] | undefined>(undefined);
  if (follows || held.current === undefined) held.current = value?.records;
  const shown = follows ? value?.records : held.current;
  const { deployments, workers } = state.application;
  const replicas = deployments
    .filter(({ name }) => filter.deployment === '' || name === filter.deployment)
    .flatMap((deployment) => deployment.replicas.map(({ name }) => name));
  const choose = (change: Partial<Filter>): void => {
    held.current = undefined;
    const wanted = Object.entries({ ...filter, ...change }).filter(([, word]) => word !== '');
    location.hash = linkTo('logs', Object.fromEntries(wanted));
  };
  return (
    <>
      <div class="actions">
        <Choice
          label="Deployment"
          value={filter.deployment}
          words={deployments.map(({ name }) => name)}
          onChange={(deployment) => choose({ deployment, replica: '' })}
        />
        <Choice
          label="Replica"
          value={filter.replica}
          words={filter.replica === '' || replicas.includes(filter.replica) ? replicas : [filter.replica, ...replicas]}
          onChange={(replica) => choose({ replica })}
        />
        <Choice label="Area" value={filter.area} words={AREAS} onChange={(area) => choose({ area })} />
        {(workers.length > 0 || filter.worker !== '') && (
          <Choice
            label="Worker"
            value={filter.worker}
            words={['0', ...workers.map(({ worker }) => String(worker))]}
            onChange={(worker) => choose({ worker })}
          />
        )}
        <Choice
          label="Level"
          value={filter.level}
          words={LEVELS.slice(1)}
          all="debug"
          onChange={(level) => choose({ level })}
        />
        <label>
          <input
            type="checkbox"
            checked={follows}
            onChange={({ currentTarget }) => setFollows(currentTarget.checked)}
          />{' '}
          Follow
        </label>
      </div>
      <Levels />
      <Problem text={error} />
      {shown?.length === 0 ? (
        <p class="empty">There are no such lines.</p>
      ) : (
        <ol class="log" aria-label="Log lines, the newest first" tabIndex={0}>
          {shown?.toReversed().map((record, line) => (
            <li key={`${record.time} ${shown.length - line}`} class={record.level}>
              <time dateTime={record.time}>{time(record.time)}</time> <b>{record.level}</b> {record.message}{' '}
              <span class="quiet">{fieldsText(record.fields)}</span>
            </li>
          ))}
        </ol>
      )}
    </>
  );
}

/** The lowest levels of lines that are written, for all areas and for each. A change lasts until the next start. */
function Levels(): JSX.Element {
  const { api } = useDashboard();
  const { value, error, reload } = useLoaded('logs', 'levels', () => api.logLevels());
  const [problem, setProblem] = useState<string>();
  const change = async (levels: Parameters<typeof api.setLogLevels>[0]): Promise<void> => {
    try {
      await api.setLogLevels(levels);
      setProblem(undefined);
    } catch (failure) {
      setProblem((failure as Error).message);
    }
    reload();
  };
  return (
    <details class="levels">
      <summary>Levels that are written{value && `: ${levelsText(value)}`}</summary>
      <p class="quiet">A change lasts until the next start.</p>
      <Problem text={error ?? problem} />
      {value && (
        <div class="actions">
          <label>
            All{' '}
            <select value={value.level} onChange={({ currentTarget: { value: level } }) => void change({ level })}>
              {LEVELS.map((level) => (
                <option key={level}>{level}</option>
              ))}
            </select>
          </label>
          {AREAS.map((area) => (
            <Choice
              key={area}
              label={area}
              value={(value.levels as Readonly<Record<string, string>>)[area] ?? ''}
              words={LEVELS}
              all="as all"
              onChange={(level) => void change({ levels: { [area]: level === '' ? null : level } })}
            />
          ))}
        </div>
      )}
    </details>
  );
}

function levelsText({ level, levels }: { readonly level: string; readonly levels: object }): string {
  return [level, ...Object.entries(levels).map(([area, own]) => `${area} ${own}`)].join(', ');
}

function fieldsText(fields: LogRecord['fields']): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ');
}
