import type { JSX } from 'preact';
import { time } from '../format.ts';
import { ActionButton, Badge, Problem, Table } from '../parts.tsx';
import { useDashboard, useLoaded } from '../state.ts';

export function KeysPage(): JSX.Element {
  const { api } = useDashboard();
  const { value, error, reload } = useLoaded('keys', '', () => api.keys());
  return (
    <>
      <Problem text={error} />
      {value && (
        <Table
          label="API keys"
          rows={value.keys}
          keyOf={({ key_id: id }) => id}
          empty="There are no API keys. `aana-host keys create` makes one."
          columns={[
            { head: 'Key', cell: ({ key_id: id }) => <code>{id}</code> },
            { head: 'User', cell: ({ user_id: user }) => user },
            { head: 'Rights', cell: (key) => (key.is_admin ? <Badge tone="busy">admin</Badge> : 'user') },
            { head: 'Scopes', cell: ({ scopes }) => scopes?.join(', ') ?? 'all' },
            { head: 'Used', cell: ({ last_used_at: at }) => time(at) },
            { head: 'Expires', cell: ({ expired_at: at }) => time(at) },
            {
              head: 'Action',
              cell: ({ key_id: id }) => (
                <ActionButton
                  label="Revoke"
                  confirm="Revoke it for ever?"
                  run={() => api.revokeKey(id)}
                  done={reload}
                />
              ),
            },
          ]}
        />
      )}
    </>
  );
}
