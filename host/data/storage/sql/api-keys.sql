-- statement: insert
insert into api_keys (key_id, api_key_hash, user_id, subscription_id, is_subscription_active, is_admin, scopes,
  hmac_secret, expired_at, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10) on conflict do nothing returning created_at

-- statement: find
select key_id, user_id, subscription_id, is_subscription_active, is_admin, scopes, hmac_secret, expired_at, created_at,
  last_used_at
from api_keys where api_key_hash = $1

-- statement: get
select key_id, user_id, subscription_id, is_subscription_active, is_admin, scopes, hmac_secret, expired_at, created_at,
  last_used_at
from api_keys where key_id = $1

-- statement: list
select key_id, user_id, subscription_id, is_subscription_active, is_admin, scopes, hmac_secret, expired_at, created_at,
  last_used_at
from api_keys where {filters} order by id limit $1 offset $2

-- Only the named columns ($2: a JSON list) change, so that a simultaneous update of other columns stays.
-- statement: update (sqlite)
update api_keys set
  is_admin = case when 'is_admin' in (select value from json_each($2)) then $3 else is_admin end,
  scopes = case when 'scopes' in (select value from json_each($2)) then $4 else scopes end,
  hmac_secret = case when 'hmac_secret' in (select value from json_each($2)) then $5 else hmac_secret end,
  expired_at = case when 'expired_at' in (select value from json_each($2)) then $6 else expired_at end,
  updated_at = $7
where key_id = $1
returning key_id, user_id, subscription_id, is_subscription_active, is_admin, scopes, hmac_secret, expired_at,
  created_at, last_used_at
-- statement: update (postgresql)
update api_keys set
  is_admin = case when cast($2 as jsonb) ? 'is_admin' then cast($3 as boolean) else is_admin end,
  scopes = case when cast($2 as jsonb) ? 'scopes' then $4 else scopes end,
  hmac_secret = case when cast($2 as jsonb) ? 'hmac_secret' then $5 else hmac_secret end,
  expired_at = case when cast($2 as jsonb) ? 'expired_at' then cast($6 as bigint) else expired_at end,
  updated_at = $7
where key_id = $1
returning key_id, user_id, subscription_id, is_subscription_active, is_admin, scopes, hmac_secret, expired_at,
  created_at, last_used_at

-- statement: setSubscription
update api_keys set is_subscription_active = $2, updated_at = $3 where subscription_id = $1 returning key_id

-- statement: touch
update api_keys set last_used_at = $2 where key_id = $1 returning key_id

-- statement: remove
delete from api_keys where key_id = $1 returning key_id

-- statement: prune
delete from api_keys where id in (select id from api_keys where expired_at <= $1 order by expired_at limit $2)
  returning key_id
