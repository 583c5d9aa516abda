-- $2 is the user; null is all users.
-- statement: read
select id, endpoint, data, status, result, error, progress, priority, user_id, num_retries, created_at, assigned_at,
  completed_at
from tasks where id = $1 and (cast($2 as text) is null or user_id = $2)

-- The status of a task, without columns that can be large.
-- statement: status
select status from tasks where id = $1 and (cast($2 as text) is null or user_id = $2)

-- Input and result have at most $3 bytes, or are null. Sizes are found without reading large values: PostgreSQL
-- compares the stored, compressed size first.
-- statement: list (sqlite)
select id, endpoint, case when octet_length(data) <= $3 then data end as data, status, case
  when octet_length(result) <= $3 then result end as result,
  result is not null as has_result, error, progress, priority, user_id, num_retries, created_at, assigned_at,
    completed_at
from tasks where {filters} order by seq desc limit $1 offset $2
-- statement: list (postgresql)
select id, endpoint, status, result is not null as has_result, error, progress, priority, user_id, num_retries,
  created_at, assigned_at, completed_at,
  case when pg_column_size(data) <= $3 then case when octet_length(cast(data as text)) <= $3 then data end end as data,
  case when pg_column_size(result) <= $3 then case when octet_length(cast(result as text)) <= $3
    then result end end as result
from tasks where {filters} order by seq desc limit $1 offset $2

-- statement: count
select status, count(*) as count from tasks where {filters} group by status

-- The due time of the next waiting task.
-- statement: nextDue (sqlite)
select min(available_at) as at from tasks indexed by tasks_due where status in ('created', 'not_finished')
-- statement: nextDue (postgresql)
select min(available_at) as at from tasks where status in ('created', 'not_finished')

-- The last event of each of the tasks $1 that has not ended.
-- statement: positions (sqlite)
select id, coalesce((select max(task_events.id) from task_events where task_id = tasks.id), 0) as position
from tasks where id in (select value from json_each($1)) and status not in ('completed', 'failed', 'cancelled')
-- statement: positions (postgresql)
select id, coalesce((select max(task_events.id) from task_events where task_id = tasks.id), 0) as position
from tasks where id in (select json_array_elements_text(cast($1 as json)))
  and status not in ('completed', 'failed', 'cancelled')

-- statement: attempts
select lease_token, host, started_at, ended_at, outcome, error from task_attempts where task_id = $1
  order by lease_token

-- At most $3 events, and no further one after $4 bytes.
-- statement: events (sqlite)
select id, event, data, created_at from task_events where task_id = $1 and id in (
  select id from (
    select id, sum(bytes) over (order by id) - bytes as before
      from (select id, octet_length(data) as bytes from task_events where task_id = $1 and id > $2 order by id limit $3)
  ) where before < $4
) order by id
-- statement: events (postgresql)
select id, event, data, created_at from task_events where task_id = $1 and id in (
  select id from (
    select id, sum(bytes) over (order by id) - bytes as before
    from (select id, octet_length(cast(data as text)) as bytes from task_events where task_id = $1 and id > $2
      order by id limit $3) as page
  ) as sizes where before < $4
) order by id
