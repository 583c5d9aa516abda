-- Records of usage that another server has not taken yet.
create table usage_records (
  seq bigint generated always as identity primary key,
  id text not null unique,
  record text not null,
  -- When it may be sent; while a host has it, when its lease is over.
  due_at bigint not null,
  lease_owner text
);
create index usage_records_due on usage_records (due_at, seq);
create index usage_records_held on usage_records (lease_owner) where lease_owner is not null;
