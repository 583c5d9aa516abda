-- The SHA-256 of a part, in hexadecimal; null if it came without one.
alter table upload_parts add column sha256 text;
-- Keys that all hosts share, in base64.
create table host_keys (
  name text primary key,
  value text not null
);
