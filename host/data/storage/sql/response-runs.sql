-- statement: insert
insert into response_runs (response_id, task_id, status, request, event_count) values ($1, $2, 'queued', $3, $4)

-- statement: begin
update response_runs set attempt = attempt + 1, status = 'in_progress'
  where response_id = $1 and status in ('queued', 'in_progress')
returning attempt, request, event_count

-- statement: read
select response_runs.status, tasks.status as task_status, event_count from response_runs
join responses on responses.id = response_runs.response_id left join tasks on tasks.id = response_runs.task_id
where response_id = $1 and owner = $2

-- The number of events of each of the responses $1 that has not ended. A response has also ended when its task has.
-- statement: positions (sqlite)
select response_id as id, event_count as position from response_runs join tasks on tasks.id = response_runs.task_id
where response_id in (select value from json_each($1)) and response_runs.status in ('queued', 'in_progress')
  and tasks.status not in ('completed', 'failed', 'cancelled')
-- statement: positions (postgresql)
select response_id as id, event_count as position from response_runs join tasks on tasks.id = response_runs.task_id
where response_id in (select json_array_elements_text(cast($1 as json)))
  and response_runs.status in ('queued', 'in_progress')
  and tasks.status not in ('completed', 'failed', 'cancelled')

-- Counts events of an attempt, unless they are counted or another attempt has begun.
-- statement: count
update response_runs set event_count = event_count + $4
  where response_id = $1 and attempt = $2 and event_count = $3 and status = 'in_progress' returning event_count

-- statement: isCounted
select event_count from response_runs where response_id = $1 and attempt = $2 and status = 'in_progress'
  and event_count = $3

-- statement: addEvents
insert into response_events (response_id, first_number, events) values ($1, $2, $3)

-- statement: removeEvents
delete from response_events where response_id = $1

-- A page of events from the event $2 on, which can be inside of a row: at most $3 rows, and none after the first $4
-- characters.
-- statement: events
select first_number, events from (
  select first_number, events, sum(length(events)) over (order by first_number) - length(events) as characters from (
    select first_number, events from response_events where response_id = $1 and first_number >= coalesce(
      (select max(first_number) from response_events where response_id = $1 and first_number <= $2), 0
    ) order by first_number limit $3
  ) as latest
) as page where characters < $4 order by first_number

-- statement: finish
update response_runs set status = $3, request = null where response_id = $1 and attempt = $2 and status = 'in_progress'
  returning response_id

-- statement: cancel
update response_runs set status = 'cancelled', request = null
  where response_id = $1 and status in ('queued', 'in_progress')
  and exists (select 1 from responses where id = response_id and owner = $2) returning task_id

-- The task of a response that has not ended.
-- statement: task
select task_id from response_runs join responses on responses.id = response_runs.response_id
where response_id = $1 and owner = $2 and status in ('queued', 'in_progress')
