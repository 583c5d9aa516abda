-- Grows with each change of a collection, so that a process knows whether the vectors that it keeps are still right.
alter table vector_collections add column version bigint not null default 0;
