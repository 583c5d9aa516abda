import type { JSX } from 'preact';
import type { AnyWebhook, Delivery } from '../api.ts';
import { time } from '../format.ts';
import { ActionButton, Choice, Pager, Problem, Section, StateBadge, Table } from '../parts.tsx';
import { linkTo, useRoute } from '../router.ts';
import { useDashboard, useLoaded } from '../state.ts';

const PER_PAGE = 50;
const STATUSES = ['pending', 'delivered', 'failed'];

/** The webhooks of all users, and the deliveries of one of them. */
export function WebhooksPage(): JSX.Element {
  const id = useRoute().query.get('webhook');
  return id === null ? <Webhooks /> : <Deliveries key={id} id={id} />;
}

function Webhooks(): JSX.Element {
  const { api } = useDashboard();
  const { value, error, reload } = useLoaded('webhooks', '', () => api.webhooks());
  return (
    <>
      <Problem text={error} />
      {value && (
        <Table
          label="Webhooks"
          rows={value.webhooks}
          keyOf={({ id }) => id}
          empty="There are no webhooks. Users make them with POST /webhooks."
          columns={[
            { head: 'Address', cell: ({ id, url }) => <a href={linkTo('webhooks', { webhook: id })}>{url}</a> },
            { head: 'Events', cell: ({ events }) => events.join(', ') || 'all' },
            { head: 'User', cell: ({ user_id: user }) => user ?? '–' },
            { head: 'State', cell: (webhook) => <WebhookState webhook={webhook} /> },
            { head: 'Action', cell: (webhook) => <Actions webhook={webhook} done={reload} /> },
          ]}
        />
      )}
    </>
  );
}

function WebhookState({
  webhook: { enabled, disabled_at: at, disabled_reason: reason },
}: {
  readonly webhook: AnyWebhook;
}): JSX.Element {
  return (
    <>
      <StateBadge state={enabled ? 'enabled' : 'disabled'} />
      {!enabled && (
        <span class="quiet">
          {' '}
          since {time(at)}: {reason}
        </span>
      )}
    </>
  );
}

function Actions({
  webhook: { id, enabled },
  done,
}: {
  readonly webhook: AnyWebhook;
  readonly done: () => void;
}): JSX.Element {
  const { api } = useDashboard();
  return (
    <div class="buttons">
      {!enabled && <ActionButton key="enable" label="Enable" run={() => api.enableWebhook(id)} done={done} />}
      <ActionButton
        key="delete"
        label="Delete"
        confirm="Delete it and its waiting deliveries?"
        run={() => api.deleteWebhook(id)}
        done={done}
      />
    </div>
  );
}

/** The deliveries of a webhook, the newest first. */
function Deliveries({ id }: { readonly id: string }): JSX.Element {
  const { api } = useDashboard();
  const { query } = useRoute();
  const status = query.get('status') ?? '';
  const page = Math.max(1, Number(query.get('page')) || 1);
  const go = (wanted: string, to = 1): void => {
    const given = { ...(wanted !== '' && { status: wanted }), ...(to > 1 && { page: String(to) }) };
    location.hash = linkTo('webhooks', { webhook: id, ...given });
  };
  const { value, error, reload } = useLoaded('webhooks', JSON.stringify([id, status, page]), async () => ({
    ...(await api.deliveries(id, { status, page, per_page: PER_PAGE })),
    webhook: await api.webhook(id),
  }));
  return (
    <>
      <p>
        <a href={linkTo('webhooks')}>All webhooks</a>
      </p>
      <Problem text={error} />
      {value && (
        <Section
          title={value.webhook.url}
          actions={
            <>
              <WebhookState webhook={value.webhook} />
              <Actions webhook={value.webhook} done={reload} />
            </>
          }
        >
          <div class="actions">
            <Choice label="Status" value={status} words={STATUSES} onChange={(word) => go(word)} />
          </div>
          <Table
            label="Deliveries"
            rows={value.deliveries}
            keyOf={(delivery) => delivery.id}
            empty="There are no such deliveries."
            columns={[
              { head: 'Event', cell: ({ event }) => event },
              {
                head: 'Task',
                cell: ({ task_id: task }) =>
                  task !== null && (
                    <a class="id" href={linkTo('tasks', { task })}>
                      {task}
                    </a>
                  ),
              },
              { head: 'Status', cell: (delivery) => <StateBadge state={delivery.status} /> },
              { head: 'Attempts', isNumber: true, cell: ({ attempts }) => attempts.length },
              { head: 'Last answer', cell: (delivery) => <LastAnswer delivery={delivery} /> },
              { head: 'Created', cell: ({ created_at: at }) => time(at) },
              { head: 'Next attempt', cell: ({ next_attempt_at: at }) => time(at) },
              {
                head: 'Action',
                cell: (delivery) =>
                  value.webhook.enabled && (
                    <ActionButton label="Replay" run={() => api.replay(id, delivery.id)} done={reload} />
                  ),
              },
            ]}
          />
          <Pager page={page} hasMore={value.deliveries.length === PER_PAGE} go={(to) => go(status, to)} />
        </Section>
      )}
    </>
  );
}

function LastAnswer({ delivery: { attempts } }: { readonly delivery: Delivery }): JSX.Element {
  const last = attempts.at(-1);
  if (!last) return <>–</>;
  return <>{last.error ?? `status ${last.response_status}`}</>;
}
