-- SQLite gets the index by name, because it prefers the index on `status`: by its estimate most tasks have another
-- status.

-- Due tasks ($1) without a user, for endpoints of this host ($2): the most urgent first, then the oldest.
-- statement: ofNobody (sqlite)
select id from tasks indexed by tasks_waiting_of_nobody
where status in ('created', 'not_finished') and user_id is null and available_at <= $1
  and endpoint in (select value from json_each($2))
order by priority desc, seq limit $3
-- statement: ofNobody (postgresql)
select id from tasks
where status in ('created', 'not_finished') and user_id is null and available_at <= $1
  and endpoint in (select json_array_elements_text(cast($2 as json)))
order by priority desc, seq limit $3 for update skip locked

-- Due tasks of one user ($4), without the first $5.
-- statement: ofUser (sqlite)
select id from tasks indexed by tasks_waiting_of_user
where status in ('created', 'not_finished') and user_id = $4 and available_at <= $1
  and endpoint in (select value from json_each($2))
order by priority desc, seq limit $3 offset $5
-- statement: ofUser (postgresql)
select id from tasks
where status in ('created', 'not_finished') and user_id = $4 and available_at <= $1
  and endpoint in (select json_array_elements_text(cast($2 as json)))
order by priority desc, seq limit $3 offset $5

-- Those of the endpoints $1 for which users wait. There is no "exists", because PostgreSQL would read all waiting users
-- for it.
-- statement: endpoints (sqlite)
select value as endpoint from json_each($1)
  where (select 1 from waiting_users where endpoint = value limit 1) is not null
-- statement: endpoints (postgresql)
select endpoint from json_array_elements_text(cast($1 as json)) as given (endpoint)
where (select 1 from waiting_users where waiting_users.endpoint = given.endpoint limit 1) is not null

-- The users with running tasks; `here` counts those of the host $1.
-- statement: active
select user_id, count(*) as active, sum(case when lease_owner = $1 then 1 else 0 end) as here from tasks
where status in ('assigned', 'running') and user_id is not null group by user_id

-- At most $4 users who wait for the endpoint $1, after the turn $2 and the row $3, in the order of their turns.
-- `due_at` is null if no task of the user
-- waits any more. With $5, only users with an active subscription may run tasks.
-- statement: waiting (sqlite)
select id, user_id, turn_at,
  (select min(available_at) from tasks indexed by tasks_waiting_for_endpoint
    where status in ('created', 'not_finished') and tasks.user_id = waiting_users.user_id
      and tasks.endpoint = $1) as due_at,
  not cast($5 as boolean) or exists (select 1 from api_keys
    where api_keys.user_id = waiting_users.user_id and is_subscription_active) as may_run
from waiting_users where endpoint = $1 and (turn_at, id) > ($2, $3) order by turn_at, id limit $4
-- statement: waiting (postgresql)
select id, user_id, turn_at,
  (select min(available_at) from tasks where status in ('created', 'not_finished')
    and tasks.user_id = waiting_users.user_id and tasks.endpoint = $1) as due_at,
  not cast($5 as boolean) or exists (select 1 from api_keys
    where api_keys.user_id = waiting_users.user_id and is_subscription_active) as may_run
from waiting_users where endpoint = $1 and (turn_at, id) > (cast($2 as bigint), cast($3 as bigint)) order by turn_at, id
  limit $4

-- Those of the rows $1 to which no running transaction adds a task. They stay locked.
-- statement: lock (sqlite)
select id from waiting_users where id in (select value from json_each($1))
-- statement: lock (postgresql)
select id from waiting_users where id = any (array(select cast(json_array_elements_text(cast($1 as json)) as bigint)))
  for update skip locked

-- Removes those of the rows $1 whose users have no more waiting tasks.
-- statement: leave (sqlite)
delete from waiting_users where id in (select value from json_each($1)) and not exists (
  select 1 from tasks indexed by tasks_waiting_for_endpoint
  where status in ('created', 'not_finished') and tasks.user_id = waiting_users.user_id
    and tasks.endpoint = waiting_users.endpoint
)
-- statement: leave (postgresql)
delete from waiting_users where id = any (array(select cast(json_array_elements_text(cast($1 as json)) as bigint)))
  and (
  select 1 from tasks where status in ('created', 'not_finished') and tasks.user_id = waiting_users.user_id
    and tasks.endpoint = waiting_users.endpoint limit 1
) is null

-- statement: nobody
select (select count(*) from tasks where status in ('assigned', 'running') and user_id is null) as active,
  (select turn_at from waiting_users where user_id = '' and endpoint = '') as turn_at

-- Stores that the users $1 had their turn. PostgreSQL looks up each of an array; it would join a list with all waiting
-- users.
-- statement: turn (sqlite)
update waiting_users set turn_at = $2 where user_id in (select value from json_each($1))
-- statement: turn (postgresql)
update waiting_users set turn_at = $2 where user_id = any (array(select json_array_elements_text(cast($1 as json))))

-- statement: waitingOfUser
select count(*) as count from (select 1 from tasks where status in ('created', 'not_finished') and user_id = $1
  order by priority desc, seq limit $2) as waiting
