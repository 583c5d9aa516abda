-- SQLite gets the index by name, because it prefers the index on `status`: by its estimate most tasks have another status.

-- Due tasks ($1) without a user, for endpoints of this host ($2): the most urgent first, then the oldest.
-- statement: ofNobody (sqlite)
select id from tasks indexed by tasks_waiting_of_nobody
where status in ('created', 'not_finished') and user_id is null and available_at <= $1 and endpoint in (select value from json_each($2))
order by priority desc, seq limit $3
-- statement: ofNobody (postgresql)
select id from tasks
where status in ('created', 'not_finished') and user_id is null and available_at <= $1 and endpoint in (select json_array_elements_text(cast($2 as json)))
order by priority desc, seq limit $3 for update skip locked

-- Due tasks of one user ($4), without the first $5.
-- statement: ofUser (sqlite)
select id from tasks indexed by tasks_waiting_of_user
where status in ('created', 'not_finished') and user_id = $4 and available_at <= $1 and endpoint in (select value from json_each($2))
order by priority desc, seq limit $3 offset $5
-- statement: ofUser (postgresql)
select id from tasks
where status in ('created', 'not_finished') and user_id = $4 and available_at <= $1 and endpoint in (select json_array_elements_text(cast($2 as json)))
order by priority desc, seq limit $3 offset $5

-- statement: hasWaitingUsers (sqlite)
select 1 as found from tasks indexed by tasks_waiting_of_user where status in ('created', 'not_finished') and user_id is not null limit 1
-- statement: hasWaitingUsers (postgresql)
select 1 as found from tasks where status in ('created', 'not_finished') and user_id is not null limit 1

-- Users with due tasks and room for one more task: first the users with the fewest tasks, then the users whose turn was longest ago. Users are found
-- by steps along the index of waiting tasks, so the length of a backlog costs no time. `here` counts the tasks on the host $4. $5 and $6 are the most
-- tasks of a user on all hosts and on this one. With $7, only users with an active subscription count. There is no "exists", because PostgreSQL would
-- read whole backlogs for it.
-- statement: users (sqlite)
with recursive waiting (user_id) as (
  select min(user_id) from tasks indexed by tasks_waiting_of_user where status in ('created', 'not_finished') and user_id is not null
  union all
  select (select min(user_id) from tasks indexed by tasks_waiting_of_user where status in ('created', 'not_finished') and user_id > waiting.user_id) from waiting where waiting.user_id is not null
)
select waiting.user_id, coalesce(held.active, 0) as active, coalesce(here, 0) as here, coalesce(taken_at, 0) as taken_at
from waiting
left join (
  select user_id, count(*) as active, sum(case when lease_owner = $4 then 1 else 0 end) as here from tasks
  where status in ('assigned', 'running') and user_id is not null group by user_id
) as held on held.user_id = waiting.user_id
left join task_turns on task_turns.user_id = waiting.user_id
where waiting.user_id is not null and coalesce(held.active, 0) < $5 and coalesce(here, 0) < $6
  and (not cast($7 as boolean) or exists (select 1 from api_keys where api_keys.user_id = waiting.user_id and is_subscription_active))
  and exists (
    select 1 from tasks indexed by tasks_waiting_of_user
    where status in ('created', 'not_finished') and tasks.user_id = waiting.user_id and available_at <= $1 and endpoint in (select value from json_each($2))
  )
order by coalesce(held.active, 0), coalesce(taken_at, 0), waiting.user_id limit $3
-- statement: users (postgresql)
with recursive waiting (user_id) as (
  select min(user_id) from tasks where status in ('created', 'not_finished') and user_id is not null
  union all
  select (select min(user_id) from tasks where status in ('created', 'not_finished') and user_id > waiting.user_id) from waiting where waiting.user_id is not null
)
select waiting.user_id, coalesce(held.active, 0) as active, coalesce(here, 0) as here, coalesce(taken_at, 0) as taken_at
from waiting
left join (
  select user_id, count(*) as active, sum(case when lease_owner = $4 then 1 else 0 end) as here from tasks
  where status in ('assigned', 'running') and user_id is not null group by user_id
) as held on held.user_id = waiting.user_id
left join task_turns on task_turns.user_id = waiting.user_id
where waiting.user_id is not null and coalesce(held.active, 0) < $5 and coalesce(here, 0) < $6
  and (not cast($7 as boolean) or exists (select 1 from api_keys where api_keys.user_id = waiting.user_id and is_subscription_active))
  and (
    select seq from tasks
    where status in ('created', 'not_finished') and tasks.user_id = waiting.user_id and available_at <= $1 and endpoint in (select json_array_elements_text(cast($2 as json)))
    order by priority desc, seq limit 1
  ) is not null
order by coalesce(held.active, 0), coalesce(taken_at, 0), waiting.user_id limit $3

-- statement: nobody
select (select count(*) from tasks where status in ('assigned', 'running') and user_id is null) as active, coalesce((select taken_at from task_turns where user_id = ''), 0) as taken_at

-- Stores that the users $1 had their turn.
-- statement: turn (sqlite)
insert into task_turns (user_id, taken_at) select value, $2 from json_each($1) where true
on conflict (user_id) do update set taken_at = excluded.taken_at
-- statement: turn (postgresql)
insert into task_turns (user_id, taken_at) select value, $2 from json_array_elements_text(cast($1 as json)) as given (value)
on conflict (user_id) do update set taken_at = excluded.taken_at

-- statement: waitingOfUser
select count(*) as count from (select 1 from tasks where status in ('created', 'not_finished') and user_id = $1 order by priority desc, seq limit $2) as waiting
