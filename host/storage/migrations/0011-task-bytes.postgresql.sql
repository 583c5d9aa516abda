-- How many bytes a task keeps, for the limit of its user: its uploads, which are removed when it has completed or was cancelled; its input and the
-- values that its attempts streamed; its result; and about what its rows take besides.
alter table tasks add column file_bytes bigint not null default 0;
alter table tasks add column text_bytes bigint not null default 0;
alter table tasks add column result_bytes bigint not null default 0;
-- Functions for JSON refuse a file's name with U+0000. The key is not found inside of names, where its quotes are escaped.
update tasks set
  file_bytes = (select coalesce(sum(cast(found[1] as bigint)), 0) from regexp_matches(cast(files as text), '"bytes":([0-9]+)', 'g') as found),
  text_bytes = octet_length(cast(data as text)) + (select coalesce(sum(octet_length(cast(task_events.data as text))), 0) from task_events where task_id = tasks.id and event = 'chunk'),
  result_bytes = coalesce(octet_length(cast(result as text)), 0)
where user_id is not null;
alter table tasks add column kept_bytes bigint generated always as (1024 + text_bytes + result_bytes + case when status in ('completed', 'cancelled') then 0 else file_bytes end) stored;

-- What users keep is the sum of their rows here. Each change of a task adds one, so that hosts which change tasks of one user wait for nothing.
create table task_usage (
  id bigint generated always as identity primary key,
  user_id text not null,
  bytes bigint not null
);
create index task_usage_user on task_usage (user_id, bytes);
insert into task_usage (user_id, bytes) select user_id, sum(kept_bytes) from tasks where user_id is not null group by user_id;

create function count_task_bytes() returns trigger language plpgsql as $$
begin
  case tg_op
    when 'INSERT' then insert into task_usage (user_id, bytes) values (new.user_id, new.kept_bytes);
    when 'UPDATE' then insert into task_usage (user_id, bytes) values (new.user_id, new.kept_bytes - old.kept_bytes);
    else insert into task_usage (user_id, bytes) values (old.user_id, -old.kept_bytes);
  end case;
  return null;
end
$$;
create trigger tasks_count_inserted after insert on tasks for each row when (new.user_id is not null) execute function count_task_bytes();
create trigger tasks_count_updated after update on tasks for each row when (new.user_id is not null and new.kept_bytes <> old.kept_bytes) execute function count_task_bytes();
create trigger tasks_count_deleted after delete on tasks for each row when (old.user_id is not null) execute function count_task_bytes();
