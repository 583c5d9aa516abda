-- A value whose time `expires_at` is not after now is missing for readers. Its row counts for the limits until it is
-- removed.

-- statement: get
select value from plugin_values where plugin = $1 and key = $2 and (expires_at is null or expires_at > $3)

-- statement: read
select value, expires_at from plugin_values where plugin = $1 and key = $2 and (expires_at is null or expires_at > $3)

-- Also makes a second writer of the same plugin wait until this transaction ends.
-- statement: lockUsage
insert into plugin_usage (plugin, keys, bytes) values ($1, 0, 0)
on conflict (plugin) do update set plugin = excluded.plugin returning keys, bytes

-- statement: size
select length(value) as bytes from plugin_values where plugin = $1 and key = $2

-- statement: set
insert into plugin_values (plugin, key, value, expires_at) values ($1, $2, $3, $4)
on conflict (plugin, key) do update set value = excluded.value, expires_at = excluded.expires_at

-- statement: setUsage
update plugin_usage set keys = $2, bytes = $3 where plugin = $1

-- statement: remove
delete from plugin_values where plugin = $1 and key = $2 returning length(value) as bytes, expires_at

-- A plugin that has values which expired until $1.
-- statement: pluginWithExpired
select plugin from plugin_values where expires_at <= $1 limit 1

-- At most $3 values of the plugin $1 that expired until $2.
-- statement: removeExpired
delete from plugin_values where plugin = $1 and key in
  (select key from plugin_values where plugin = $1 and expires_at <= $2 limit $3)
returning length(value) as bytes

-- The keys that begin with $3, which has $4 bytes, and come after $2, at the time $5.
-- statement: list (sqlite)
select key, length(value) as bytes, expires_at from plugin_values
where plugin = $1 and key > $2 and key >= $3 and substr(key, 1, $4) = $3 and (expires_at is null or expires_at > $5)
order by key limit $6
-- statement: list (postgresql)
select key, length(value) as bytes, expires_at from plugin_values
where plugin = $1 and key > $2 and key >= $3 and substring(key from 1 for cast($4 as integer)) = $3
  and (expires_at is null or expires_at > $5)
order by key limit $6

-- Those of them until $6, with their values.
-- statement: listValues (sqlite)
select key, length(value) as bytes, expires_at, value from plugin_values
where plugin = $1 and key > $2 and key >= $3 and substr(key, 1, $4) = $3 and (expires_at is null or expires_at > $5)
  and key <= $6
order by key
-- statement: listValues (postgresql)
select key, length(value) as bytes, expires_at, value from plugin_values
where plugin = $1 and key > $2 and key >= $3 and substring(key from 1 for cast($4 as integer)) = $3
  and (expires_at is null or expires_at > $5) and key <= $6
order by key
