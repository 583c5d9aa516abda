-- Collections of texts with their vectors. The vectors and words of a collection are in tables of its own, which
-- `repositories/vectors/` makes: `vector_embeddings_<id>` and `vector_words_<id>`.
create table vector_collections (
  id integer primary key autoincrement,
  -- A user, or the empty text for all callers.
  owner text not null,
  name text not null,
  -- What made the vectors. Vectors of different models cannot be compared.
  model text not null,
  dimensions integer not null check (dimensions >= 1),
  chunks integer not null default 0 check (chunks >= 0),
  bytes integer not null default 0 check (bytes >= 0),
  created_at integer not null
) strict;
create unique index vector_collections_owner on vector_collections (owner, name);

create table vector_chunks (
  id integer primary key autoincrement,
  collection integer not null references vector_collections (id) on delete cascade,
  -- The id by which the owner knows the chunk.
  name text not null,
  -- The document of which the chunk is a part; null if it is none.
  document text,
  text text not null,
  metadata text not null check (json_valid(metadata)),
  bytes integer not null
) strict;
create unique index vector_chunks_name on vector_chunks (collection, name);
create index vector_chunks_document on vector_chunks (collection, document) where document is not null;

-- The metadata of chunks again, for filters. Booleans are the numbers 0 and 1.
create table vector_attributes (
  chunk integer not null references vector_chunks (id) on delete cascade,
  collection integer not null,
  key text not null,
  type text not null check (type in ('string', 'number', 'boolean')),
  text text,
  number real,
  primary key (chunk, key)
) strict, without rowid;
create index vector_attributes_value on vector_attributes (collection, key, type, text, number);
