-- Responses that a task makes in the background. The row in `responses` exists from the beginning, and gets the answer at the end.
create table response_runs (
  response_id text primary key references responses (id) on delete cascade,
  -- The task that makes the response. It may be gone when the response has ended.
  task_id text not null,
  status text not null check (status in ('queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled')),
  -- The number of the latest attempt. Only this attempt may write.
  attempt integer not null default 0,
  -- The request without its input, as JSON. Null from the end on.
  request text,
  -- How many events there were, also those of earlier attempts. The next event has this number.
  event_count integer not null
) strict;

-- The events of the latest attempt at a response that is streamed, without the last event, which has the response as it is stored.
create table response_events (
  response_id text not null references response_runs (response_id) on delete cascade,
  -- The number of the first of the events.
  first_number integer not null,
  -- A JSON array.
  events text not null,
  primary key (response_id, first_number)
) strict, without rowid;

-- The part of `bytes` that its events have. A request that continues the response does not read them.
alter table responses add column event_bytes integer not null default 0;

-- The answer of such a response comes after its row.
create trigger responses_count_changed after update of bytes on responses begin
  insert into response_usage (user_id, bytes) values (new.owner, new.bytes - old.bytes);
end;
