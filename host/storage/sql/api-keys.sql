-- statement: insert
insert into api_keys (key_id, api_key_hash, user_id, subscription_id, is_subscription_active, is_admin, scopes, hmac_secret, expired_at, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10) on conflict do nothing returning created_at

-- statement: find
select key_id, user_id, subscription_id, is_subscription_active, is_admin, scopes, hmac_secret, expired_at, created_at, last_used_at
from api_keys where api_key_hash = $1

-- statement: get
select key_id, user_id, subscription_id, is_subscription_active, is_admin, scopes, hmac_secret, expired_at, created_at, last_used_at
from api_keys where key_id = $1

-- Without a user ($1) everybody's keys are meant.
-- statement: list
select key_id, user_id, subscription_id, is_subscription_active, is_admin, scopes, hmac_secret, expired_at, created_at, last_used_at
from api_keys where (cast($1 as text) is null or user_id = $1) order by id limit $2 offset $3

-- statement: update
update api_keys set is_admin = $2, scopes = $3, hmac_secret = $4, expired_at = $5, updated_at = $6 where key_id = $1 returning key_id

-- statement: setSubscription
update api_keys set is_subscription_active = $2, updated_at = $3 where subscription_id = $1 returning key_id

-- statement: touch
update api_keys set last_used_at = $2 where key_id = $1 returning key_id

-- statement: remove
delete from api_keys where key_id = $1 returning key_id
