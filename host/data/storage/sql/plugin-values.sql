-- statement: get
select value from plugin_values where plugin = $1 and key = $2

-- Also makes a second writer of the same plugin wait until this transaction ends.
-- statement: lockUsage
insert into plugin_usage (plugin, keys, bytes) values ($1, 0, 0)
on conflict (plugin) do update set plugin = excluded.plugin returning keys, bytes

-- statement: size
select length(value) as bytes from plugin_values where plugin = $1 and key = $2

-- statement: set
insert into plugin_values (plugin, key, value) values ($1, $2, $3)
on conflict (plugin, key) do update set value = excluded.value

-- statement: setUsage
update plugin_usage set keys = $2, bytes = $3 where plugin = $1

-- statement: remove
delete from plugin_values where plugin = $1 and key = $2 returning length(value) as bytes

-- The keys that begin with $3, which has $4 bytes, and come after $2.
-- statement: list (sqlite)
select key from plugin_values where plugin = $1 and key > $2 and key >= $3 and substr(key, 1, $4) = $3 order by key
  limit $5
-- statement: list (postgresql)
select key from plugin_values where plugin = $1 and key > $2 and key >= $3
  and substring(key from 1 for cast($4 as integer)) = $3 order by key limit $5
