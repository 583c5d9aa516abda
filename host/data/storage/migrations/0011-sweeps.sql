-- When a host last began what one host of all does at a time, such as a look through the objects of a bucket.
create table sweeps (
  name text primary key,
  -- Milliseconds since 1970, by the clock of the database.
  begun_at bigint not null
);
