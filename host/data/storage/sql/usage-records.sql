-- Records are numbered and removed in their order, so this is nearly their number, without counting them.
-- statement: span
select coalesce(max(seq) - min(seq) + 1, 0) as span from usage_records

-- $1 is a JSON list of records.
-- statement: insert (sqlite)
insert into usage_records (id, record, due_at) select json_extract(value, '$.id'), value, $2 from json_each($1)
  where true on conflict (id) do nothing
-- statement: insert (postgresql)
insert into usage_records (id, record, due_at)
select value ->> 'id', cast(value as text), $2 from json_array_elements(cast($1 as json)) on conflict (id) do nothing

-- statement: claim
update usage_records set lease_owner = $2, due_at = $4
where due_at <= $1 and seq in (select seq from usage_records where due_at <= $1 order by due_at, seq limit $3)
returning seq, record

-- statement: remove (sqlite)
delete from usage_records where lease_owner = $1 and seq in (select value from json_each($2))
-- statement: remove (postgresql)
delete from usage_records where lease_owner = $1
  and seq in (select cast(json_array_elements_text(cast($2 as json)) as bigint))

-- statement: giveBack
update usage_records set lease_owner = null, due_at = $2 where lease_owner = $1
