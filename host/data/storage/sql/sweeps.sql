-- Takes the sweep unless a host has begun it between $3 and $4. A time beyond $4 comes from a clock that was set back.
-- statement: claim
insert into sweeps (name, begun_at) values ($1, $2) on conflict (name) do update set begun_at = excluded.begun_at
  where sweeps.begun_at not between $3 and $4
returning begun_at

-- statement: release
delete from sweeps where name = $1 and begun_at = $2
