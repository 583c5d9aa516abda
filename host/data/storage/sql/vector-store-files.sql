-- Waits for other transactions that change the store or its files.
-- statement: store
update vector_stores set owner = owner where id = $1 and owner = $2 returning *

-- statement: use
update vector_stores set last_active_at = $3 where id = $1 and owner = $2 returning *

-- statement: addRun
insert into vector_store_runs (id, store_id, task_id, created_at) values ($1, $2, $3, $4) on conflict do nothing

-- statement: run
select runs.id, runs.created_at, runs.cancelled_at from vector_store_runs as runs
join vector_stores as stores on stores.id = runs.store_id
where runs.id = $1 and runs.store_id = $2 and stores.owner = $3

-- statement: runCounts
select state, count(*) as files from vector_store_file_states where batch_id = $1 group by state

-- statement: cancelRun
update vector_store_runs set cancelled_at = $2 where id = $1 and cancelled_at is null and exists (
  select 1 from vector_store_files where batch_id = $1 and status = 'in_progress'
) returning id

-- statement: cancelFiles
update vector_store_files set status = 'cancelled', chunks = 0, usage_bytes = 0
where batch_id = $1 and status = 'in_progress' returning file_id

-- statement: addFile
insert into vector_store_files (store_id, file_id, batch_id, run_id, filename, bytes, status, attributes,
  max_chunk_tokens, chunk_overlap_tokens, created_at)
values ($1, $2, $3, $3, $4, $5, 'in_progress', $6, $7, $8, $9)
on conflict (store_id, file_id) do update set batch_id = excluded.batch_id, run_id = excluded.run_id,
  filename = excluded.filename, bytes = excluded.bytes, status = 'in_progress', error_code = null,
  error_message = null, attributes = excluded.attributes, max_chunk_tokens = excluded.max_chunk_tokens,
  chunk_overlap_tokens = excluded.chunk_overlap_tokens, chunks = 0, usage_bytes = 0, created_at = excluded.created_at

-- statement: filesIn
select count(*) as files from vector_store_files where store_id = $1

-- statement: file
select * from vector_store_file_states where store_id = $1 and file_id = $2

-- The files of a store between the ids $2 and $3.
-- statement: newestFiles
select * from vector_store_file_states where store_id = $1 and file_id > $2 and file_id < $3 and {filters}
order by file_id desc limit $4

-- statement: oldestFiles
select * from vector_store_file_states where store_id = $1 and file_id > $2 and file_id < $3 and {filters}
order by file_id limit $4

-- statement: setAttributes
update vector_store_files set attributes = $3, usage_bytes = usage_bytes + $4 where store_id = $1 and file_id = $2

-- statement: removeFile
delete from vector_store_files where store_id = $1 and file_id = $2 returning file_id

-- statement: storesWith
select store_id from vector_store_files join vector_stores on vector_stores.id = store_id
where file_id = $1 and owner = $2

-- statement: begin
update vector_store_runs set attempt = attempt + 1 where id = $1 returning id, store_id, attempt

-- The next file of a run, if the attempt is the latest one.
-- statement: next
select files.* from vector_store_files as files join vector_store_runs as runs on runs.id = files.run_id
where runs.id = $1 and runs.attempt = $2 and files.status = 'in_progress' order by files.file_id limit 1

-- Takes the next chunks of a file from $4 to $5, if the attempt is the latest one.
-- statement: advance
update vector_store_files set chunks = $5
where store_id = $1 and file_id = $2 and status = 'in_progress' and chunks = $4
  and exists (select 1 from vector_store_runs where id = run_id and id = $6 and attempt = $3) returning attributes

-- statement: grow
update vector_store_files set usage_bytes = usage_bytes + $3 where store_id = $1 and file_id = $2

-- statement: finish
update vector_store_files set status = $4, error_code = $5, error_message = $6,
  usage_bytes = case when $4 = 'completed' then usage_bytes else 0 end
where store_id = $1 and file_id = $2 and status = 'in_progress'
  and exists (select 1 from vector_store_runs where id = run_id and id = $7 and attempt = $3) returning file_id
