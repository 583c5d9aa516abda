-- statement: insert
insert into tasks (id, endpoint, data, files, status, priority, user_id, timeout_ms, max_attempts, idempotency_key, request_hash, available_at, created_at, updated_at)
values ($1, $2, $3, $4, 'created', $5, $6, $7, $8, $9, $10, $11, $11, $11)
on conflict do nothing returning id

-- statement: find
select id from tasks where id = $1

-- statement: findByKey
select id, request_hash from tasks where coalesce(user_id, '') = coalesce(cast($1 as text), '') and idempotency_key = $2

-- Without a user ($2) everybody's tasks are meant.
-- statement: read
select id, endpoint, data, status, result, error, progress, priority, user_id, num_retries, created_at, assigned_at, completed_at
from tasks where id = $1 and (cast($2 as text) is null or user_id = $2)

-- Whether a task is there, and how it is: without what can be large.
-- statement: status
select status from tasks where id = $1 and (cast($2 as text) is null or user_id = $2)

-- Those of a status ($2), an endpoint ($3), and that failed with an error of the name $4. Input and result only where they have $7 bytes at most: the
-- sizes are found without reading what is large (in PostgreSQL the size that is stored comes first, which is compressed).
-- statement: list (sqlite)
select id, endpoint, case when octet_length(data) <= $7 then data end as data, status, case when octet_length(result) <= $7 then result end as result,
  result is not null as has_result, error, progress, priority, user_id, num_retries, created_at, assigned_at, completed_at
from tasks where ($1 is null or user_id = $1) and ($2 is null or status = $2) and ($3 is null or endpoint = $3) and ($4 is null or error = $4)
order by seq desc limit $5 offset $6
-- statement: list (postgresql)
select id, endpoint, status, result is not null as has_result, error, progress, priority, user_id, num_retries, created_at, assigned_at, completed_at,
  case when pg_column_size(data) <= $7 then case when octet_length(cast(data as text)) <= $7 then data end end as data,
  case when pg_column_size(result) <= $7 then case when octet_length(cast(result as text)) <= $7 then result end end as result
from tasks where (cast($1 as text) is null or user_id = $1) and (cast($2 as text) is null or status = $2) and (cast($3 as text) is null or endpoint = $3)
  and (cast($4 as text) is null or error = $4)
order by seq desc limit $5 offset $6

-- statement: count
select status, count(*) as count from tasks where (cast($1 as text) is null or user_id = $1) group by status

-- statement: assign (sqlite)
update tasks set status = $6, lease_token = lease_token + 1, lease_owner = $2, lease_expires_at = $3, num_retries = num_retries + 1,
  assigned_at = $4, updated_at = $4, completed_at = null, progress = 0, result = null, error = null, reported = 0
where id = $1 and status in (select value from json_each($5))
returning id, endpoint, user_id, data, files, lease_token, num_retries, max_attempts, timeout_ms, priority
-- statement: assign (postgresql)
update tasks set status = $6, lease_token = lease_token + 1, lease_owner = $2, lease_expires_at = $3, num_retries = num_retries + 1,
  assigned_at = $4, updated_at = $4, completed_at = null, progress = 0, result = null, error = null, reported = 0
where id = $1 and status in (select json_array_elements_text(cast($5 as json)))
returning id, endpoint, user_id, data, files, lease_token, num_retries, max_attempts, timeout_ms, priority

-- What its holder ($2 is its token) says of a task; nothing when it has lost it.
-- statement: start
update tasks set status = 'running', updated_at = $3 where id = $1 and lease_token = $2 and status = 'assigned' returning endpoint, user_id

-- $5 is the number of the batch, from 1 on.
-- statement: touch
update tasks set updated_at = $3, progress = coalesce(cast($4 as double precision), progress), reported = $5
where id = $1 and lease_token = $2 and status = 'running' and reported = cast($5 as integer) - 1 returning id

-- Whether the batch $3 is stored: its transaction may have been committed although nobody could say so.
-- statement: hasReported
select 1 as found from tasks where id = $1 and lease_token = $2 and status = 'running' and reported = $3

-- statement: finish (sqlite)
update tasks set status = $3, progress = $4, result = $5, available_at = $6, completed_at = $7, updated_at = $8, error = $10, lease_owner = null, lease_expires_at = null
where id = $1 and lease_token = $2 and status in (select value from json_each($9)) returning endpoint, user_id
-- statement: finish (postgresql)
update tasks set status = $3, progress = $4, result = $5, available_at = $6, completed_at = $7, updated_at = $8, error = $10, lease_owner = null, lease_expires_at = null
where id = $1 and lease_token = $2 and status in (select json_array_elements_text(cast($9 as json))) returning endpoint, user_id

-- Whether the attempt has ended in this way ($3, with the error $4) already, as with hasReported; who swept it says another error.
-- statement: hasEnded
select 1 as found from task_attempts where task_id = $1 and lease_token = $2 and outcome = $3 and coalesce(cast(error as text), '') = coalesce(cast($4 as text), '')

-- Tasks of an owner that it does not know of ($4: those that it does): the answer to its claim was lost. None that has begun.
-- statement: adopt (sqlite)
update tasks set lease_expires_at = $2, updated_at = $3
where lease_owner = $1 and status = 'running' and reported = 0 and id not in (select value from json_each($4))
returning id, endpoint, user_id, priority, data, files, lease_token, num_retries, max_attempts, timeout_ms
-- statement: adopt (postgresql)
update tasks set lease_expires_at = $2, updated_at = $3
where lease_owner = $1 and status = 'running' and reported = 0 and id not in (select json_array_elements_text(cast($4 as json)))
returning id, endpoint, user_id, priority, data, files, lease_token, num_retries, max_attempts, timeout_ms

-- statement: heartbeat (sqlite)
update tasks set lease_expires_at = $3, updated_at = $4
where lease_owner = $1 and status in ('assigned', 'running') and id in (select value from json_each($2)) returning id, lease_token
-- statement: heartbeat (postgresql)
update tasks set lease_expires_at = $3, updated_at = $4
where lease_owner = $1 and status in ('assigned', 'running') and id in (select json_array_elements_text(cast($2 as json))) returning id, lease_token

-- statement: expired (sqlite)
select id, lease_token, num_retries, max_attempts from tasks where status in ('assigned', 'running') and lease_expires_at <= $1 order by lease_expires_at limit $2
-- statement: expired (postgresql)
select id, lease_token, num_retries, max_attempts from tasks where status in ('assigned', 'running') and lease_expires_at <= $1
order by lease_expires_at limit $2 for update skip locked

-- statement: cancel (sqlite)
update tasks set status = 'cancelled', completed_at = $3, updated_at = $3, lease_owner = null, lease_expires_at = null
where id = $1 and (cast($2 as text) is null or user_id = $2) and status in (select value from json_each($4)) returning lease_token, endpoint, user_id, num_retries
-- statement: cancel (postgresql)
update tasks set status = 'cancelled', completed_at = $3, updated_at = $3, lease_owner = null, lease_expires_at = null
where id = $1 and (cast($2 as text) is null or user_id = $2) and status in (select json_array_elements_text(cast($4 as json))) returning lease_token, endpoint, user_id, num_retries

-- statement: retry
update tasks set status = 'created', num_retries = 0, progress = 0, result = null, error = null, assigned_at = null, completed_at = null, available_at = $3, updated_at = $3
where id = $1 and (cast($2 as text) is null or user_id = $2) and status = 'failed' returning id

-- Those that failed first, $5 at most.
-- statement: retryFailed (sqlite)
update tasks set status = 'created', num_retries = 0, progress = 0, result = null, error = null, assigned_at = null, completed_at = null, available_at = $4, updated_at = $4
where seq in (
  select seq from tasks where status = 'failed' and ($1 is null or user_id = $1) and ($2 is null or endpoint = $2) and ($3 is null or error = $3)
    and ($6 is null or endpoint in (select value from json_each($6)))
  order by completed_at, seq limit $5
) and status = 'failed' returning id
-- Materialized, for a subquery with a lock may run more than once, and then take others.
-- statement: retryFailed (postgresql)
with chosen as materialized (
  select seq from tasks
  where status = 'failed' and (cast($1 as text) is null or user_id = $1) and (cast($2 as text) is null or endpoint = $2) and (cast($3 as text) is null or error = $3)
    and (cast($6 as json) is null or endpoint in (select json_array_elements_text(cast($6 as json))))
  order by completed_at, seq limit $5 for update skip locked
)
update tasks set status = 'created', num_retries = 0, progress = 0, result = null, error = null, assigned_at = null, completed_at = null, available_at = $4, updated_at = $4
where seq in (select seq from chosen) and status = 'failed' returning id

-- A task that a host has cannot be removed.
-- statement: remove
delete from tasks where id = $1 and (cast($2 as text) is null or user_id = $2) and status not in ('assigned', 'running') returning id

-- statement: prune
delete from tasks where seq in (
  select seq from tasks where status in ('completed', 'failed', 'cancelled') and completed_at <= $1 order by completed_at limit $2
) returning id

-- When the next one is due that waits for its time.
-- statement: nextDue (sqlite)
select min(available_at) as at from tasks indexed by tasks_due where status in ('created', 'not_finished')
-- statement: nextDue (postgresql)
select min(available_at) as at from tasks where status in ('created', 'not_finished')

-- statement: beginAttempt
insert into task_attempts (task_id, lease_token, host, started_at) values ($1, $2, $3, $4)

-- statement: endAttempt
update task_attempts set ended_at = $3, outcome = $4, error = $5 where task_id = $1 and lease_token = $2 and ended_at is null

-- statement: attempts
select lease_token, host, started_at, ended_at, outcome, error from task_attempts where task_id = $1 order by lease_token

-- statement: addEvent
insert into task_events (task_id, event, data, created_at) values ($1, $2, $3, $4)

-- $3 events at most, and no more once they have $4 bytes.
-- statement: events (sqlite)
select id, event, data, created_at from task_events where task_id = $1 and id in (
  select id from (
    select id, sum(bytes) over (order by id) - bytes as before from (select id, octet_length(data) as bytes from task_events where task_id = $1 and id > $2 order by id limit $3)
  ) where before < $4
) order by id
-- statement: events (postgresql)
select id, event, data, created_at from task_events where task_id = $1 and id in (
  select id from (
    select id, sum(bytes) over (order by id) - bytes as before
    from (select id, octet_length(cast(data as text)) as bytes from task_events where task_id = $1 and id > $2 order by id limit $3) as page
  ) as sizes where before < $4
) order by id
