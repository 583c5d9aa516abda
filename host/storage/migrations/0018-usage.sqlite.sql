-- Records of usage that another server has not taken yet.
create table usage_records (
  seq integer primary key autoincrement,
  id text not null unique,
  record text not null check (json_valid(record)),
  -- When it may be sent; while a host has it, when its lease is over.
  due_at integer not null,
  lease_owner text
) strict;
create index usage_records_due on usage_records (due_at, seq);
create index usage_records_held on usage_records (lease_owner) where lease_owner is not null;
