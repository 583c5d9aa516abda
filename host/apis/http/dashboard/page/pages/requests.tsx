import type { JSX } from 'preact';
import type { Trace } from '../api.ts';
import { seconds, time } from '../format.ts';
import { Problem, Section, StateBadge, Table } from '../parts.tsx';
import { linkTo, useRoute } from '../router.ts';
import { useDashboard, useLoaded } from '../state.ts';
import { Waterfall } from '../waterfall.tsx';

/** The last failed and slow requests and attempts at tasks, and what happened in one of them. */
export function RequestsPage(): JSX.Element {
  const id = useRoute().query.get('trace');
  return id === null ? <Requests /> : <Request id={id} />;
}

function Requests(): JSX.Element {
  const { api } = useDashboard();
  const { value, error } = useLoaded('requests', '', () => api.traces());
  return (
    <>
      <Problem text={error} />
      {value && (
        <Table
          label="Failed and slow requests"
          rows={value.traces}
          keyOf={({ trace_id: id, started_at: at, name }) => `${id} ${at} ${name}`}
          empty="No request has failed or was slow."
          columns={[
            {
              head: 'Request',
              cell: ({ trace_id: id, name }) => <a href={linkTo('requests', { trace: id })}>{name}</a>,
            },
            { head: 'Outcome', cell: (trace) => <Outcome trace={trace} /> },
            { head: 'Time', isNumber: true, cell: ({ duration_ms: ms }) => seconds(ms / 1000) },
            { head: 'Started', cell: ({ started_at: at }) => time(at) },
            { head: 'Trace', cell: ({ trace_id: id }) => <code>{id}</code> },
          ]}
        />
      )}
    </>
  );
}

function Request({ id }: { readonly id: string }): JSX.Element {
  const { api } = useDashboard();
  const { value, error } = useLoaded('requests', id, () => api.trace(id));
  return (
    <>
      <p>
        <a href={linkTo('requests')}>All requests</a>
      </p>
      <Problem text={error} />
      {value?.traces.map((trace) => (
        <Section
          key={`${trace.name} ${trace.started_at}`}
          title={trace.name}
          actions={
            <>
              <Outcome trace={trace} />
              <span class="quiet">{time(trace.started_at)}</span>
            </>
          }
        >
          <Waterfall trace={trace} />
        </Section>
      ))}
    </>
  );
}

function Outcome({ trace: { error_type: error } }: { readonly trace: Pick<Trace, 'error_type'> }): JSX.Element {
  return error === null ? (
    <StateBadge state="slow" />
  ) : (
    <>
      <StateBadge state="failed" /> {error}
    </>
  );
}
