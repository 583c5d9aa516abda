-- What a key is for: a JSON list, or null for everything that its user may do.
alter table api_keys add column scopes text;
alter table api_keys add column last_used_at integer;
