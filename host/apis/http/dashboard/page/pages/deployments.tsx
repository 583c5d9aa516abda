import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { DeploymentState } from '../api.ts';
import { Devices } from '../devices.tsx';
import { bytes, count, number } from '../format.ts';
import { ActionButton, Badge, Problem, Section, StateBadge, Table } from '../parts.tsx';
import { linkTo } from '../router.ts';
import { useDashboard, useLoaded } from '../state.ts';

export function DeploymentsPage(): JSX.Element {
  const { deployments, devices } = useDashboard().state.application;
  if (deployments.length === 0) return <p class="empty">The application has no deployments.</p>;
  return (
    <>
      {devices.length > 0 && (
        <Section title="Devices">
          <Devices devices={devices} deployments={deployments} />
        </Section>
      )}
      {deployments.map((deployment) => (
        <Deployment key={deployment.name} deployment={deployment} />
      ))}
      <Changes deployments={deployments} />
    </>
  );
}

function Deployment({ deployment }: { readonly deployment: DeploymentState }): JSX.Element {
  const { name, status, message, queued, updating, replicas } = deployment;
  return (
    <Section
      title={name}
      actions={
        <>
          <StateBadge state={status} />
          {updating !== null && <Updating step={updating} />}
          <a href={linkTo('logs', { deployment: name })}>Logs</a>
        </>
      }
    >
      {message !== '' && <p class="message">{message}</p>}
      <Table
        label={`Replicas of ${name}`}
        rows={replicas}
        keyOf={(replica) => replica.name}
        empty="It has no replicas."
        columns={[
          {
            head: 'Replica',
            cell: (replica) => (
              <a href={linkTo('logs', { deployment: name, replica: replica.name })} title={`Log of ${replica.name}`}>
                {replica.name}
              </a>
            ),
          },
          { head: 'State', cell: ({ state }) => <StateBadge state={state} /> },
          { head: 'Device', cell: deviceText },
          { head: 'Calls', isNumber: true, cell: ({ ongoing }) => ongoing },
          {
            head: 'Memory',
            isNumber: true,
            cell: ({ memory_bytes: memory }) => (memory === null ? '–' : bytes(memory)),
          },
          { head: 'Restarts', isNumber: true, cell: ({ restarts }) => restarts },
          { head: 'Process', isNumber: true, cell: ({ pid }) => pid ?? '–' },
          { head: 'Message', cell: (replica) => replica.message },
        ]}
      />
      <div class="actions">
        <span class="quiet">{count(queued, 'call')} waiting</span>
        {status !== 'UNLOADED' && <Scale name={name} now={replicas.length} />}
        <Load name={name} status={status} />
      </div>
    </Section>
  );
}

/** The last changes of deployments that operators made, also before this start. */
function Changes({ deployments }: { readonly deployments: readonly DeploymentState[] }): JSX.Element | null {
  const { api } = useDashboard();
  const now = deployments.map(({ name, status, replicas }) => `${name} ${status} ${replicas.length}`).join();
  const { value, error } = useLoaded('configuration', now, () => api.deploymentChanges());
  if (value?.epoch === null) return null; // nothing is kept
  return (
    <Section title="Changes by operators">
      <Problem text={error} />
      {value && (
        <Table
          label="Changes by operators"
          rows={value.changes}
          keyOf={(change) => String(change.number)}
          empty="No operator has changed a deployment."
          columns={[
            { head: 'Time', cell: (change) => new Date(change.changed_at).toLocaleString() },
            { head: 'Start', isNumber: true, cell: (change) => change.epoch },
            { head: 'Deployment', cell: (change) => change.deployment },
            { head: 'What', cell: ({ kind, detail }) => (detail === '' ? kind : `${kind}: ${detail}`) },
            { head: 'By', cell: (change) => change.changed_by },
          ]}
        />
      )}
    </Section>
  );
}

/** Returns the devices of a replica, with its shares of GPUs. */
function deviceText({ device, shares }: DeploymentState['replicas'][number]): string {
  const parts = shares.filter(({ share }) => share > 0 && share < 1);
  return parts.length === 0 ? device : parts.map((one) => `${number(one.share * 100)} % of ${one.device}`).join(', ');
}

/** What each step of an update does, and how far the update is with it. */
const STEPS: Readonly<Record<string, string>> = {
  placing: 'looks for a place',
  'making-room': 'an old replica ends first',
  starting: 'a new replica loads',
  settling: 'a new replica has loaded',
  watching: 'a new replica takes calls',
  retiring: 'old replicas finish their calls',
  restoring: 'the new version failed; the old one returns',
};

function Updating({ step }: { readonly step: string }): JSX.Element {
  return (
    <span role="status">
      <Badge tone={step === 'restoring' ? 'bad' : 'busy'}>updating</Badge>{' '}
      <span class="quiet">{STEPS[step] ?? step}</span>
    </span>
  );
}

function Load({ name, status }: { readonly name: string; readonly status: string }): JSX.Element {
  const { api } = useDashboard();
  if (status === 'UNLOADED' || status === 'DEPLOY_FAILED')
    return <ActionButton key="load" label="Load" run={() => api.loadDeployment(name)} />;
  return (
    <ActionButton
      key="unload"
      label="Unload"
      confirm="Unload it? Its requests will be refused."
      run={() => api.unloadDeployment(name)}
    />
  );
}

function Scale({ name, now }: { readonly name: string; readonly now: number }): JSX.Element {
  const { api } = useDashboard();
  const [wanted, setWanted] = useState<number>();
  const scale = async (): Promise<void> => {
    await api.scale(name, wanted ?? now);
    // The person may have entered another number meanwhile.
    setWanted((newer) => (newer === wanted ? undefined : newer));
  };
  return (
    <>
      <label>
        Replicas{' '}
        <input
          type="number"
          min={0}
          max={1000}
          value={wanted ?? now}
          onInput={({ currentTarget }) => setWanted(currentTarget.valueAsNumber)}
        />
      </label>
      <ActionButton label="Scale" run={scale} confirm={wanted === 0 ? 'Stop all replicas?' : undefined} />
    </>
  );
}
