-- What callers have used of limits of rates, on all hosts. A bucket that lacks nothing needs no row.
create table rate_buckets (
  key text primary key,
  -- Requests that the bucket lacked at `looked_at`, and the milliseconds in which one comes back.
  lacking double precision not null,
  step_ms double precision not null,
  -- Milliseconds since 1970, by the clock of the database.
  looked_at double precision not null
);
