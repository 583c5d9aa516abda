-- Files of OpenAI's API that come in parts. `owner` is the user, or the empty text where the host requires no keys.
create table uploads (
  id text primary key,
  owner text not null,
  purpose text not null,
  filename text not null,
  -- Of the whole file, as the client announced it.
  bytes integer not null,
  -- Seconds from the creation of the file to its expiry; null is the setting.
  file_expires_after integer,
  status text not null check (status in ('pending', 'completed', 'cancelled', 'expired')),
  part_count integer not null default 0,
  -- The file of a completed upload, which may be gone.
  file_id text,
  created_at integer not null,
  expires_at integer not null
) strict;
create index uploads_expiry on uploads (expires_at);

-- The parts of pending uploads. Their bytes are in a folder that hosts share, and are there before the row is.
create table upload_parts (
  id text primary key,
  upload_id text not null references uploads (id) on delete cascade,
  owner text not null,
  bytes integer not null
) strict;
create index upload_parts_upload on upload_parts (upload_id);

-- Parts count as bytes of files.
create trigger upload_parts_count_inserted after insert on upload_parts begin
  insert into file_usage (user_id, bytes) values (new.owner, new.bytes);
end;
create trigger upload_parts_count_deleted after delete on upload_parts begin
  insert into file_usage (user_id, bytes) values (old.owner, -old.bytes);
end;
