-- Times are milliseconds since 1970. JSON is text.

-- `owner` is a user, or the empty text for nobody. `name` is the id by which the owner knows the media where this is
-- not `id`, because two users may use the same one.
create table media (
  id text primary key check (length(id) between 1 and 255),
  media_type text not null,
  created_at integer not null,
  updated_at integer not null,
  owner text not null default '',
  name text,
  bytes integer not null default 0
) strict;
create unique index media_owner on media (owner, coalesce(name, id));

create table video (
  id text primary key references media (id) on delete cascade,
  path text,
  url text,
  title text,
  description text
) strict;

create table caption (
  id integer primary key autoincrement,
  media_id text references media (id) on delete cascade,
  model text not null,
  frame_id integer not null check (frame_id >= 0),
  caption text not null,
  timestamp real not null check (timestamp >= 0),
  caption_type text not null,
  created_at integer not null,
  updated_at integer not null,
  owner text not null default '',
  bytes integer not null default 0
) strict;
create index caption_media on caption (media_id, timestamp);

create table transcript (
  id integer primary key autoincrement,
  media_id text references media (id) on delete cascade,
  model text not null,
  transcript text not null,
  segments text not null check (json_valid(segments)),
  language text not null,
  language_confidence real not null check (language_confidence between 0 and 1),
  transcript_type text not null,
  created_at integer not null,
  updated_at integer not null,
  owner text not null default '',
  bytes integer not null default 0
) strict;
create index transcript_media on transcript (media_id);

-- The bytes of the media, captions and transcripts of each owner, for its limit.
create table media_usage (
  owner text primary key,
  bytes integer not null check (bytes >= 0)
) strict;

-- The keys are stored as their SHA-256, so that a reader of the database cannot use them.
create table api_keys (
  id integer primary key autoincrement,
  key_id text not null unique,
  api_key_hash text not null unique,
  user_id text not null,
  subscription_id text not null,
  is_subscription_active integer not null check (is_subscription_active in (0, 1)),
  is_admin integer not null check (is_admin in (0, 1)),
  hmac_secret text,
  expired_at integer,
  created_at integer not null,
  updated_at integer not null,
  -- What the key may be used for: a JSON list, or null for everything that its user may do.
  scopes text,
  last_used_at integer
) strict;
create index api_keys_user on api_keys (user_id);

-- Tokens that callers have used in a calendar month (UTC), such as `2026-11`.
create table user_tokens (
  month text not null,
  -- `user ann`, `key ann-1`, `address 10.0.0.1`.
  name text not null,
  tokens bigint not null,
  primary key (month, name)
);

-- The values that plugins store. Keys are bytes, so that their order is the same in both databases.
create table plugin_values (
  plugin text not null,
  key blob not null,
  value blob not null,
  primary key (plugin, key)
) strict, without rowid;

-- What each plugin stores. Two writers of one plugin wait for each other at its row.
create table plugin_usage (
  plugin text primary key,
  keys integer not null check (keys >= 0),
  bytes integer not null check (bytes >= 0)
) strict;

create table tasks (
  seq integer primary key autoincrement,
  id text not null unique,
  endpoint text not null,
  data text not null check (json_valid(data)),
  files text not null check (json_valid(files)),
  status text not null
    check (status in ('created', 'assigned', 'running', 'completed', 'failed', 'not_finished', 'cancelled')),
  priority integer not null,
  user_id text,
  progress real not null default 0 check (progress between 0 and 100),
  result text check (json_valid(result)),
  -- The number of the current attempt, counted from 1. 0 before the first attempt.
  num_retries integer not null default 0,
  max_attempts integer not null check (max_attempts >= 1),
  timeout_ms integer not null check (timeout_ms >= 1),
  -- Grows with each attempt. A host with an older token has lost the task.
  lease_token integer not null default 0,
  lease_owner text,
  available_at integer not null,
  idempotency_key text,
  request_hash text not null,
  created_at integer not null,
  updated_at integer not null,
  assigned_at integer,
  completed_at integer,
  -- The name of the error with which a failed task ended. Searches do not read it from `result`, because the JSON there
  -- may contain characters that a text of the database cannot have.
  error text,
  -- The number of batches of streamed values that the running attempt has stored. A batch that is written again is
  -- recognised by it.
  reported integer not null default 0,
  -- The place in a distributed trace that came with the request. The runs of the task continue the trace.
  traceparent text,
  -- The bytes that the task keeps, for the limit of its user: its uploads, which are removed when it has completed or
  -- was cancelled; its input and streamed values; its result. 1024 is an estimate of its other columns and rows.
  file_bytes integer not null default 0,
  text_bytes integer not null default 0,
  result_bytes integer not null default 0,
  kept_bytes integer generated always as (
    1024 + text_bytes + result_bytes + case when status in ('completed', 'cancelled') then 0 else file_bytes end
  ) virtual,
  -- A lease is lost when another host has seen the same number of renewals for `lease_ms` milliseconds.
  lease_ms integer,
  lease_renewals integer not null default 0,
  -- How long the task was put off since something last worked on it, because nothing could: in milliseconds.
  unserved_ms integer not null default 0
) strict;
-- The waiting tasks of each user by priority and age. Endpoint and time are in the index because claims filter by them,
-- and would otherwise read whole rows with input and result.
create index tasks_waiting_of_user on tasks (user_id, priority desc, seq, endpoint, available_at)
  where status in ('created', 'not_finished') and user_id is not null;
create index tasks_waiting_of_nobody on tasks (priority desc, seq, endpoint, available_at)
  where status in ('created', 'not_finished') and user_id is null;
-- When the first task of a user for an endpoint is due.
create index tasks_waiting_for_endpoint on tasks (user_id, endpoint, available_at)
  where status in ('created', 'not_finished') and user_id is not null;
create index tasks_due on tasks (available_at) where status in ('created', 'not_finished');
create index tasks_held on tasks (user_id) where status in ('assigned', 'running');
create index tasks_ended on tasks (completed_at) where status in ('completed', 'failed', 'cancelled');
create index tasks_error on tasks (error, completed_at) where error is not null;
create index tasks_user on tasks (user_id, status);
create index tasks_of_user on tasks (user_id, seq);
create index tasks_status on tasks (status, seq);
create unique index tasks_idempotency on tasks (coalesce(user_id, ''), idempotency_key)
  where idempotency_key is not null;

create table task_attempts (
  task_id text not null references tasks (id) on delete cascade,
  lease_token integer not null,
  host text not null,
  started_at integer not null,
  ended_at integer,
  -- The status in which the attempt left the task, or 'lost'.
  outcome text,
  error text check (json_valid(error)),
  primary key (task_id, lease_token)
) strict, without rowid;

-- The events of tasks in their order, with the chunks of streamed results.
create table task_events (
  id integer primary key autoincrement,
  task_id text not null references tasks (id) on delete cascade,
  event text not null,
  data text not null check (json_valid(data)),
  created_at integer not null
) strict;
create index task_events_task on task_events (task_id, id);

-- The users who wait, for each endpoint, in the order of their turns. A row appears with the first task of a user that
-- waits for an endpoint. A claim removes rows without such a task, and sets `turn_at` of the users that it serves. The
-- row of the empty user, who is nobody, stays. Transactions that run at the same time may add two rows for one user and
-- endpoint, which does no harm, and none waits for another.
create table waiting_users (
  id integer primary key autoincrement,
  user_id text not null,
  endpoint text not null,
  turn_at integer not null
) strict;
insert into waiting_users (user_id, endpoint, turn_at) values ('', '', 0);
create index waiting_users_turn on waiting_users (endpoint, turn_at, id, user_id);
create index waiting_users_user on waiting_users (user_id, endpoint);

create trigger tasks_wait_inserted after insert on tasks
  when new.user_id is not null and new.status in ('created', 'not_finished') begin
  insert into waiting_users (user_id, endpoint, turn_at) select new.user_id, new.endpoint, new.updated_at
  where not exists (select 1 from waiting_users where user_id = new.user_id and endpoint = new.endpoint);
end;
create trigger tasks_wait_updated after update of status on tasks
  when
    new.user_id is not null and new.status in ('created', 'not_finished')
    and old.status not in ('created', 'not_finished') begin
  insert into waiting_users (user_id, endpoint, turn_at) select new.user_id, new.endpoint, new.updated_at
  where not exists (select 1 from waiting_users where user_id = new.user_id and endpoint = new.endpoint);
end;

-- The bytes that users keep in tasks are the sum of their rows here. Each change of a task adds a row, so that hosts
-- that change tasks of one user do not wait for each other.
create table task_usage (
  id integer primary key autoincrement,
  user_id text not null,
  bytes integer not null
) strict;
create index task_usage_user on task_usage (user_id, bytes);
create trigger tasks_count_inserted after insert on tasks
  when new.user_id is not null begin
  insert into task_usage (user_id, bytes) values (new.user_id, new.kept_bytes);
end;
create trigger tasks_count_updated after update of status, file_bytes, text_bytes, result_bytes on tasks
  when new.user_id is not null and new.kept_bytes <> old.kept_bytes begin
  insert into task_usage (user_id, bytes) values (new.user_id, new.kept_bytes - old.kept_bytes);
end;
create trigger tasks_count_deleted after delete on tasks
  when old.user_id is not null begin
  insert into task_usage (user_id, bytes) values (old.user_id, -old.kept_bytes);
end;

-- A row that hosts change to see whether the database accepts writes.
create table write_probe (writes integer not null);
insert into write_probe (writes) values (0);

create table webhooks (
  id text primary key,
  user_id text,
  url text not null,
  events text not null check (json_valid(events)),
  created_at integer not null,
  updated_at integer not null,
  secret text,
  -- The recent failures of its target.
  failures integer not null default 0,
  failing_since integer,
  paused_until integer not null default 0,
  disabled_at integer,
  disabled_reason text,
  -- The scopes of the key that set the URL: a JSON list, or null for everything that its user may do.
  scopes text
) strict;
create index webhooks_user on webhooks (user_id);

-- The messages to webhooks, which are written with the events that they tell; later the log of them. The task may have
-- been deleted.
create table webhook_deliveries (
  seq integer primary key autoincrement,
  -- The same for all attempts, so that receivers recognise repetitions.
  id text not null unique,
  webhook_id text not null references webhooks (id) on delete cascade,
  event text not null,
  task_id text not null,
  -- The token of the attempt at the task.
  task_token integer not null,
  endpoint text not null,
  task_status text not null,
  num_retries integer not null,
  result text check (json_valid(result)),
  status text not null check (status in ('pending', 'delivered', 'failed')),
  attempts integer not null default 0,
  -- When it may be sent. While a host sends it, the end of its lease.
  due_at integer not null,
  lease_token integer not null default 0,
  lease_owner text,
  created_at integer not null,
  ended_at integer,
  traceparent text,
  user_id text,
  unique (webhook_id, task_id, event, task_token)
) strict;
create index webhook_deliveries_waiting on webhook_deliveries (webhook_id, due_at, seq) where status = 'pending';
create index webhook_deliveries_held on webhook_deliveries (due_at, webhook_id) where lease_owner is not null;
create index webhook_deliveries_ended on webhook_deliveries (ended_at) where ended_at is not null;
create index webhook_deliveries_webhook on webhook_deliveries (webhook_id, seq);

create table webhook_attempts (
  delivery_id text not null references webhook_deliveries (id) on delete cascade,
  lease_token integer not null,
  host text not null,
  started_at integer not null,
  ended_at integer not null,
  response_status integer,
  error text,
  primary key (delivery_id, lease_token)
) strict, without rowid;

-- The bytes of the results in the deliveries of users, as in `task_usage`.
create table delivery_usage (
  id integer primary key autoincrement,
  user_id text not null,
  bytes integer not null
) strict;
create index delivery_usage_user on delivery_usage (user_id, bytes);
create trigger deliveries_count_inserted after insert on webhook_deliveries
  when new.user_id is not null and new.result is not null begin
  insert into delivery_usage (user_id, bytes) values (new.user_id, octet_length(new.result));
end;
create trigger deliveries_count_deleted after delete on webhook_deliveries
  when old.user_id is not null and old.result is not null begin
  insert into delivery_usage (user_id, bytes) values (old.user_id, -octet_length(old.result));
end;

-- Records of usage that another server has not accepted yet.
create table usage_records (
  seq integer primary key autoincrement,
  id text not null unique,
  record text not null check (json_valid(record)),
  -- When it may be sent. While a host sends it, the end of its lease.
  due_at integer not null,
  lease_owner text
) strict;
create index usage_records_due on usage_records (due_at, seq);
create index usage_records_held on usage_records (lease_owner) where lease_owner is not null;

-- In the tables below, `owner` is the user, or the empty text where the host requires no keys.

-- Responses of OpenAI's API. `body` is the response without its output, as JSON.
create table responses (
  id text primary key,
  owner text not null,
  -- The response that this one continues. It may have been deleted.
  previous_id text,
  body text not null,
  -- Of the body and all items.
  bytes integer not null,
  created_at integer not null,
  -- When it, or a response that continues it, was stored.
  used_at integer not null,
  -- The part of `bytes` that belongs to its events. A request that continues the response does not read them.
  event_bytes integer not null default 0
) strict;
create index responses_used on responses (used_at);
create index responses_owner on responses (owner, used_at);

-- The input of a response, then its output, in order. Clients refer to items by their ids, which several responses can
-- have.
create table response_items (
  response_id text not null references responses (id) on delete cascade,
  position integer not null,
  source text not null check (source in ('input', 'output')),
  owner text not null,
  item_id text not null,
  item text not null,
  primary key (response_id, position)
) strict, without rowid;
create index response_items_id on response_items (owner, item_id);

-- Responses that tasks make in the background. The row in `responses` exists from the beginning, and gets the answer at
-- the end.
create table response_runs (
  response_id text primary key references responses (id) on delete cascade,
  -- The task that makes the response. It may have been deleted when the response has ended.
  task_id text not null,
  status text not null check (status in ('queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled')),
  -- The number of the latest attempt. Only this attempt may write.
  attempt integer not null default 0,
  -- The request without its input, as JSON. Null after the end.
  request text,
  -- The number of events of all attempts. The next event has this number.
  event_count integer not null
) strict;

-- The events of the latest attempt at a response that is streamed. The last event is not here, because it has the
-- response as it is stored.
create table response_events (
  response_id text not null references response_runs (response_id) on delete cascade,
  -- The number of the first of the events.
  first_number integer not null,
  -- A JSON array.
  events text not null,
  primary key (response_id, first_number)
) strict, without rowid;

-- The bytes of the responses of users, as in `task_usage`.
create table response_usage (
  id integer primary key autoincrement,
  user_id text not null,
  bytes integer not null
) strict;
create index response_usage_user on response_usage (user_id, bytes);
create trigger responses_count_inserted after insert on responses begin
  insert into response_usage (user_id, bytes) values (new.owner, new.bytes);
end;
create trigger responses_count_deleted after delete on responses begin
  insert into response_usage (user_id, bytes) values (old.owner, -old.bytes);
end;
create trigger responses_count_changed after update of bytes on responses begin
  insert into response_usage (user_id, bytes) values (new.owner, new.bytes - old.bytes);
end;

-- Files of OpenAI's API. Their bytes are in a folder that hosts share, and are written before the row. Ids begin with
-- the time, so their order is the order of uploads.
create table files (
  id text primary key,
  owner text not null,
  purpose text not null,
  filename text not null,
  bytes integer not null,
  sha256 text not null,
  created_at integer not null,
  -- Nobody finds the file after this time. Null is never.
  expires_at integer
) strict;
create index files_owner on files (owner, id);
create index files_expiry on files (expires_at);

-- Files of OpenAI's API that come in parts.
create table uploads (
  id text primary key,
  owner text not null,
  purpose text not null,
  filename text not null,
  -- Of the whole file, as the client announced it.
  bytes integer not null,
  -- Seconds from the creation of the file to its expiry; null is the setting.
  file_expires_after integer,
  status text not null check (status in ('pending', 'completed', 'cancelled', 'expired')),
  part_count integer not null default 0,
  -- The file of a completed upload. It may have been deleted.
  file_id text,
  created_at integer not null,
  expires_at integer not null
) strict;
create index uploads_expiry on uploads (expires_at);

-- The parts of pending uploads. Their bytes are in a folder that hosts share, and are written before the row.
create table upload_parts (
  id text primary key,
  upload_id text not null references uploads (id) on delete cascade,
  owner text not null,
  bytes integer not null
) strict;
create index upload_parts_upload on upload_parts (upload_id);

-- The bytes of the files and parts of users, as in `task_usage`.
create table file_usage (
  id integer primary key autoincrement,
  user_id text not null,
  bytes integer not null
) strict;
create index file_usage_user on file_usage (user_id, bytes);
create trigger files_count_inserted after insert on files begin
  insert into file_usage (user_id, bytes) values (new.owner, new.bytes);
end;
create trigger files_count_deleted after delete on files begin
  insert into file_usage (user_id, bytes) values (old.owner, -old.bytes);
end;
create trigger upload_parts_count_inserted after insert on upload_parts begin
  insert into file_usage (user_id, bytes) values (new.owner, new.bytes);
end;
create trigger upload_parts_count_deleted after delete on upload_parts begin
  insert into file_usage (user_id, bytes) values (old.owner, -old.bytes);
end;

-- Batches of OpenAI's API. Ids begin with the time, so their order is the order of creation. Times are null for what
-- has not happened.
create table batches (
  id text primary key,
  owner text not null,
  -- The task that runs the batch. It may have been deleted when the batch has ended.
  task_id text not null,
  -- The path to which the requests of the batch belong.
  endpoint text not null,
  input_file_id text not null,
  -- JSON.
  metadata text,
  -- Seconds from the creation of the files of the batch to their expiry.
  output_expires_after integer,
  status text not null check (
    status in (
      'validating', 'in_progress', 'finalizing', 'completed', 'failed', 'expired', 'cancelling', 'cancelled'
    )
  ),
  -- The number of the latest attempt. Only this attempt may write.
  attempt integer not null default 0,
  created_at integer not null,
  expires_at integer not null,
  in_progress_at integer,
  finalizing_at integer,
  completed_at integer,
  failed_at integer,
  expired_at integer,
  cancelling_at integer,
  cancelled_at integer,
  -- The errors of the input, as JSON.
  errors text,
  -- The model of all requests; null for several models.
  model text,
  total integer not null default 0,
  completed integer not null default 0,
  failed integer not null default 0,
  input_tokens integer not null default 0,
  cached_tokens integer not null default 0,
  output_tokens integer not null default 0,
  reasoning_tokens integer not null default 0,
  output_file_id text,
  error_file_id text
) strict;
create index batches_owner on batches (owner, id);
create index batches_created on batches (created_at);
create index batches_input on batches (input_file_id);

-- The answers of a batch that has not ended, each as a line of the file that it goes to.
create table batch_answers (
  batch_id text not null references batches (id) on delete cascade,
  -- The number of the line in the input, counted from 1.
  line integer not null,
  file text not null check (file in ('output', 'error')),
  answer text not null,
  primary key (batch_id, line)
) strict, without rowid;
