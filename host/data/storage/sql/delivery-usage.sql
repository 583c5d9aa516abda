-- statement: sum
select cast(coalesce(sum(bytes), 0) as bigint) as bytes, count(*) as rows from delivery_usage where user_id = $1

-- Removes the rows of a user, which one row then replaces. Rows that another transaction removes at the same time are
-- left to it.
-- statement: take (sqlite)
delete from delivery_usage where user_id = $1 returning bytes
-- statement: take (postgresql)
delete from delivery_usage where id in (select id from delivery_usage where user_id = $1 for update skip locked)
  returning bytes

-- statement: add
insert into delivery_usage (user_id, bytes) values ($1, $2)
