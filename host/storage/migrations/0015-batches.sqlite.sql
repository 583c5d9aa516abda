-- Batches of OpenAI's API. `owner` is the user, or the empty text where the host requires no keys. Ids begin with the time, so their order is the order
-- of creation. Times are null for what has not happened.
create table batches (
  id text primary key,
  owner text not null,
  -- The task that runs the batch. It may be gone when the batch has ended.
  task_id text not null,
  -- The path whose requests the batch has.
  endpoint text not null,
  input_file_id text not null,
  -- JSON.
  metadata text,
  -- Seconds from the creation of the files of the batch to their expiry.
  output_expires_after integer,
  status text not null check (status in ('validating', 'in_progress', 'finalizing', 'completed', 'failed', 'expired', 'cancelling', 'cancelled')),
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
