-- Files of OpenAI's API. `owner` is the user, or the empty text where the host requires no keys. The bytes are in a folder that hosts share, and are
-- there before the row is. Ids begin with the time, so their order is the order of uploads.
create table files (
  id text primary key,
  owner text not null,
  purpose text not null,
  filename text not null,
  bytes integer not null,
  sha256 text not null,
  created_at integer not null,
  -- Null is never. From then on nobody finds the file.
  expires_at integer
) strict;
create index files_owner on files (owner, id);
create index files_expiry on files (expires_at);

-- How many bytes users keep, as for tasks.
create table file_usage (
  id integer primary key autoincrement,
  user_id text not null,
  bytes integer not null
) strict;
create index file_usage_user on file_usage (user_id, bytes);
create trigger files_count_inserted after insert on files begin
  insert into file_usage (user_id, bytes) values (new.owner, new.bytes);
end;
create trigger files_count_deleted after delete on files begin
  insert into file_usage (user_id, bytes) values (old.owner, -old.bytes);
end;
