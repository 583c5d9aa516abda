-- Files of OpenAI's API. `owner` is the user, or the empty text where the host requires no keys. The bytes are in a folder that hosts share, and are
-- there before the row is. Ids begin with the time, so their order is the order of uploads.
create table files (
  id text primary key,
  owner text not null,
  purpose text not null,
  filename text not null,
  bytes bigint not null,
  sha256 text not null,
  created_at bigint not null,
  -- Null is never. From then on nobody finds the file.
  expires_at bigint
);
create index files_owner on files (owner, id);
create index files_expiry on files (expires_at);

-- How many bytes users keep, as for tasks.
create table file_usage (
  id bigint generated always as identity primary key,
  user_id text not null,
  bytes bigint not null
);
create index file_usage_user on file_usage (user_id, bytes);
create function count_file_bytes() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then insert into file_usage (user_id, bytes) values (new.owner, new.bytes);
  else insert into file_usage (user_id, bytes) values (old.owner, -old.bytes);
  end if;
  return null;
end
$$;
create trigger files_count_inserted after insert on files for each row execute function count_file_bytes();
create trigger files_count_deleted after delete on files for each row execute function count_file_bytes();
