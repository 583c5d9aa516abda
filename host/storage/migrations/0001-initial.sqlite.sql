-- Times are milliseconds since 1970. JSON is text.

create table media (
  id text primary key check (length(id) between 1 and 255),
  media_type text not null,
  created_at integer not null,
  updated_at integer not null
) strict;

create table video (
  id text primary key references media (id) on delete cascade,
  path text,
  url text,
  title text,
  description text
) strict;

create table caption (
  id integer primary key autoincrement,
  media_id text references media (id) on delete cascade,
  model text not null,
  frame_id integer not null check (frame_id >= 0),
  caption text not null,
  timestamp real not null check (timestamp >= 0),
  caption_type text not null,
  created_at integer not null,
  updated_at integer not null
) strict;
create index caption_media on caption (media_id, timestamp);

create table transcript (
  id integer primary key autoincrement,
  media_id text references media (id) on delete cascade,
  model text not null,
  transcript text not null,
  segments text not null check (json_valid(segments)),
  language text not null,
  language_confidence real not null check (language_confidence between 0 and 1),
  transcript_type text not null,
  created_at integer not null,
  updated_at integer not null
) strict;
create index transcript_media on transcript (media_id);

create table webhooks (
  id text primary key,
  user_id text,
  url text not null,
  events text not null check (json_valid(events)),
  created_at integer not null,
  updated_at integer not null
) strict;
create index webhooks_user on webhooks (user_id);

-- Keys are kept as their SHA-256: who reads the database cannot use them.
create table api_keys (
  id integer primary key autoincrement,
  key_id text not null unique,
  api_key_hash text not null unique,
  user_id text not null,
  subscription_id text not null,
  is_subscription_active integer not null check (is_subscription_active in (0, 1)),
  is_admin integer not null check (is_admin in (0, 1)),
  hmac_secret text,
  expired_at integer,
  created_at integer not null,
  updated_at integer not null
) strict;
create index api_keys_user on api_keys (user_id);

-- What plugins store. Keys are bytes, so that their order is the same everywhere.
create table plugin_values (
  plugin text not null,
  key blob not null,
  value blob not null,
  primary key (plugin, key)
) strict, without rowid;

-- How much each plugin stores: its row is what two writers of one plugin wait for each other at.
create table plugin_usage (
  plugin text primary key,
  keys integer not null check (keys >= 0),
  bytes integer not null check (bytes >= 0)
) strict;
