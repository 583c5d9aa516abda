-- Tokens that callers have used in a calendar month (UTC), such as `2026-11`.
create table user_tokens (
  month text not null,
  -- `user ann`, `key ann-1`, `address 10.0.0.1`.
  name text not null,
  tokens bigint not null,
  primary key (month, name)
);
