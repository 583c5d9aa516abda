-- statement: insert
insert into tasks (id, endpoint, data, files, status, priority, user_id, timeout_ms, max_attempts, idempotency_key,
  request_hash, traceparent, available_at, created_at, updated_at, file_bytes, text_bytes)
values ($1, $2, $3, $4, 'created', $5, $6, $7, $8, $9, $10, $11, $12, $12, $12, $13, $14)
on conflict do nothing returning id

-- statement: find
select id from tasks where id = $1

-- statement: findByKey
select id, request_hash from tasks where coalesce(user_id, '') = coalesce(cast($1 as text), '') and idempotency_key = $2

-- statement: cancel (sqlite)
update tasks set status = 'cancelled', completed_at = $3, updated_at = $3, lease_owner = null, lease_ms = null
where id = $1 and (cast($2 as text) is null or user_id = $2) and status in (select value from json_each($4))
  returning lease_token, endpoint, user_id, traceparent, num_retries, files
-- statement: cancel (postgresql)
update tasks set status = 'cancelled', completed_at = $3, updated_at = $3, lease_owner = null, lease_ms = null
where id = $1 and (cast($2 as text) is null or user_id = $2)
  and status in (select json_array_elements_text(cast($4 as json)))
  returning lease_token, endpoint, user_id, traceparent, num_retries, files

-- statement: retry
update tasks set status = 'created', num_retries = 0, progress = 0, result = null, result_bytes = 0, error = null,
  assigned_at = null, completed_at = null, available_at = $3, updated_at = $3
where id = $1 and (cast($2 as text) is null or user_id = $2) and status = 'failed' returning id

-- At most $2 tasks, starting with the task that failed first.
-- statement: retryFailed (sqlite)
update tasks set status = 'created', num_retries = 0, progress = 0, result = null, result_bytes = 0, error = null,
  assigned_at = null, completed_at = null, available_at = $1, updated_at = $1
where seq in (
  select seq from tasks where status = 'failed' and {filters} order by completed_at, seq limit $2
) and status = 'failed' returning id
-- Materialized, because a subquery with a lock may run more than once and then choose other rows.
-- statement: retryFailed (postgresql)
with chosen as materialized (
  select seq from tasks where status = 'failed' and {filters} order by completed_at, seq limit $2 for update skip locked
)
update tasks set status = 'created', num_retries = 0, progress = 0, result = null, result_bytes = 0, error = null,
  assigned_at = null, completed_at = null, available_at = $1, updated_at = $1
where seq in (select seq from chosen) and status = 'failed' returning id

-- A task that a host runs is not removed.
-- statement: remove
delete from tasks where id = $1 and (cast($2 as text) is null or user_id = $2) and status not in ('assigned', 'running')
  returning files

-- Files of completed tasks are gone.
-- statement: prune
delete from tasks where seq in (
  select seq from tasks where status in ('completed', 'failed', 'cancelled') and completed_at <= $1
    order by completed_at limit $2
) returning case when status = 'completed' then '[]' else files end as files
