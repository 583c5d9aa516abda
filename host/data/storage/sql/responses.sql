-- statement: insert
insert into responses (id, owner, previous_id, body, bytes, created_at, used_at) values ($1, $2, $3, $4, $5, $6, $6)

-- statement: insertItem
insert into response_items (response_id, position, source, owner, item_id, item) values ($1, $2, $3, $4, $5, $6)

-- statement: read
select body, response_runs.status, tasks.status as task_status from responses
left join response_runs on response_runs.response_id = responses.id left join tasks on tasks.id = response_runs.task_id
where responses.id = $1 and owner = $2

-- statement: items
select item from response_items where response_id = $1 and owner = $2 and source = $3 order by position

-- The response $1 and those that it continues, the newest first. `depth` ends the search in damaged data.
-- statement: chain
with recursive chain (id, previous_id, bytes, depth) as (
  select id, previous_id, bytes - event_bytes, 0 from responses where id = $1 and owner = $2
  union all
  select responses.id, responses.previous_id, responses.bytes - responses.event_bytes, chain.depth + 1
  from chain join responses on responses.id = chain.previous_id and responses.owner = $2 where chain.depth < $3
)
select chain.id, chain.previous_id, chain.bytes, response_runs.status from chain left
  join response_runs on response_runs.response_id = chain.id order by depth

-- The items of these responses, the oldest first.
-- statement: chainItems
with recursive chain (id, previous_id, depth) as (
  select id, previous_id, 0 from responses where id = $1 and owner = $2
  union all
  select responses.id, responses.previous_id, chain.depth + 1
  from chain join responses on responses.id = chain.previous_id and responses.owner = $2 where chain.depth < $3
)
select response_items.item from chain join response_items on response_items.response_id = chain.id
  order by chain.depth desc, response_items.position

-- statement: touch
with recursive chain (id, previous_id, depth) as (
  select id, previous_id, 0 from responses where id = $1 and owner = $2
  union all
  select responses.id, responses.previous_id, chain.depth + 1
  from chain join responses on responses.id = chain.previous_id and responses.owner = $2 where chain.depth < $3
)
update responses set used_at = $4 where id in (select id from chain)

-- The newest item with an id.
-- statement: findItem
select response_items.item from response_items join responses on responses.id = response_items.response_id
where response_items.owner = $1 and response_items.item_id = $2
  order by responses.created_at desc, response_items.position desc limit 1

-- statement: remove
delete from responses where id = $1 and owner = $2 returning id

-- A response that a task makes stays.
-- statement: prune
delete from responses where id in (select id from responses where used_at <= $1 and not exists (
  select 1 from response_runs join tasks on tasks.id = response_runs.task_id
  where response_id = responses.id and response_runs.status in ('queued', 'in_progress')
    and tasks.status in ('created', 'not_finished', 'assigned', 'running')
) order by used_at limit $2) returning id

-- Removes what a user has not used for longest, so that at most $2 bytes stay. The response $3 and those that tasks
-- make stay.
-- statement: evict
delete from responses where id in (
  select id from (
    select id, place, sum(bytes) over (order by place, used_at desc, created_at desc, id) as kept from (
      select id, bytes, used_at, created_at, case when id = $3 then 0 when exists (
        select 1 from response_runs join tasks on tasks.id = response_runs.task_id
        where response_id = responses.id and response_runs.status in ('queued', 'in_progress')
          and tasks.status in ('created', 'not_finished', 'assigned', 'running')
      ) then 0 else 1 end as place from responses where owner = $1
    ) as places
  ) as sizes where kept > $2 and place = 1
)

-- statement: sum
select cast(coalesce(sum(bytes), 0) as bigint) as bytes, count(*) as rows from response_usage where user_id = $1

-- Removes the rows of a user, which one row then replaces. Rows that another transaction removes at the same time are
-- left to it.
-- statement: take (sqlite)
delete from response_usage where user_id = $1 returning bytes
-- statement: take (postgresql)
delete from response_usage where id in (select id from response_usage where user_id = $1 for update skip locked)
  returning bytes

-- statement: add
insert into response_usage (user_id, bytes) values ($1, $2)

-- Adds the answer to a response that was stored without one.
-- statement: complete
update responses set body = $3, bytes = bytes + $4, event_bytes = $5 where id = $1 and owner = $2 returning id

-- statement: countItems
select count(*) as items from response_items where response_id = $1
