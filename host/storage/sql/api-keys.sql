-- statement: insert
insert into api_keys (key_id, api_key_hash, user_id, subscription_id, is_subscription_active, is_admin, hmac_secret, expired_at, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9) on conflict do nothing returning key_id

-- statement: find
select key_id, user_id, subscription_id, is_subscription_active, is_admin, hmac_secret, expired_at from api_keys where api_key_hash = $1

-- statement: list
select key_id, user_id, subscription_id, is_subscription_active, is_admin, hmac_secret, expired_at from api_keys order by id

-- statement: setSubscription
update api_keys set is_subscription_active = $2, updated_at = $3 where subscription_id = $1 returning key_id

-- statement: remove
delete from api_keys where key_id = $1 returning key_id
