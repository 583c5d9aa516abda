-- The version of a collection also grows when hosts that do not know it change chunks. PostgreSQL has no process that
-- keeps vectors in memory.
create trigger vector_chunks_added after insert on vector_chunks begin
  update vector_collections set version = version + 1 where id = new.collection;
end;
create trigger vector_chunks_changed after update on vector_chunks begin
  update vector_collections set version = version + 1 where id = new.collection;
end;
create trigger vector_chunks_removed after delete on vector_chunks begin
  update vector_collections set version = version + 1 where id = old.collection;
end;
