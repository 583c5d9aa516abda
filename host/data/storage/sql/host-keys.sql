-- statement: read
select value from host_keys where name = $1

-- statement: insert
insert into host_keys (name, value) values ($1, $2) on conflict do nothing
