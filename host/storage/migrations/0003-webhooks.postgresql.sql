-- Of a webhook itself: its own secret, and how its target has done of late.
alter table webhooks add column secret text;
alter table webhooks add column failures integer not null default 0;
alter table webhooks add column failing_since bigint;
alter table webhooks add column paused_until bigint not null default 0;
alter table webhooks add column disabled_at bigint;
alter table webhooks add column disabled_reason text;

-- What webhooks are to be told, written with what happened; then the log of it. The task may be gone before.
create table webhook_deliveries (
  seq bigint generated always as identity primary key,
  -- The same for every attempt: receivers know repeats by it.
  id text not null unique,
  webhook_id text not null references webhooks (id) on delete cascade,
  event text not null,
  task_id text not null,
  -- Token of the attempt at the task that it is about.
  task_token bigint not null,
  endpoint text not null,
  task_status text not null,
  num_retries integer not null,
  result json,
  status text not null check (status in ('pending', 'delivered', 'failed')),
  attempts integer not null default 0,
  -- When it may be sent; while a host has it, when its lease is over.
  due_at bigint not null,
  lease_token bigint not null default 0,
  lease_owner text,
  created_at bigint not null,
  ended_at bigint,
  unique (webhook_id, task_id, event, task_token)
);
create index webhook_deliveries_waiting on webhook_deliveries (webhook_id, due_at, seq) where status = 'pending';
create index webhook_deliveries_held on webhook_deliveries (due_at, webhook_id) where lease_owner is not null;
create index webhook_deliveries_ended on webhook_deliveries (ended_at) where ended_at is not null;
create index webhook_deliveries_webhook on webhook_deliveries (webhook_id, seq);

create table webhook_attempts (
  delivery_id text not null references webhook_deliveries (id) on delete cascade,
  lease_token bigint not null,
  host text not null,
  started_at bigint not null,
  ended_at bigint not null,
  response_status integer,
  error text,
  primary key (delivery_id, lease_token)
);
