-- When another model began to make the vectors of a store; null if none has.
alter table vector_stores add column renewed_at integer;
