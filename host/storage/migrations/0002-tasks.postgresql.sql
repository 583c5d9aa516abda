create table tasks (
  seq bigint generated always as identity primary key,
  id text not null unique,
  endpoint text not null,
  data json not null,
  files json not null,
  status text not null check (status in ('created', 'assigned', 'running', 'completed', 'failed', 'not_finished', 'cancelled')),
  priority integer not null,
  user_id text,
  progress double precision not null default 0 check (progress between 0 and 100),
  result json,
  -- Attempts so far: the first one is 1.
  num_retries integer not null default 0,
  max_attempts integer not null check (max_attempts >= 1),
  timeout_ms bigint not null check (timeout_ms >= 1),
  -- Grows with each attempt: who has an older one has lost the task.
  lease_token bigint not null default 0,
  lease_owner text,
  lease_expires_at bigint,
  available_at bigint not null,
  idempotency_key text,
  request_hash text not null,
  created_at bigint not null,
  updated_at bigint not null,
  assigned_at bigint,
  completed_at bigint
);
create index tasks_waiting on tasks (priority desc, seq) where status in ('created', 'not_finished');
create index tasks_held on tasks (lease_expires_at) where status in ('assigned', 'running');
create index tasks_ended on tasks (completed_at) where status in ('completed', 'failed', 'cancelled');
create index tasks_user on tasks (user_id, status);
create index tasks_status on tasks (status, seq);
create unique index tasks_idempotency on tasks (coalesce(user_id, ''), idempotency_key) where idempotency_key is not null;

create table task_attempts (
  task_id text not null references tasks (id) on delete cascade,
  lease_token bigint not null,
  host text not null,
  started_at bigint not null,
  ended_at bigint,
  -- What became of it: the status that it left the task in, or 'lost'.
  outcome text,
  error json,
  primary key (task_id, lease_token)
);

-- What happened to tasks, in order; chunks of streamed results too.
create table task_events (
  id bigint generated always as identity primary key,
  task_id text not null references tasks (id) on delete cascade,
  event text not null,
  data json not null,
  created_at bigint not null
);
create index task_events_task on task_events (task_id, id);
