import type { JSX } from 'preact';
import { time } from '../format.ts';
import { ActionButton, Problem, StateBadge, Table } from '../parts.tsx';
import { useDashboard, useLoaded } from '../state.ts';

export function WebhooksPage(): JSX.Element {
  const { api } = useDashboard();
  const { value, error, reload } = useLoaded('webhooks', () => api.webhooks());
  return (
    <>
      <Problem text={error} />
      {value && (
        <Table
          label="Webhooks"
          rows={value.webhooks}
          keyOf={({ id }) => id}
          empty="There are no webhooks."
          columns={[
            { head: 'Address', cell: ({ url }) => url },
            { head: 'Events', cell: ({ events }) => events.join(', ') },
            { head: 'User', cell: ({ user_id: user }) => user ?? '–' },
            {
              head: 'State',
              cell: ({ enabled, disabled_at: at, disabled_reason: reason }) => (
                <>
                  <StateBadge state={enabled ? 'active' : 'disabled'} />
                  {!enabled && (
                    <span class="quiet">
                      {' '}
                      since {time(at)}: {reason}
                    </span>
                  )}
                </>
              ),
            },
            {
              head: 'Action',
              cell: ({ id }) => (
                <ActionButton
                  label="Delete"
                  confirm="Delete it and its waiting deliveries?"
                  run={() => api.deleteWebhook(id)}
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
