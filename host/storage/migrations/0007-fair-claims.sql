-- What waits, for each user by urgency and age. Endpoint and time are in the index because tasks are filtered by them: input and result lie between
-- the columns of a row, and are not to be read for that.
create index tasks_waiting_of_user on tasks (user_id, priority desc, seq, endpoint, available_at) where status in ('created', 'not_finished') and user_id is not null;
create index tasks_waiting_of_nobody on tasks (priority desc, seq, endpoint, available_at) where status in ('created', 'not_finished') and user_id is null;
create index tasks_due on tasks (available_at) where status in ('created', 'not_finished');
drop index tasks_waiting;
drop index tasks_waiting_users;

-- When each user last had a task taken (milliseconds since 1970): users with as many running tasks take turns. The empty user is nobody.
create table task_turns (
  user_id text primary key,
  taken_at bigint not null
);
