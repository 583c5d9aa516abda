-- Responses of OpenAI's API. `owner` is the user, or the empty text where the host requires no keys. `body` is the response without its output, as JSON.
create table responses (
  id text primary key,
  owner text not null,
  -- The response that this one continues, which may be gone.
  previous_id text,
  body text not null,
  -- Of the body and of all items.
  bytes bigint not null,
  created_at bigint not null,
  -- When it was stored, or when a response that continues it was stored.
  used_at bigint not null
);
create index responses_used on responses (used_at);
create index responses_owner on responses (owner, used_at);

-- What a response was given, then what it answered, in order. Clients refer to items by their ids, which several responses can have.
create table response_items (
  response_id text not null references responses (id) on delete cascade,
  position integer not null,
  source text not null check (source in ('input', 'output')),
  owner text not null,
  item_id text not null,
  item text not null,
  primary key (response_id, position)
);
create index response_items_id on response_items (owner, item_id);

-- How many bytes users keep, as for tasks.
create table response_usage (
  id bigint generated always as identity primary key,
  user_id text not null,
  bytes bigint not null
);
create index response_usage_user on response_usage (user_id, bytes);
create function count_response_bytes() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then insert into response_usage (user_id, bytes) values (new.owner, new.bytes);
  else insert into response_usage (user_id, bytes) values (old.owner, -old.bytes);
  end if;
  return null;
end
$$;
create trigger responses_count_inserted after insert on responses for each row execute function count_response_bytes();
create trigger responses_count_deleted after delete on responses for each row execute function count_response_bytes();
