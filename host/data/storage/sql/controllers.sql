-- statement: takeOver
insert into controllers (application, epoch, host, started_at) values ($1, 1, $2, $3)
on conflict (application) do update
  set epoch = controllers.epoch + 1, host = excluded.host, started_at = excluded.started_at
returning epoch

-- statement: read
select epoch, host from controllers where application = $1

-- The next controller waits for the end of a transaction that has read this.
-- statement: lock (sqlite)
select epoch, host from controllers where application = $1
-- statement: lock (postgresql)
select epoch, host from controllers where application = $1 for update
