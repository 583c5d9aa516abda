-- The users who wait, for each endpoint, in the order of their turns. A row appears with the first task of a user that waits for an endpoint. A claim
-- removes rows without such a task, and sets `turn_at` (milliseconds since 1970) of the users that it serves. The empty user is nobody, whose row stays.
-- Transactions that run at the same time may add two rows for one user and endpoint, which does no harm, and none waits for another.
create table waiting_users (
  id bigint generated always as identity primary key,
  user_id text not null,
  endpoint text not null,
  turn_at bigint not null
);
insert into waiting_users (user_id, endpoint, turn_at) select '', '', coalesce((select taken_at from task_turns where user_id = ''), 0);
insert into waiting_users (user_id, endpoint, turn_at)
select user_id, endpoint, coalesce((select taken_at from task_turns where task_turns.user_id = tasks.user_id), min(created_at))
from tasks where status in ('created', 'not_finished') and user_id is not null group by user_id, endpoint;
create index waiting_users_turn on waiting_users (endpoint, turn_at, id, user_id);
create index waiting_users_user on waiting_users (user_id, endpoint);
drop table task_turns;

-- When the first of them is due.
create index tasks_waiting_for_endpoint on tasks (user_id, endpoint, available_at) where status in ('created', 'not_finished') and user_id is not null;

-- The lock keeps the row of a user until the task is committed: a claim, which does not see the task yet, leaves locked rows alone.
create function add_waiting_user() returns trigger language plpgsql as $$
begin
  perform 1 from waiting_users where user_id = new.user_id and endpoint = new.endpoint limit 1 for key share;
  if not found then
    insert into waiting_users (user_id, endpoint, turn_at) values (new.user_id, new.endpoint, new.updated_at);
  end if;
  return null;
end
$$;
create trigger tasks_wait_inserted after insert on tasks for each row
when (new.user_id is not null and new.status in ('created', 'not_finished')) execute function add_waiting_user();
create trigger tasks_wait_updated after update of status on tasks for each row
when (new.user_id is not null and new.status in ('created', 'not_finished') and old.status not in ('created', 'not_finished')) execute function add_waiting_user();

-- The tasks of a user, the newest first.
create index tasks_of_user on tasks (user_id, seq);
