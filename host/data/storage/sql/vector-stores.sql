-- statement: insert
insert into vector_stores (id, owner, name, metadata, model, expires_after_days, created_at, last_active_at)
values ($1, $2, $3, $4, $5, $6, $7, $7)

-- statement: number
select count(*) as number from vector_stores where owner = $1

-- statement: read
select * from vector_stores where id = $1 and owner = $2

-- The stores of a user between the ids $2 and $3.
-- statement: newest
select * from vector_stores where owner = $1 and id > $2 and id < $3 order by id desc limit $4

-- statement: oldest
select * from vector_stores where owner = $1 and id > $2 and id < $3 order by id limit $4

-- statement: change
update vector_stores set name = $3, metadata = $4, expires_after_days = $5, last_active_at = $6
where id = $1 and owner = $2 returning *

-- statement: touch
update vector_stores set last_active_at = $3
where id = $1 and owner = $2 and last_active_at < $4 and (expires_at is null or expires_at > $3) returning id

-- Waits for other transactions that change the store or its files.
-- statement: lock
update vector_stores set owner = owner where id = $1 and owner = $2 returning *

-- statement: remove
delete from vector_stores where id = $1 and owner = $2 returning *

-- statement: expired
select id, owner from vector_stores where expires_after_days is not null and expires_at <= $1
order by expires_at limit $2

-- What makes the vectors has changed. The collection of the generation before keeps the texts until they have new ones.
-- statement: renew
update vector_stores set model = $4, generation = generation + 1,
  source_generation = coalesce(source_generation, generation), renewed_at = $5
where id = $1 and owner = $2 and generation = $3 returning *

-- statement: unread
select file_id from vector_store_files where store_id = $1 and status = 'in_progress'

-- statement: renewFiles
update vector_store_files set run_id = $2, status = 'in_progress', chunks = 0, usage_bytes = 0
where store_id = $1 and status in ('in_progress', 'completed') returning file_id

-- A file whose run was lost counts, too: its texts are in the collection before.
-- statement: endRenewal
update vector_stores set source_generation = null
where id = $1 and owner = $2 and source_generation is not null and not exists (
  select 1 from vector_store_files where store_id = $1 and status = 'in_progress'
) returning id

-- statement: counts (sqlite)
select store_id as id, state, count(*) as files, cast(coalesce(sum(usage_bytes), 0) as bigint) as bytes
from vector_store_file_states where store_id in (select value from json_each($1)) group by store_id, state
-- statement: counts (postgresql)
select store_id as id, state, count(*) as files, cast(coalesce(sum(usage_bytes), 0) as bigint) as bytes
from vector_store_file_states where store_id in (select json_array_elements_text(cast($1 as json)))
group by store_id, state
