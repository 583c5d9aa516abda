-- statement: insert
insert into batches (id, owner, task_id, endpoint, input_file_id, metadata, output_expires_after, status, created_at, expires_at)
values ($1, $2, $3, $4, $5, $6, $7, 'validating', $8, $9) on conflict do nothing

-- statement: read
select batches.*, tasks.status as task_status from batches left join tasks on tasks.id = batches.task_id where batches.id = $1 and owner = $2

-- The batches of a user before the id $2, the newest first.
-- statement: list
select batches.*, tasks.status as task_status from batches left join tasks on tasks.id = batches.task_id
where owner = $1 and ($2 = '' or batches.id < $2) order by batches.id desc limit $3

-- A batch without an attempt has nothing to finish.
-- statement: cancel
update batches set
  status = case when attempt = 0 then 'cancelled' else 'cancelling' end, cancelling_at = $3,
  cancelled_at = case when attempt = 0 then cast($3 as bigint) end
where id = $1 and owner = $2 and status in ('validating', 'in_progress') returning task_id, attempt

-- statement: prune
delete from batches where id in (select id from batches where created_at <= $1 order by created_at limit $2) returning id
