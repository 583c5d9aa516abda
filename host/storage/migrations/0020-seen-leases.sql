-- A lease is lost when another host has seen the same number of renewals for `lease_ms` milliseconds.
alter table tasks add column lease_ms integer;
alter table tasks add column lease_renewals integer not null default 0;
drop index tasks_held;
alter table tasks drop column lease_expires_at;
create index tasks_held on tasks (user_id) where status in ('assigned', 'running');

-- A row that hosts change to see whether the database takes writes.
create table write_probe (writes integer not null);
insert into write_probe (writes) values (0);
