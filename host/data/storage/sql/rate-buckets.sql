-- $1 is a JSON list of keys, the requests that were taken, and the milliseconds in which one comes back, in the order
-- of the keys, so that hosts wait for each other in one order. Times are those of the database, because the clocks of
-- hosts differ.
-- statement: take (sqlite)
insert into rate_buckets (key, lacking, step_ms, looked_at)
select json_extract(value, '$.key'), json_extract(value, '$.count'), json_extract(value, '$.stepMs'),
  unixepoch('subsec') * 1000.0
from json_each($1) where true
on conflict (key) do update set
  lacking = excluded.lacking + max(0, rate_buckets.lacking
    - max(0, excluded.looked_at - rate_buckets.looked_at) / rate_buckets.step_ms),
  step_ms = excluded.step_ms, looked_at = excluded.looked_at
returning key, lacking, step_ms
-- statement: take (postgresql)
insert into rate_buckets (key, lacking, step_ms, looked_at)
select value ->> 'key', cast(value ->> 'count' as float8), cast(value ->> 'stepMs' as float8),
  extract(epoch from clock_timestamp()) * 1000
from json_array_elements(cast($1 as json))
on conflict (key) do update set
  lacking = excluded.lacking + greatest(0, rate_buckets.lacking
    - greatest(0, excluded.looked_at - rate_buckets.looked_at) / rate_buckets.step_ms),
  step_ms = excluded.step_ms, looked_at = excluded.looked_at
returning key, lacking, step_ms

-- The condition is there twice, because a host can take from a chosen bucket before it is removed.
-- statement: prune
delete from rate_buckets where key in (
  select key from rate_buckets where looked_at + lacking * step_ms < $1 limit $2
) and looked_at + lacking * step_ms < $1 returning key
