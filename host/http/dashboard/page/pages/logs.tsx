import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { LogRecord } from '../api.ts';
import { time } from '../format.ts';
import { Problem } from '../parts.tsx';
import { linkTo, usePlace } from '../router.ts';
import { useDashboard, useLoaded } from '../state.ts';

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;
const LINES = 500;

export function LogsPage(): JSX.Element {
  const { api, state } = useDashboard();
  const deployment = usePlace().query.get('deployment') ?? '';
  const [level, setLevel] = useState<LogRecord['level']>('debug');
  const { value, error } = useLoaded('logs', deployment, () => api.logs({ lines: LINES, deployment }));
  const shown = (value?.records ?? []).filter((record) => LEVELS.indexOf(record.level) >= LEVELS.indexOf(level));
  return (
    <>
      <div class="actions">
        <label>
          Deployment{' '}
          <select
            value={deployment}
            onChange={({ currentTarget: { value: chosen } }) => {
              location.hash = linkTo('logs', chosen === '' ? {} : { deployment: chosen });
            }}
          >
            <option value="">all lines</option>
            {state.application.deployments.map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <label>
          Level{' '}
          <select value={level} onChange={({ currentTarget }) => setLevel(currentTarget.value as LogRecord['level'])}>
            {LEVELS.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      </div>
      <Problem text={error} />
      <ol class="log" aria-label="Log lines, the newest first" tabIndex={0}>
        {shown.toReversed().map((record, line) => (
          <li key={`${record.time} ${shown.length - line}`} class={record.level}>
            <time dateTime={record.time}>{time(record.time)}</time> <b>{record.level}</b> {record.message}{' '}
            <span class="quiet">{fieldsText(record.fields)}</span>
          </li>
        ))}
      </ol>
    </>
  );
}

function fieldsText(fields: LogRecord['fields']): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ');
}
