import type { JSX } from 'preact';
import type { PluginState } from '../api.ts';
import { bytes, number, seconds } from '../format.ts';
import { ActionButton, Section, StateBadge, Table } from '../parts.tsx';
import { useDashboard } from '../state.ts';

/** The plugins and their endpoints. */
export function EndpointsPage(): JSX.Element {
  const { state, api } = useDashboard();
  return (
    <Section
      title="Plugins"
      actions={<ActionButton label="Reload all" run={() => reload(() => api.reloadPlugins())} />}
    >
      <Table
        label="Plugins"
        rows={state.plugins}
        keyOf={({ name }) => name}
        empty="The application has no plugins."
        columns={[
          { head: 'Plugin', cell: ({ name, version }) => (version === null ? name : `${name} ${version}`) },
          { head: 'State', cell: (plugin) => <PluginBadge plugin={plugin} /> },
          { head: 'Endpoints', cell: ({ endpoints }) => endpoints.map((path) => <code key={path}>{path}</code>) },
          { head: 'Running', isNumber: true, cell: ({ counters }) => counters.running },
          { head: 'Waiting', isNumber: true, cell: ({ counters }) => counters.queued },
          { head: 'Done', isNumber: true, cell: ({ counters }) => number(counters.done) },
          { head: 'Failed', isNumber: true, cell: ({ counters }) => failures(counters.failed) },
          { head: 'CPU', isNumber: true, cell: ({ counters }) => seconds(counters.cpu_ms / 1000) },
          { head: 'Memory limit', isNumber: true, cell: ({ limits }) => memoryOf(limits) },
          {
            head: 'Action',
            cell: ({ name }) => <ActionButton label="Reload" run={() => reload(() => api.reloadPlugins(name))} />,
          },
        ]}
      />
    </Section>
  );
}

function PluginBadge({ plugin: { state, error, draining } }: { readonly plugin: PluginState }): JSX.Element {
  return (
    <>
      <StateBadge state={state} />
      {draining > 0 && <span class="quiet"> {draining} older finishing</span>}
      {error !== null && <p class="message">{error}</p>}
    </>
  );
}

const failures = (failed: Readonly<Record<string, number>>): JSX.Element => {
  const all = Object.entries(failed);
  const text = all.map(([name, times]) => `${name}: ${times}`).join('\n');
  return <span title={text}>{number(all.reduce((sum, [, times]) => sum + times, 0))}</span>;
};

const memoryOf = (limits: PluginState['limits']): string => {
  const limit = limits?.['memory_bytes'];
  return limit === undefined ? '–' : bytes(limit);
};

/** Reloads plugins, and throws if one could not be loaded. */
async function reload(
  request: () => Promise<{ plugins: readonly { outcome: string; detail: string }[] }>,
): Promise<void> {
  const failed = (await request()).plugins.filter(({ outcome }) => outcome === 'failed');
  if (failed.length > 0) throw new Error(failed.map(({ detail }) => detail).join('\n'));
}
