-- The vector stores of OpenAI's API. The texts and vectors of a store are a collection of `vector_collections`.
create table vector_stores (
  id text primary key,
  -- A user, or the empty text for all callers.
  owner text not null,
  name text not null,
  -- JSON.
  metadata text,
  -- What makes the vectors of the store, and how often that has changed.
  model text not null,
  generation integer not null default 0,
  -- The generation whose texts get new vectors, until all of them have some.
  source_generation integer,
  -- Days without use after which the store expires; null is never.
  expires_after_days integer,
  created_at integer not null,
  last_active_at integer not null,
  expires_at integer generated always as (last_active_at + expires_after_days * 86400000) virtual
) strict;
create index vector_stores_owner on vector_stores (owner, id);
create index vector_stores_expiring on vector_stores (expires_at) where expires_after_days is not null;

-- Files that one task reads into a store, one after the other.
create table vector_store_runs (
  id text primary key,
  store_id text not null references vector_stores (id) on delete cascade,
  -- It may have been deleted when the run has ended.
  task_id text not null,
  -- The number of the latest attempt. Only this attempt may write.
  attempt integer not null default 0,
  created_at integer not null,
  cancelled_at integer
) strict;
create index vector_store_runs_store on vector_store_runs (store_id);

create table vector_store_files (
  store_id text not null references vector_stores (id) on delete cascade,
  file_id text not null,
  -- The run that the request made which added the file: its batch.
  batch_id text not null,
  -- The run that reads it. It is another one after the model of the store has changed.
  run_id text not null,
  filename text not null,
  -- Of the file.
  bytes integer not null,
  status text not null check (status in ('in_progress', 'completed', 'cancelled', 'failed')),
  error_code text,
  error_message text,
  -- JSON.
  attributes text not null,
  max_chunk_tokens integer not null,
  chunk_overlap_tokens integer not null,
  -- The chunks that are stored. They are the first ones of the file.
  chunks integer not null default 0,
  -- Of these chunks.
  usage_bytes integer not null default 0,
  created_at integer not null,
  primary key (store_id, file_id)
) strict, without rowid;
create index vector_store_files_batch on vector_store_files (batch_id);
create index vector_store_files_run on vector_store_files (run_id);
create index vector_store_files_file on vector_store_files (file_id);

-- A file whose run has no task any more has failed.
create view vector_store_file_states as
select files.*, case when files.status = 'in_progress'
  and coalesce(tasks.status, 'failed') in ('completed', 'failed', 'cancelled')
  then 'failed' else files.status end as state
from vector_store_files as files
join vector_store_runs as runs on runs.id = files.run_id
left join tasks on tasks.id = runs.task_id;
