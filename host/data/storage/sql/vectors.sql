-- statement: create
insert into vector_collections (owner, name, model, dimensions, created_at) values ($1, $2, $3, $4, $5)
on conflict (owner, name) do nothing returning id

-- statement: find
select id, version, name, model, dimensions, chunks, bytes, created_at from vector_collections
where owner = $1 and name = $2

-- Waits for other transactions that change the collection, so that its chunks are counted one after the other.
-- statement: lock
update vector_collections set chunks = chunks where owner = $1 and name = $2
returning id, version, name, model, dimensions, chunks, bytes, created_at

-- statement: list
select name, model, dimensions, chunks, bytes, created_at from vector_collections where owner = $1 and name > $2
order by name limit $3

-- statement: remove
delete from vector_collections where owner = $1 and name = $2 returning id

-- statement: count
update vector_collections set chunks = chunks + $2, bytes = bytes + $3 where id = $1

-- statement: usage
select count(*) as collections, cast(coalesce(sum(chunks), 0) as bigint) as chunks,
  cast(coalesce(sum(bytes), 0) as bigint) as bytes
from vector_collections where owner = $1

-- The chunks that an upsert replaces.
-- statement: replaced (sqlite)
select id, bytes from vector_chunks where collection = $1 and name in (select value from json_each($2))
-- statement: replaced (postgresql)
select id, bytes from vector_chunks
where collection = $1 and name in (select json_array_elements_text(cast($2 as json)))

-- statement: upsert (sqlite)
insert into vector_chunks (collection, name, document, text, metadata, bytes)
select $1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 from json_each($2) where true
on conflict (collection, name) do update set document = excluded.document, text = excluded.text,
  metadata = excluded.metadata, bytes = excluded.bytes
returning id, name
-- statement: upsert (postgresql)
insert into vector_chunks (collection, name, document, text, metadata, bytes)
select $1, value ->> 0, value ->> 1, value ->> 2, cast(value ->> 3 as json), cast(value ->> 4 as bigint)
from json_array_elements(cast($2 as json)) as value
on conflict (collection, name) do update set document = excluded.document, text = excluded.text,
  metadata = excluded.metadata, bytes = excluded.bytes
returning id, name

-- statement: removeAttributes (sqlite)
delete from vector_attributes where chunk in (select value from json_each($1))
-- statement: removeAttributes (postgresql)
delete from vector_attributes where chunk in (select cast(json_array_elements_text(cast($1 as json)) as bigint))

-- statement: addAttributes (sqlite)
insert into vector_attributes (collection, chunk, key, type, text, number)
select $1, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 from json_each($2)
-- statement: addAttributes (postgresql)
insert into vector_attributes (collection, chunk, key, type, text, number)
select $1, cast(value ->> 0 as bigint), value ->> 1, value ->> 2, value ->> 3, cast(value ->> 4 as double precision)
from json_array_elements(cast($2 as json)) as value

-- statement: removeNamed (sqlite)
delete from vector_chunks where collection = $1 and name in (select value from json_each($2)) returning id, bytes
-- statement: removeNamed (postgresql)
delete from vector_chunks
where collection = $1 and name in (select json_array_elements_text(cast($2 as json))) returning id, bytes

-- statement: removeDocument
delete from vector_chunks where collection = $1 and document = $2 returning id, bytes

-- statement: page
select name, document, text, metadata from vector_chunks where collection = $1 and name > $2
order by name limit $3

-- statement: pageOfDocument
select name, document, text, metadata from vector_chunks where collection = $1 and document = $2 and name > $3
order by name limit $4

-- statement: documentChunks
select id, bytes from vector_chunks where collection = $1 and document = $2

-- Replaces metadata, whose new text has $4 bytes.
-- statement: describe (sqlite)
update vector_chunks set metadata = $3, bytes = bytes - length(cast(metadata as blob)) + $4
where collection = $1 and document = $2 returning id, bytes
-- statement: describe (postgresql)
update vector_chunks set metadata = cast($3 as json), bytes = bytes - octet_length(cast(metadata as text)) + $4
where collection = $1 and document = $2 returning id, bytes

-- statement: version
select version from vector_collections where id = $1

-- statement: read (sqlite)
select id, name, document, text, metadata from vector_chunks
where collection = $1 and id in (select value from json_each($2))
-- statement: read (postgresql)
select id, name, document, text, metadata from vector_chunks
where collection = $1 and id in (select cast(json_array_elements_text(cast($2 as json)) as bigint))
