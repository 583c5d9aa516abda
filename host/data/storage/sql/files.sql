-- statement: insert
insert into files (id, owner, purpose, filename, bytes, sha256, created_at, expires_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8)

-- statement: read
select id, purpose, filename, bytes, sha256, created_at, expires_at from files
  where id = $1 and owner = $2 and (expires_at is null or expires_at > $3)

-- The files of a user after the id $3, the oldest first. An empty purpose ($4) is every purpose.
-- statement: oldest
select id, purpose, filename, bytes, sha256, created_at, expires_at from files
where owner = $1 and (expires_at is null or expires_at > $2) and ($3 = '' or id > $3) and ($4 = '' or purpose = $4)
  order by id limit $5

-- statement: newest
select id, purpose, filename, bytes, sha256, created_at, expires_at from files
where owner = $1 and (expires_at is null or expires_at > $2) and ($3 = '' or id < $3) and ($4 = '' or purpose = $4)
  order by id desc limit $5

-- A file that a batch still reads stays.
-- statement: remove
delete from files where id = $1 and owner = $2 and not exists (
  select 1 from batches join tasks on tasks.id = batches.task_id
  where input_file_id = files.id and batches.status in ('validating', 'in_progress', 'cancelling')
    and tasks.status in ('created', 'not_finished', 'assigned', 'running')
) returning id

-- statement: prune
delete from files where id in (select id from files where expires_at <= $1 and not exists (
  select 1 from batches join tasks on tasks.id = batches.task_id
  where input_file_id = files.id and batches.status in ('validating', 'in_progress', 'cancelling')
    and tasks.status in ('created', 'not_finished', 'assigned', 'running')
) order by expires_at limit $2) returning id

-- statement: bytesOf
select bytes, sha256 from files where id = $1

-- statement: sum
select cast(coalesce(sum(bytes), 0) as bigint) as bytes, count(*) as rows from file_usage where user_id = $1

-- Removes the rows of a user, which one row then replaces. Rows that another transaction removes at the same time are
-- left to it.
-- statement: take (sqlite)
delete from file_usage where user_id = $1 returning bytes
-- statement: take (postgresql)
delete from file_usage where id in (select id from file_usage where user_id = $1 for update skip locked) returning bytes

-- statement: add
insert into file_usage (user_id, bytes) values ($1, $2)
