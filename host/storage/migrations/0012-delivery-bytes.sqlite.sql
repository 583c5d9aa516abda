-- How many bytes copies of results take that are kept for webhooks, for a limit of their user.
alter table webhook_deliveries add column user_id text;
update webhook_deliveries set user_id = (select user_id from webhooks where webhooks.id = webhook_id);
create table delivery_usage (
  id integer primary key autoincrement,
  user_id text not null,
  bytes integer not null
) strict;
create index delivery_usage_user on delivery_usage (user_id, bytes);
insert into delivery_usage (user_id, bytes) select user_id, sum(octet_length(result)) from webhook_deliveries where user_id is not null and result is not null group by user_id;

create trigger deliveries_count_inserted after insert on webhook_deliveries when new.user_id is not null and new.result is not null begin
  insert into delivery_usage (user_id, bytes) values (new.user_id, octet_length(new.result));
end;
create trigger deliveries_count_deleted after delete on webhook_deliveries when old.user_id is not null and old.result is not null begin
  insert into delivery_usage (user_id, bytes) values (old.user_id, -octet_length(old.result));
end;
