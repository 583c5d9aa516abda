create table tasks (
  seq integer primary key autoincrement,
  id text not null unique,
  endpoint text not null,
  data text not null check (json_valid(data)),
  files text not null check (json_valid(files)),
  status text not null check (status in ('created', 'assigned', 'running', 'completed', 'failed', 'not_finished', 'cancelled')),
  priority integer not null,
  user_id text,
  progress real not null default 0 check (progress between 0 and 100),
  result text check (json_valid(result)),
  -- Attempts so far: the first one is 1.
  num_retries integer not null default 0,
  max_attempts integer not null check (max_attempts >= 1),
  timeout_ms integer not null check (timeout_ms >= 1),
  -- Grows with each attempt: who has an older one has lost the task.
  lease_token integer not null default 0,
  lease_owner text,
  lease_expires_at integer,
  available_at integer not null,
  idempotency_key text,
  request_hash text not null,
  created_at integer not null,
  updated_at integer not null,
  assigned_at integer,
  completed_at integer
) strict;
create index tasks_waiting on tasks (priority desc, seq) where status in ('created', 'not_finished');
create index tasks_held on tasks (lease_expires_at) where status in ('assigned', 'running');
create index tasks_ended on tasks (completed_at) where status in ('completed', 'failed', 'cancelled');
create index tasks_user on tasks (user_id, status);
create index tasks_status on tasks (status, seq);
create unique index tasks_idempotency on tasks (coalesce(user_id, ''), idempotency_key) where idempotency_key is not null;

create table task_attempts (
  task_id text not null references tasks (id) on delete cascade,
  lease_token integer not null,
  host text not null,
  started_at integer not null,
  ended_at integer,
  -- What became of it: the status that it left the task in, or 'lost'.
  outcome text,
  error text check (json_valid(error)),
  primary key (task_id, lease_token)
) strict, without rowid;

-- What happened to tasks, in order; chunks of streamed results too.
create table task_events (
  id integer primary key autoincrement,
  task_id text not null references tasks (id) on delete cascade,
  event text not null,
  data text not null check (json_valid(data)),
  created_at integer not null
) strict;
create index task_events_task on task_events (task_id, id);
