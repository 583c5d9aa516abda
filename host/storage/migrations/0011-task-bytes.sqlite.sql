-- How many bytes a task keeps, for the limit of its user: its uploads, which are removed when it has completed or was cancelled; its input and the
-- values that its attempts streamed; its result; and about what its rows take besides.
alter table tasks add column file_bytes integer not null default 0;
alter table tasks add column text_bytes integer not null default 0;
alter table tasks add column result_bytes integer not null default 0;
update tasks set
  file_bytes = (select coalesce(sum(json_extract(value, '$.bytes')), 0) from json_each(files)),
  text_bytes = octet_length(data) + (select coalesce(sum(octet_length(task_events.data)), 0) from task_events where task_id = tasks.id and event = 'chunk'),
  result_bytes = coalesce(octet_length(result), 0)
where user_id is not null;
alter table tasks add column kept_bytes integer generated always as (1024 + text_bytes + result_bytes + case when status in ('completed', 'cancelled') then 0 else file_bytes end) virtual;

-- What users keep is the sum of their rows here. Each change of a task adds one, so that hosts which change tasks of one user wait for nothing.
create table task_usage (
  id integer primary key autoincrement,
  user_id text not null,
  bytes integer not null
) strict;
create index task_usage_user on task_usage (user_id, bytes);
insert into task_usage (user_id, bytes) select user_id, sum(kept_bytes) from tasks where user_id is not null group by user_id;

create trigger tasks_count_inserted after insert on tasks when new.user_id is not null begin
  insert into task_usage (user_id, bytes) values (new.user_id, new.kept_bytes);
end;
create trigger tasks_count_updated after update of status, file_bytes, text_bytes, result_bytes on tasks when new.user_id is not null and new.kept_bytes <> old.kept_bytes begin
  insert into task_usage (user_id, bytes) values (new.user_id, new.kept_bytes - old.kept_bytes);
end;
create trigger tasks_count_deleted after delete on tasks when old.user_id is not null begin
  insert into task_usage (user_id, bytes) values (old.user_id, -old.kept_bytes);
end;
