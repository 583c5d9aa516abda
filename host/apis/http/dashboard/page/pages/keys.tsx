import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ApiKey, ConfigValue } from '../api.ts';
import { time } from '../format.ts';
import { type KeyDialogState, KeyDialog } from '../key-dialog.tsx';
import { ActionButton, Badge, Problem, Section, Table } from '../parts.tsx';
import { linkTo } from '../router.ts';
import { useDashboard, useLoaded } from '../state.ts';

/** The keys of the configuration that limit users. */
const LIMITS = /^(rate_limits|api_service\.(user_weights|maximum_)|task_queue\.(maximum_|users|reserved_workers))/;

export function KeysPage(): JSX.Element {
  const { api } = useDashboard();
  const { value, error, reload } = useLoaded('keys', '', () => api.keys());
  const [dialog, setDialog] = useState<KeyDialogState>();
  return (
    <>
      <div class="actions">
        <button type="button" onClick={() => setDialog({ kind: 'create' })}>
          Create a key
        </button>
      </div>
      {dialog && <KeyDialog state={dialog} close={() => setDialog(undefined)} changed={reload} />}
      <Problem text={error} />
      {value && (
        <Table
          label="API keys"
          rows={value.keys}
          keyOf={({ key_id: id }) => id}
          empty="There are no API keys."
          columns={[
            { head: 'Key', cell: ({ key_id: id }) => <code>{id}</code> },
            { head: 'User', cell: ({ user_id: user }) => user },
            { head: 'Rights', cell: (key) => <Rights apiKey={key} /> },
            { head: 'Scopes', cell: ({ scopes }) => scopes?.join(', ') ?? 'all' },
            { head: 'Created', cell: ({ created_at: at }) => time(at) },
            { head: 'Used', cell: ({ last_used_at: at }) => time(at) },
            { head: 'Expires', cell: ({ expired_at: at }) => time(at) },
            {
              head: 'Action',
              cell: (key) => (
                <div class="buttons">
                  <button type="button" onClick={() => setDialog({ kind: 'change', key })}>
                    Change
                  </button>
                  <ActionButton
                    label="Revoke"
                    confirm="Revoke it for ever?"
                    run={() => api.revokeKey(key.key_id)}
                    done={reload}
                  />
                </div>
              ),
            },
          ]}
        />
      )}
      <Limits />
    </>
  );
}

function Rights({ apiKey: key }: { readonly apiKey: ApiKey }): JSX.Element {
  return (
    <>
      {key.is_admin ? <Badge tone="busy">admin</Badge> : 'user'}
      {!key.is_subscription_active && <span class="quiet"> subscription {key.subscription_id} is off</span>}
    </>
  );
}

/** The limits of users, as the configuration has them. */
function Limits(): JSX.Element {
  const { api } = useDashboard();
  const { value, error } = useLoaded('configuration', 'limits', () => api.configuration());
  const limits = value?.values.filter(({ key }) => LIMITS.test(key)) ?? [];
  return (
    <Section title="Limits" actions={<a href={linkTo('configuration')}>Configuration</a>}>
      <Problem text={error} />
      {value && (
        <Table
          label="Limits"
          rows={limits}
          keyOf={({ key }) => key}
          empty="There are no limits."
          columns={[
            { head: 'Limit', cell: ({ key }) => <code>{key}</code> },
            { head: 'Value', cell: limitText },
            { head: 'From', cell: ({ origin }) => origin },
          ]}
        />
      )}
    </Section>
  );
}

/** Returns a limit for people. */
function limitText({ value }: ConfigValue): string {
  if (value === null || (typeof value === 'object' && Object.keys(value).length === 0)) return 'none';
  if (typeof value !== 'object') return String(value);
  const { capacity, interval_seconds: seconds } = value as Readonly<Record<string, unknown>>;
  if (typeof capacity === 'number' && typeof seconds === 'number') return `${capacity} requests in ${seconds} s`;
  return JSON.stringify(value);
}
