import type { JSX } from 'preact';
import type { EndpointState, PluginState, RouteWork } from '../api.ts';
import { bytes, number, seconds } from '../format.ts';
import { ActionButton, type Column, Problem, Section, StateBadge, Table } from '../parts.tsx';
import { useDashboard, useLoaded } from '../state.ts';

/** The endpoints with their requests, the plugins with what each may do, and other routes that had requests. */
export function EndpointsPage(): JSX.Element {
  const { api } = useDashboard();
  const { value, error } = useLoaded('endpoints', '', () => api.endpoints());
  return (
    <>
      <Problem text={error} />
      {value && (
        <Section title="Endpoints" actions={<span class="quiet">requests since the start</span>}>
          <Table
            label="Endpoints"
            rows={value.endpoints}
            keyOf={({ name }) => name}
            empty="The application has no endpoints."
            columns={[
              { head: 'Endpoint', cell: (endpoint) => <Endpoint endpoint={endpoint} /> },
              { head: 'From', cell: ({ plugin }) => plugin ?? 'the program' },
              { head: 'Deployments', cell: ({ deployments }) => deployments.join(', ') || '–' },
              ...workColumns<EndpointState>(({ work }) => work),
            ]}
          />
        </Section>
      )}
      <Plugins />
      {value && value.routes.length > 0 && (
        <Section title="Other routes">
          <Table
            label="Other routes"
            rows={value.routes}
            keyOf={({ route }) => route}
            empty=""
            columns={[
              { head: 'Route', cell: ({ route }) => <code>{route}</code> },
              ...workColumns<{ readonly work: RouteWork }>(({ work }) => work),
            ]}
          />
        </Section>
      )}
    </>
  );
}

function Endpoint({ endpoint: { path, summary } }: { readonly endpoint: EndpointState }): JSX.Element {
  return (
    <>
      <code>{path}</code>
      {summary !== '' && <span class="quiet">{summary}</span>}
    </>
  );
}

/** The columns of requests, refusals, failures and times. */
function workColumns<Row>(workOf: (row: Row) => RouteWork | null): Column<Row>[] {
  const column = (head: string, cell: (work: RouteWork) => string | JSX.Element): Column<Row> => ({
    head,
    isNumber: true,
    cell: (row) => {
      const work = workOf(row);
      return work ? cell(work) : '–';
    },
  });
  const time = (value: number | null): string => (value === null ? '–' : seconds(value));
  return [
    column('Requests', ({ requests }) => number(requests)),
    column('Refused', ({ refused }) => number(refused)),
    column('Failed', ({ failed }) => (failed > 0 ? <span class="problem">{number(failed)}</span> : '0')),
    column('Median', ({ latency_p50_s: value }) => time(value)),
    column('95 %', ({ latency_p95_s: value }) => time(value)),
  ];
}

function Plugins(): JSX.Element {
  const { state, api } = useDashboard();
  return (
    <Section
      title="Plugins"
      actions={
        state.plugins.length > 0 && <ActionButton label="Reload all" run={() => reload(() => api.reloadPlugins())} />
      }
    >
      <Table
        label="Plugins"
        rows={state.plugins}
        keyOf={({ name }) => name}
        empty="The application has no plugins."
        columns={[
          { head: 'Plugin', cell: ({ name, version }) => (version === null ? name : `${name} ${version}`) },
          { head: 'State', cell: (plugin) => <PluginBadge plugin={plugin} /> },
          { head: 'May', cell: (plugin) => <Rights plugin={plugin} /> },
          { head: 'Running', isNumber: true, cell: ({ counters }) => counters.running },
          { head: 'Waiting', isNumber: true, cell: ({ counters }) => counters.queued },
          { head: 'Done', isNumber: true, cell: ({ counters }) => number(counters.done) },
          { head: 'Failed', isNumber: true, cell: ({ counters }) => failures(counters.failed) },
          { head: 'Denied calls', isNumber: true, cell: ({ counters }) => number(counters.denied) },
          { head: 'CPU', isNumber: true, cell: ({ counters }) => seconds(counters.cpu_ms / 1000) },
          { head: 'Memory', isNumber: true, cell: memoryOf },
          {
            head: 'Action',
            cell: ({ name }) => <ActionButton label="Reload" run={() => reload(() => api.reloadPlugins(name))} />,
          },
        ]}
      />
    </Section>
  );
}

function PluginBadge({ plugin }: { readonly plugin: PluginState }): JSX.Element {
  const { state, error, draining, missing_confinement: missing, restarts } = plugin;
  return (
    <>
      <StateBadge state={state} />
      {draining > 0 && <span class="quiet"> {draining} older finishing</span>}
      {(restarts ?? 0) > 0 && <span class="problem"> process ended {restarts} times</span>}
      {missing !== null && missing.length > 0 && <p class="message">Not fully confined: {missing.join(', ')}</p>}
      {error !== null && <p class="message">{error}</p>}
    </>
  );
}

const KINDS = ['capabilities', 'deployments', 'hosts'] as const;

/** What a plugin may do, what it asks for in vain, and how its settings are given. */
function Rights({ plugin: { rights, settings } }: { readonly plugin: PluginState }): JSX.Element {
  if (rights === null || settings === null) return <>–</>;
  const lines = KINDS.flatMap((kind) => {
    const denied = rights.asks[kind].filter((name) => !rights.gets[kind].includes(name) && name !== '*');
    return rights.gets[kind].length + denied.length === 0 ? [] : [{ kind, given: rights.gets[kind], denied }];
  });
  if (lines.length + settings.length === 0) return <>nothing beside its answers</>;
  return (
    <ul class="rights">
      {lines.map(({ kind, given, denied }) => (
        <li key={kind}>
          <span class="quiet">{kind}:</span> {given.map((name) => (name === '*' ? 'all' : name)).join(', ') || 'none'}
          {denied.length > 0 && <span class="problem">; not granted: {denied.join(', ')}</span>}
        </li>
      ))}
      {settings.map(({ name, description, required, state, origin, problem }) => (
        <li key={name} title={description}>
          <span class="quiet">setting {name}:</span>{' '}
          <span class={isFine(state, required) ? undefined : 'problem'}>
            {[state, origin, problem].filter((each) => each !== null).join(', ')}
          </span>
        </li>
      ))}
    </ul>
  );
}

const isFine = (state: string, isRequired: boolean): boolean =>
  state === 'set' || state === 'default' || (state === 'missing' && !isRequired);

const failures = (failed: Readonly<Record<string, number>>): JSX.Element => {
  const all = Object.entries(failed);
  const text = all.map(([name, times]) => `${name}: ${times}`).join('\n');
  return <span title={text}>{number(all.reduce((sum, [, times]) => sum + times, 0))}</span>;
};

/** Returns the memory that the process of a plugin has, and its limit. */
function memoryOf({ memory_bytes: used, limits }: PluginState): string {
  const limit = limits?.['total_memory_bytes'];
  return [used === null ? '–' : bytes(used), ...(limit === undefined ? [] : [`limit ${bytes(limit)}`])].join(', ');
}

/** Reloads plugins, and throws if one could not be loaded. */
async function reload(
  request: () => Promise<{ plugins: readonly { outcome: string; detail: string }[] }>,
): Promise<void> {
  const failed = (await request()).plugins.filter(({ outcome }) => outcome === 'failed');
  if (failed.length > 0) throw new Error(failed.map(({ detail }) => detail).join('\n'));
}
