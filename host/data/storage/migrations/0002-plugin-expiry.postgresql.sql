-- Milliseconds since 1970 after which a value of a plugin is missing; null if it does not expire.
alter table plugin_values add column expires_at bigint;

create index plugin_values_expiring on plugin_values (expires_at, plugin) where expires_at is not null;
