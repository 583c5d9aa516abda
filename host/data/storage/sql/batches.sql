-- statement: insert
insert into batches (id, owner, task_id, endpoint, input_file_id, metadata, output_expires_after, created_at,
  expires_at, status, in_progress_at, total)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) on conflict do nothing

-- statement: read
select batches.*, tasks.status as task_status from batches left join tasks on tasks.id = batches.task_id
  where batches.id = $1 and owner = $2

-- The batches of a user between the ids $2 and $3.
-- statement: newest
select batches.*, tasks.status as task_status from batches left join tasks on tasks.id = batches.task_id
where owner = $1 and batches.id > $2 and batches.id < $3 order by batches.id desc limit $4

-- statement: oldest
select batches.*, tasks.status as task_status from batches left join tasks on tasks.id = batches.task_id
where owner = $1 and batches.id > $2 and batches.id < $3 order by batches.id limit $4

-- A batch without an attempt has nothing to finish.
-- statement: cancel
update batches set
  status = case when attempt = 0 then 'cancelled' else 'cancelling' end, cancelling_at = $3,
  cancelled_at = case when attempt = 0 then cast($3 as bigint) end
where id = $1 and owner = $2 and status in ('validating', 'in_progress') returning task_id, attempt

-- statement: remove
delete from batches where id = $1 and owner = $2

-- statement: prune
delete from batches where id in (select id from batches where created_at <= $1 order by created_at limit $2)
  returning id
