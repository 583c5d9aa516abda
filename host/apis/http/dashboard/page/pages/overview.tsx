import type { JSX } from 'preact';
import type { Alert, ApplicationState } from '../api.ts';
import { Chart } from '../chart.tsx';
import { bytes, count, number, seconds } from '../format.ts';
import { Section, StateBadge, Table } from '../parts.tsx';
import { linkTo } from '../router.ts';
import { useDashboard } from '../state.ts';

export function OverviewPage(): JSX.Element {
  const { state, samples } = useDashboard();
  const { deployments } = state.application;
  const newest = samples.at(-1);
  return (
    <>
      <Alerts state={state} />
      {state.load === null ? (
        <p class="empty">Metrics are off (telemetry.metrics), so there are no charts.</p>
      ) : (
        <div class="charts">
          <Chart
            title="Requests per second"
            samples={samples}
            format={number}
            max={1}
            series={[
              { label: 'all', color: 1, value: (sample) => sample.requests_per_s },
              { label: 'failed', color: 3, value: (sample) => sample.failed_per_s },
            ]}
          />
          <Chart
            title="Time of requests"
            samples={samples}
            format={seconds}
            max={0.01}
            series={[
              { label: 'median', color: 1, value: (sample) => sample.latency_p50_s },
              { label: '95 %', color: 2, value: (sample) => sample.latency_p95_s },
            ]}
          />
          <Chart
            title="Tokens per second"
            samples={samples}
            format={number}
            max={1}
            series={[{ label: 'written', color: 1, value: (sample) => sample.tokens_per_s }]}
          />
          <Chart
            title={`Busy cores, of ${newest?.cores ?? 0}`}
            samples={samples}
            format={number}
            max={newest?.cores ?? 1}
            series={[{ label: 'now', color: 1, value: (sample) => sample.busy_cores }]}
          />
          <Chart
            title={`Memory, of ${bytes(newest?.memory_limit_bytes ?? 0)}`}
            samples={samples}
            format={bytes}
            max={newest?.memory_limit_bytes ?? 1}
            series={[{ label: 'used', color: 1, value: (sample) => sample.memory_used_bytes }]}
          />
        </div>
      )}
      <Section title="Deployments">
        <Table
          label="Deployments"
          rows={deployments}
          keyOf={({ name }) => name}
          empty="The application has no deployments."
          columns={[
            { head: 'Name', cell: ({ name }) => <a href={linkTo('deployments')}>{name}</a> },
            { head: 'State', cell: ({ status }) => <StateBadge state={status} /> },
            { head: 'Replicas', isNumber: true, cell: ({ replicas }) => replicas.length },
            {
              head: 'Running calls',
              isNumber: true,
              cell: ({ replicas }) => replicas.reduce((sum, { ongoing }) => sum + ongoing, 0),
            },
            { head: 'Waiting calls', isNumber: true, cell: ({ queued }) => queued },
          ]}
        />
      </Section>
      <p class="quiet">
        {count(state.plugins.length, 'plugin')}, process {state.application.pid}
      </p>
    </>
  );
}

/** The pages that have more about the subjects of alerts. */
const PAGES: Readonly<Partial<Record<Alert['kind'], string>>> = {
  deployment_down: 'deployments',
  deployment_degraded: 'deployments',
  queue: 'deployments',
  plugin_failed: 'endpoints',
  error_rate: 'requests',
  webhook_disabled: 'webhooks',
};

/** Lists the alerts that fire. */
function Alerts({ state: { alerts } }: { readonly state: ApplicationState }): JSX.Element | null {
  if (alerts.length === 0) return null;
  return (
    <ul class="problems" aria-label="Alerts">
      {alerts.map(({ id, kind, severity, subject, message, fired_at: firedAt }) => (
        <li key={id}>
          <strong>{severity}</strong> <a href={linkTo(PAGES[kind] ?? 'logs')}>{subject}</a> {message}{' '}
          <time class="quiet" dateTime={firedAt ?? ''}>
            since {new Date(firedAt ?? '').toLocaleTimeString()}
          </time>
        </li>
      ))}
    </ul>
  );
}
