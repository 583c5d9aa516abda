-- statement: claim (sqlite)
update tasks set status = 'running', lease_token = lease_token + 1, lease_owner = $2, lease_ms = $3, lease_renewals = 0,
  num_retries = num_retries + 1,
  assigned_at = $4, updated_at = $4, completed_at = null, progress = 0, result = null, result_bytes = 0, error = null,
    reported = 0
where id = $1 and status in (select value from json_each($5))
returning id, endpoint, user_id, data, files, lease_token, num_retries, max_attempts, timeout_ms, priority, traceparent,
  unserved_ms, available_at, assigned_at
-- statement: claim (postgresql)
update tasks set status = 'running', lease_token = lease_token + 1, lease_owner = $2, lease_ms = $3, lease_renewals = 0,
  num_retries = num_retries + 1,
  assigned_at = $4, updated_at = $4, completed_at = null, progress = 0, result = null, result_bytes = 0, error = null,
    reported = 0
where id = $1 and status in (select json_array_elements_text(cast($5 as json)))
returning id, endpoint, user_id, data, files, lease_token, num_retries, max_attempts, timeout_ms, priority, traceparent,
  unserved_ms, available_at, assigned_at

-- $2 is the token of the holder, which has lost the task when no row is updated. $5 is the number of the batch, counted
-- from 1. Its values have $6 bytes.
-- statement: touch
update tasks set updated_at = $3, progress = coalesce(cast($4 as double precision), progress), reported = $5,
  text_bytes = text_bytes + $6
where id = $1 and lease_token = $2 and status = 'running' and reported = cast($5 as integer) - 1 returning id

-- Whether the batch $3 is already stored, by a transaction whose commit was unknown.
-- statement: hasReported
select 1 as found from tasks where id = $1 and lease_token = $2 and status = 'running' and reported = $3

-- $12 is 1 for an attempt that does not count, and otherwise 0.
-- statement: finish (sqlite)
update tasks set status = $3, progress = $4, result = $5, result_bytes = $11, available_at = $6, completed_at = $7,
  updated_at = $8, error = $10, lease_owner = null, lease_ms = null,
  num_retries = num_retries - $12, unserved_ms = $13
where id = $1 and lease_token = $2 and status in (select value from json_each($9))
  returning endpoint, user_id, traceparent
-- statement: finish (postgresql)
update tasks set status = $3, progress = $4, result = $5, result_bytes = $11, available_at = $6, completed_at = $7,
  updated_at = $8, error = $10, lease_owner = null, lease_ms = null,
  num_retries = num_retries - $12, unserved_ms = $13
where id = $1 and lease_token = $2 and status in (select json_array_elements_text(cast($9 as json)))
  returning endpoint, user_id, traceparent

-- Whether the attempt has already ended in this way ($3, with the error $4), by a transaction whose commit was unknown.
-- A sweeper stores another error.
-- statement: hasEnded
select 1 as found from task_attempts where task_id = $1 and lease_token = $2 and outcome = $3
  and coalesce(cast(error as text), '') = coalesce(cast($4 as text), '')

-- Tasks that an owner has without knowing it, because the answer to its claim was lost. $3 are the ids that it knows.
-- Tasks that have streamed values are not among them.
-- statement: adopt (sqlite)
update tasks set lease_renewals = lease_renewals + 1, updated_at = $2
where lease_owner = $1 and status = 'running' and reported = 0 and id not in (select value from json_each($3))
returning id, endpoint, user_id, priority, data, files, lease_token, num_retries, max_attempts, timeout_ms, traceparent,
  unserved_ms, available_at, assigned_at
-- statement: adopt (postgresql)
update tasks set lease_renewals = lease_renewals + 1, updated_at = $2
where lease_owner = $1 and status = 'running' and reported = 0
  and id not in (select json_array_elements_text(cast($3 as json)))
returning id, endpoint, user_id, priority, data, files, lease_token, num_retries, max_attempts, timeout_ms, traceparent,
  unserved_ms, available_at, assigned_at

-- statement: heartbeat (sqlite)
update tasks set lease_renewals = lease_renewals + 1, updated_at = $3
where lease_owner = $1 and status in ('assigned', 'running') and id in (select value from json_each($2))
  returning id, lease_token
-- statement: heartbeat (postgresql)
update tasks set lease_renewals = lease_renewals + 1, updated_at = $3
where lease_owner = $1 and status in ('assigned', 'running')
  and id in (select json_array_elements_text(cast($2 as json))) returning id, lease_token

-- statement: held
select id, lease_token, lease_ms, lease_renewals, num_retries, max_attempts from tasks
  where status in ('assigned', 'running')

-- Locks a lease that has $3 renewals, so that its host cannot renew it in the meantime.
-- statement: lockLease
update tasks set lease_renewals = lease_renewals
  where id = $1 and lease_token = $2 and lease_renewals = $3 and status in ('assigned', 'running') returning id

-- statement: probe
update write_probe set writes = writes + 1

-- After a step back of the clock: new tasks, which are due at once ($1), and tasks that are due after any delay that
-- begins now ($2).
-- statement: hasten
update tasks set available_at = $1 where (status = 'created' and available_at > $1)
  or (status = 'not_finished' and available_at > $2) returning id

-- statement: beginAttempt
insert into task_attempts (task_id, lease_token, host, started_at) values ($1, $2, $3, $4)

-- statement: endAttempt
update task_attempts set ended_at = $3, outcome = $4, error = $5
  where task_id = $1 and lease_token = $2 and ended_at is null
