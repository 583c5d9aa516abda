-- How many bytes copies of results take that are kept for webhooks, for a limit of their user.
alter table webhook_deliveries add column user_id text;
update webhook_deliveries set user_id = (select user_id from webhooks where webhooks.id = webhook_id);
create table delivery_usage (
  id bigint generated always as identity primary key,
  user_id text not null,
  bytes bigint not null
);
create index delivery_usage_user on delivery_usage (user_id, bytes);
insert into delivery_usage (user_id, bytes) select user_id, sum(octet_length(cast(result as text))) from webhook_deliveries where user_id is not null and result is not null group by user_id;

create function count_delivery_bytes() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then insert into delivery_usage (user_id, bytes) values (new.user_id, octet_length(cast(new.result as text)));
  else insert into delivery_usage (user_id, bytes) values (old.user_id, -octet_length(cast(old.result as text)));
  end if;
  return null;
end
$$;
create trigger deliveries_count_inserted after insert on webhook_deliveries for each row when (new.user_id is not null and new.result is not null) execute function count_delivery_bytes();
create trigger deliveries_count_deleted after delete on webhook_deliveries for each row when (old.user_id is not null and old.result is not null) execute function count_delivery_bytes();
